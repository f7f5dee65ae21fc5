'use strict'
// Which hosts an entry of allowedDomains or deniedDomains means. The binary decides
// by its own lists; this is for what it asks about: lists that changed since, and
// lists of one command.

const { isIP } = require('node:net')

// "host:443" -> { host, port }; "[::1]:443" -> { host: '::1', port: 443 }.
function parse(entry) {
  const bracketed = /^\[([^\]]+)\](?::([1-9]\d{0,4}))?$/.exec(entry)
  if (bracketed) return { host: canonical(bracketed[1]), port: portOf(bracketed[2]) }
  const plain = /^([^:]+):([1-9]\d{0,4})$/.exec(entry)
  if (plain && portOf(plain[2]) !== undefined) return { host: plain[1].toLowerCase(), port: portOf(plain[2]) }
  return { host: entry.toLowerCase(), port: undefined }
}

function portOf(text) {
  const port = Number(text)
  return text !== undefined && port <= 65535 ? port : undefined
}

function canonical(address) {
  const bare = address.replace(/%.*$/, '')
  if (isIP(bare) !== 6) return bare.toLowerCase()
  return new URL(`http://[${bare}]/`).hostname.slice(1, -1)
}

function hostMatches(host, pattern) {
  if (pattern === '*') return true
  if (pattern.startsWith('*.')) return isIP(host) === 0 && host.endsWith(pattern.slice(1))
  return host === pattern
}

// `host` as the binary says it: lower case, no trailing dot, addresses without brackets.
function matches(entry, host, port) {
  const pattern = parse(entry)
  return (pattern.port === undefined || pattern.port === port) && hostMatches(host, pattern.host)
}

function text({ host, port }) {
  return (isIP(host) === 6 ? `[${host}]` : host) + (port === undefined ? '' : `:${port}`)
}

// What both of two patterns mean, as one; undefined if that is nothing.
function meetOfTwo(one, other) {
  if (one.port !== undefined && other.port !== undefined && one.port !== other.port) return undefined
  const port = one.port ?? other.port
  const wide = pattern => pattern === '*' || pattern.startsWith('*.')
  if (one.host === other.host || other.host === '*') return { host: one.host, port }
  if (one.host === '*') return { host: other.host, port }
  if (wide(one.host) && wide(other.host)) {
    if (one.host.endsWith(other.host.slice(1))) return { host: one.host, port }
    if (other.host.endsWith(one.host.slice(1))) return { host: other.host, port }
    return undefined
  }
  if (wide(one.host)) return hostMatches(other.host, one.host) ? { host: other.host, port } : undefined
  return hostMatches(one.host, other.host) ? { host: one.host, port } : undefined
}

// The hosts that both lists allow.
function meet(list, other) {
  const found = new Set()
  for (const one of list.map(parse)) {
    for (const two of other.map(parse)) {
      const both = meetOfTwo(one, two)
      if (both) found.add(text(both))
    }
  }
  return [...found]
}

module.exports = { matches, meet }
