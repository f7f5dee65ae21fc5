'use strict'
// What was denied, as sandbox-runtime tells it: one line each, the last hundred.

const KEPT = 100
const KEY_LENGTH = 100
const REASON_LENGTH = 500

// Controls, line separators, bidirectional and invisible characters: what is shown
// must be what it says, and nothing may close the block it is put into.
const UNSHOWABLE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]+/gu

function oneLine(text) {
  return text.replace(UNSHOWABLE, ' ').replace(/[<>]/g, '').trim()
}

// Never between the halves of one character.
function cut(text, length) {
  const part = text.slice(0, length)
  return /[\ud800-\udbff]$/.test(part) ? part.slice(0, -1) : part
}

function shownReason(reason) {
  return cut(oneLine(reason), REASON_LENGTH).trimEnd()
}

function shownKey(key) {
  return cut(oneLine(key), KEY_LENGTH)
}

// Commands are told apart by what they begin with, or by the id they were given.
function keyOf(command, commandId) {
  return Buffer.from((commandId || command).slice(0, KEY_LENGTH)).toString('base64')
}

function textOfKey(key) {
  return Buffer.from(key, 'base64').toString('utf8')
}

// { "*": [part], "npm": [part] }: parts of lines that are not told, of all commands
// or of those that hold a word.
function isIgnored(line, command, ignored) {
  for (const [word, parts] of Object.entries(ignored ?? {})) {
    const concerned = word === '*' || (command !== undefined && command.includes(word))
    if (concerned && parts.some(part => line.includes(part))) return true
  }
  return false
}

class SandboxViolationStore {
  #violations = []
  #total = 0
  #listeners = new Set()

  addViolation(violation) {
    this.#violations.push({ ...violation, line: oneLine(violation.line) })
    if (this.#violations.length > KEPT) this.#violations.shift()
    this.#total++
    this.#tell()
  }

  getViolations(limit) {
    return limit === undefined ? [...this.#violations] : this.#violations.slice(-limit)
  }

  getCount() {
    return this.#violations.length
  }

  getTotalCount() {
    return this.#total
  }

  getViolationsForCommand(command) {
    const key = keyOf(command)
    return this.#violations.filter(violation => violation.encodedCommand === key)
  }

  clear() {
    this.#violations = []
    this.#tell()
  }

  subscribe(listener) {
    this.#listeners.add(listener)
    listener(this.getViolations())
    return () => {
      this.#listeners.delete(listener)
    }
  }

  #tell() {
    const violations = this.getViolations()
    for (const listener of this.#listeners) listener(violations)
  }
}

// An event of the binary's as a line; undefined for what is no refusal. File
// operations have srt's own form; what srt does not see has one like it.
function lineOf(event) {
  if (event.verdict !== 'denied') return undefined
  const why = event.reason ? ` (${event.reason})` : ''
  switch (event.kind) {
    case 'fs.read':
    case 'fs.write':
      return `deny ${event.op} ${event.object}`
    case 'net.connect':
      return `deny network-outbound ${event.object}${why}`
    case 'net.dns':
      return `deny network-dns ${event.object}${why}`
    case 'unix.connect':
      return `deny unix-connect ${event.object}`
    case 'syscall':
      // The C library tries a unix socket for every name it looks up.
      return event.object === 'socket' ? undefined : `deny ${event.object}`
    default:
      return undefined
  }
}

function isOfNetwork(event) {
  return event.kind.startsWith('net.')
}

module.exports = {
  SandboxViolationStore,
  isIgnored,
  isOfNetwork,
  keyOf,
  lineOf,
  shownKey,
  shownReason,
  textOfKey,
}
