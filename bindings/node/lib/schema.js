'use strict'
// The schemas of sandbox-runtime, with zod's two ways to ask. The binary is asked:
// it has srt's own words for what is wrong.

const { checkSync, findBinary } = require('./binary.js')
const { SandboxConfigError } = require('./errors.js')

const VALID = {
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
}

// "network.allowedDomains.0" within `value`: keys may hold dots themselves.
function pathWithin(value, text) {
  if (text === '(root)' || text === '') return []
  const path = []
  let here = value
  let rest = text
  while (rest !== '') {
    const parts = rest.split('.')
    let count = 1
    if (here !== null && typeof here === 'object' && !Array.isArray(here))
      for (let tried = parts.length; tried > 1; tried--)
        if (Object.hasOwn(here, parts.slice(0, tried).join('.'))) {
          count = tried
          break
        }
    const key = parts.slice(0, count).join('.')
    const isIndex = Array.isArray(here) && /^\d+$/.test(key)
    path.push(isIndex ? Number(key) : key)
    here = here?.[key]
    rest = parts.slice(count).join('.')
  }
  return path
}

function issueOf(value, problem) {
  // cloche spells its own paths: network.deniedDomains[0]
  const path = problem.own
    ? (problem.path.match(/[^.[\]]+/g) ?? []).map(key => (/^\d+$/.test(key) ? Number(key) : key))
    : pathWithin(value, problem.path)
  const wrongType = /^Expected (.+), received (\w+)$/.exec(problem.message)
  if (problem.message === 'Required') return { code: 'invalid_type', path, message: problem.message }
  if (wrongType) return { code: 'invalid_type', expected: wrongType[1], received: wrongType[2], path, message: problem.message }
  return { code: 'custom', path, message: problem.message }
}

// Functions are for the library alone, and are no JSON.
function withoutFunctions(value) {
  if (value === null || typeof value !== 'object' || typeof value.network !== 'object') return value
  if (typeof value.network?.filterRequest !== 'function') return value
  const { filterRequest, ...network } = value.network
  return { ...value, network }
}

// JSON has no undefined, NaN or functions: as zod says it.
function rootProblem(value) {
  if (value === undefined) return [{ code: 'invalid_type', path: [], message: 'Required' }]
  const type = typeof value
  if (type === 'function' || type === 'symbol' || type === 'bigint')
    return [{ code: 'invalid_type', expected: 'object', received: type, path: [], message: `Expected object, received ${type}` }]
  return undefined
}

// Circles, big integers, accessors that throw: what zod would not find where it looks
// is no configuration all the same, for it cannot be told.
function textOf(value) {
  try {
    return { text: JSON.stringify(withoutFunctions(value)) }
  } catch (error) {
    const why = String(error?.message ?? error).split('\n')[0]
    return { wrong: [{ code: 'custom', path: [], message: `cannot be written as JSON: ${why}` }] }
  }
}

function issuesOf(value, ask = checkSync, binary = findBinary()) {
  const { text, wrong = rootProblem(value) } = textOf(value)
  if (wrong) return { issues: wrong, own: [], refused: [] }
  const answers = ask(binary, text)
  const split = list => ({
    issues: list.filter(answer => answer.message !== undefined && !answer.own).map(answer => issueOf(value, answer)),
    own: list.filter(answer => answer.own).map(answer => issueOf(value, answer)),
    refused: list.filter(answer => answer.refused !== undefined).map(answer => answer.refused),
  })
  return answers instanceof Promise ? answers.then(split) : split(answers)
}

class Schema {
  #wrap
  #prefix

  // `wrap` puts a value where it belongs in a whole configuration, at `prefix`.
  constructor(prefix, wrap) {
    this.#prefix = prefix
    this.#wrap = wrap
  }

  safeParse(value) {
    const wrong = this.#prefix.length > 0 && rootProblem(value)
    const issues = wrong || this.#issues(value)
    if (issues.length === 0) return { success: true, data: value }
    return { success: false, error: new SandboxConfigError(issues) }
  }

  parse(value) {
    const result = this.safeParse(value)
    if (result.success) return result.data
    throw result.error
  }

  #issues(value) {
    const prefix = this.#prefix
    const { issues } = issuesOf(this.#wrap(value))
    return issues
      .filter(issue => prefix.every((key, i) => issue.path[i] === key))
      .map(issue => ({ ...issue, path: issue.path.slice(prefix.length) }))
  }
}

module.exports = {
  VALID,
  issuesOf,
  withoutFunctions,
  SandboxRuntimeConfigSchema: new Schema([], value => value),
  NetworkConfigSchema: new Schema(['network'], network => ({ ...VALID, network })),
  FilesystemConfigSchema: new Schema(['filesystem'], filesystem => ({ ...VALID, filesystem })),
  CredentialsConfigSchema: new Schema(['credentials'], credentials => ({
    ...VALID,
    network: { ...VALID.network, tlsTerminate: {} },
    credentials,
  })),
  IgnoreViolationsConfigSchema: new Schema(['ignoreViolations'], ignoreViolations => ({ ...VALID, ignoreViolations })),
  RipgrepConfigSchema: new Schema(['ripgrep'], ripgrep => ({ ...VALID, ripgrep })),
  GitConfigSchema: new Schema(['git'], git => ({ ...VALID, git })),
  WindowsConfigSchema: new Schema(['windows'], windows => ({ ...VALID, windows })),
  SrtWinConfigSchema: new Schema(['windows', 'srtWin'], srtWin => ({ ...VALID, windows: { srtWin } })),
}
