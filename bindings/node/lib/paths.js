'use strict'
// Paths of a configuration, by their text alone.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

// What sandbox-runtime keeps writable on every system, and what it adds of $HOME.
const ALWAYS_WRITABLE = [
  '/dev/stdout',
  '/dev/stderr',
  '/dev/null',
  '/dev/tty',
  '/dev/dtracehelper',
  '/dev/autofs_nowait',
  '/tmp/claude',
  '/private/tmp/claude',
]
const WRITABLE_AT_HOME = ['.npm/_logs', '.claude/debug']

function isGlob(text) {
  return /[*?[\]]/.test(text)
}

// `dir/**` is the directory and all in it: the directory.
function withoutSubtree(text) {
  return text.endsWith('/**') ? text.slice(0, -3) || '/' : text
}

function spelled(entries) {
  return (entries ?? []).filter(entry => typeof entry === 'string')
}

function literals(entries) {
  return (entries ?? []).filter(entry => typeof entry !== 'string').map(entry => entry.path)
}

// As it is meant here and now: a wrapped command may run elsewhere, and later. A
// working directory whose name looks like a pattern is left to the binary, which
// takes it literally.
function atHome(text) {
  return text === '~' || text.startsWith('~/') ? os.homedir() + text.slice(1) : text
}

function absolute(spelling, directory) {
  const text = atHome(spelling)
  if (text.startsWith('/') || isGlob(directory)) return text
  const end = text.endsWith('/') ? '/' : ''
  return isGlob(text) ? path.posix.join(directory, text) : path.posix.resolve(directory, text) + (text === '.' ? '' : end)
}

function absoluteEntries(entries, directory) {
  return entries.map(entry => {
    if (typeof entry === 'string') return absolute(entry, directory)
    if (typeof entry?.path !== 'string') return entry // the binary says what is wrong with it
    return { ...entry, path: path.posix.resolve(directory, atHome(entry.path)) }
  })
}

function isAtOrBelow(child, parent) {
  return child === parent || child.startsWith(parent.endsWith('/') ? parent : `${parent}/`)
}

// `**` any number of directories, `*` and `?` within a name, `[...]` one of these.
function globExpression(glob) {
  let out = ''
  for (let i = 0; i < glob.length; i++) {
    const rest = glob.slice(i)
    const set = /^\[(!?)([^\]]+)\]/.exec(rest)
    if (rest.startsWith('**/')) {
      out += '(?:.*/)?'
      i += 2
    } else if (rest.startsWith('**')) {
      out += '.*'
      i += 1
    } else if (glob[i] === '*') out += '[^/]*'
    else if (glob[i] === '?') out += '[^/]'
    else if (set) {
      out += `[${set[1] ? '^' : ''}${set[2].replace(/[\\^]/g, '\\$&')}]`
      i += set[0].length - 1
    } else out += glob[i].replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  }
  return new RegExp(`^${out}(?:/.*)?$`, 's')
}

// Does this read rule cover a path?
function coverer(entry, directory) {
  const literal = typeof entry !== 'string'
  const text = absolute(literal ? entry.path : withoutSubtree(entry), directory)
  if (literal || !isGlob(text)) return child => isAtOrBelow(child, text.length > 1 ? text.replace(/\/+$/, '') : text)
  const expression = globExpression(text)
  return child => expression.test(child)
}

// The paths that are writable without being named. With read rules: those of $HOME
// only where no denyRead covers them, unless an allowRead below it opens them again.
function getDefaultWritePaths(readRules) {
  const home = os.homedir()
  const directory = process.cwd()
  const denied = (readRules?.denyRead ?? []).map(entry => coverer(entry, directory))
  const reopened = [
    ...literals(readRules?.allowRead),
    ...spelled(readRules?.allowRead)
      .map(withoutSubtree)
      .filter(text => !isGlob(text)),
  ].map(text => absolute(text, directory))
  const kept = WRITABLE_AT_HOME.map(name => path.join(home, name)).filter(
    candidate =>
      !denied.some(
        covers => covers(candidate) && !reopened.some(open => covers(open) && isAtOrBelow(candidate, open)),
      ),
  )
  return [...ALWAYS_WRITABLE, ...kept]
}

// Everything that a write configuration allows, whichever list it came in.
function writeRootsOf(config) {
  return [...(config.allowOnly ?? []), ...(config.literalAllowOnly ?? [])]
}

// With every link on the way followed. The text is folded first: `link/..` is where
// the link is.
function realPathOf(text) {
  const folded = path.resolve(text)
  const found = fs.realpathSync.native(folded)
  if (found.includes('\ufffd') && !fs.realpathSync.native(folded, 'buffer').equals(Buffer.from(found)))
    throw Object.assign(new Error(`EILSEQ: illegal byte sequence, '${folded}'`), { code: 'EILSEQ' })
  return found
}

// '1', '2', ... within the Windows Subsystem for Linux; else undefined.
function getWslVersion() {
  if (process.platform !== 'linux') return undefined
  let kernel
  try {
    kernel = fs.readFileSync('/proc/version', 'utf8')
  } catch {
    return undefined
  }
  const named = /WSL(\d+)/i.exec(kernel)
  return named ? named[1] : /microsoft/i.test(kernel) ? '1' : undefined
}

// GIT_CONFIG_COUNT and its companions that mark directories, and what is in them, as
// safe; numbering goes on from `baseEnv`, and a count of 0 there means: none at all.
function buildGitConfigEnv({ safeDirs, schannelCa, opensslBackend, baseEnv }) {
  const MANY = 8
  const given = baseEnv?.GIT_CONFIG_COUNT
  if (given === '0') return {}
  const first = Number.parseInt(given ?? '', 10)
  const entries = []
  const directories = new Set(
    safeDirs
      .filter(Boolean)
      .map(directory => directory.replace(/\\/g, '/').replace(/\/+$/, ''))
      .map(directory => (directory === '' || /^[A-Za-z]:$/.test(directory) ? `${directory}/` : directory)),
  )
  if (directories.size > MANY) entries.push(['safe.directory', '*'])
  else
    for (const directory of directories)
      entries.push(
        ['safe.directory', directory],
        ['safe.directory', directory.endsWith('/') ? `${directory}*` : `${directory}/*`],
      )
  if (schannelCa) entries.push(['http.schannelUseSSLCAInfo', 'true'], ['http.schannelCheckRevoke', 'false'])
  if (opensslBackend) entries.push(['http.sslBackend', 'openssl'])
  const start = Number.isFinite(first) && first >= 0 ? first : 0
  const out = {}
  entries.forEach(([key, value], i) => {
    out[`GIT_CONFIG_KEY_${start + i}`] = key
    out[`GIT_CONFIG_VALUE_${start + i}`] = value
  })
  if (entries.length > 0) out.GIT_CONFIG_COUNT = String(start + entries.length)
  return out
}

module.exports = {
  absoluteEntries,
  buildGitConfigEnv,
  getDefaultWritePaths,
  getWslVersion,
  literals,
  realPathOf,
  spelled,
  withoutSubtree,
  writeRootsOf,
}
