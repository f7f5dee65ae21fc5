'use strict'
// The configuration of one command, as the binary is given it: the session's, with
// what the call replaces, and every path as it is meant at this moment.

const { meet } = require('./hosts.js')
const { absoluteEntries } = require('./paths.js')
const { VALID, withoutFunctions } = require('./schema.js')

function typeName(value) {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

function wrongType(path, expected, value) {
  return { code: 'invalid_type', expected, received: typeName(value), path, message: `Expected ${expected}, received ${typeName(value)}` }
}

// What is wrong with the form of what a call replaces; what it says is the binary's to judge.
function customIssues(custom) {
  if (custom === undefined) return []
  if (typeName(custom) !== 'object') return [wrongType([], 'object', custom)]
  const issues = []
  for (const name of ['network', 'filesystem', 'credentials', 'git'])
    if (custom[name] !== undefined && typeName(custom[name]) !== 'object') issues.push(wrongType([name], 'object', custom[name]))
  if (issues.length > 0) return issues
  const lists = [['network', 'allowedDomains'], ['network', 'deniedDomains'], ['git', 'safeDirectories']]
  for (const [section, name] of lists) {
    const list = custom[section]?.[name]
    if (list === undefined) continue
    if (!Array.isArray(list)) issues.push(wrongType([section, name], 'array', list))
    else list.forEach((item, i) => typeof item !== 'string' && issues.push(wrongType([section, name, i], 'string', item)))
  }
  return issues
}

// These a call may replace; an allowed host must be allowed by both.
function merged(config, custom) {
  const base = config ?? VALID
  if (!custom) return withoutFunctions(base)
  const filesystem = { ...base.filesystem }
  if (custom.filesystem) {
    for (const [key, value] of Object.entries(custom.filesystem)) if (value !== undefined) filesystem[key] = value
    filesystem.disabled = custom.filesystem.disabled ?? false
    filesystem.allowGitConfig = base.filesystem.allowGitConfig ?? false
  }
  const network = { ...base.network }
  if (custom.network?.allowedDomains)
    network.allowedDomains = config
      ? meet(config.network.allowedDomains, custom.network.allowedDomains)
      : custom.network.allowedDomains
  if (custom.network?.deniedDomains)
    network.deniedDomains = [...new Set([...base.network.deniedDomains, ...custom.network.deniedDomains])]
  const out = { ...base, filesystem, network }
  if (custom.credentials) out.credentials = custom.credentials
  if (custom.allowNestedUserNamespaces !== undefined) out.allowNestedUserNamespaces = custom.allowNestedUserNamespaces
  if (custom.git?.safeDirectories)
    out.git = { safeDirectories: [...(base.git?.safeDirectories ?? []), ...custom.git.safeDirectories] }
  return withoutFunctions(out)
}

function placed(config, directory) {
  const { filesystem, credentials, ignoreViolations, ...rest } = config // we ignore, by the command's own text
  const out = { ...rest, filesystem: { ...filesystem }, ...(credentials && { credentials }) }
  for (const list of ['allowRead', 'denyRead', 'allowWrite', 'denyWrite'])
    if (Array.isArray(filesystem[list])) out.filesystem[list] = absoluteEntries(filesystem[list], directory)
  if (Array.isArray(credentials?.files))
    out.credentials = {
      ...credentials,
      files: credentials.files.map(file => ({ ...file, path: absoluteEntries([file.path], directory)[0] })),
    }
  return out
}

function settingsText(config, custom, directory) {
  return JSON.stringify(placed(merged(config, custom), directory))
}

// A policy of which only the lists of hosts count: what a running command is told.
function listsText(config, custom) {
  const { allowedDomains, deniedDomains, deniedDomainReasons, deniedResolvedAddresses, mitmProxy } = merged(
    config,
    custom,
  ).network
  return JSON.stringify({
    ...VALID,
    network: { allowedDomains, deniedDomains, deniedDomainReasons, deniedResolvedAddresses, mitmProxy },
  })
}

module.exports = { customIssues, listsText, merged, settingsText }
