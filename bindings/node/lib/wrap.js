'use strict'
// The words that run a command under glass, and the one shell text of them.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { isProgram, onPath } = require('./binary.js')
const { LinuxSandboxProfileError, SandboxError } = require('./errors.js')

// The kernel's limit for one argument (MAX_ARG_STRLEN), with its NUL.
const ARGUMENT_MAX = 128 * 1024
// Longer settings go through a file: the command needs room beside them.
const INLINE_MAX = 32 * 1024

function quote(word) {
  if (/^[A-Za-z0-9_./:@+,-][A-Za-z0-9_./:=@+,-]*$/.test(word)) return word
  return `'${word.replace(/'/g, `'\\''`)}'`
}

const shells = new Map()

function shellOf(name) {
  if (name !== undefined && name !== null && typeof name !== 'string')
    throw new SandboxError(
      'invalid_shell',
      typeof name === 'object'
        ? 'binShell object form is Windows-only; pass a shell path string on macOS/Linux'
        : `binShell must be a string, not ${typeof name}`,
    )
  const wanted = name || 'bash'
  const known = shells.get(wanted)
  if (known && isProgram(known)) return known
  const found = wanted.includes('/') ? (isProgram(wanted) ? path.resolve(wanted) : undefined) : onPath(wanted)
  if (!found) throw new SandboxError('shell_not_found', `Shell '${wanted}' not found in PATH`)
  shells.set(wanted, found)
  return found
}

function checkCommand(command) {
  if (typeof command !== 'string')
    throw new SandboxError('invalid_command', `the command to wrap must be a string, not ${typeof command}`)
  if (command.includes('\0'))
    throw new LinuxSandboxProfileError('nul_in_command', 'the command holds a NUL byte, which no command line can carry')
}

function tooLong(bytes) {
  return new LinuxSandboxProfileError(
    'command_too_long',
    `Sandboxed command is too long for one shell argument (${bytes} bytes; the limit here is ${ARGUMENT_MAX - 1}): ` +
      'put it into a file and run that',
  )
}

function directoryHere() {
  try {
    const directory = process.cwd() // which Node remembers
    fs.statSync(directory)
    return directory
  } catch (cause) {
    throw new SandboxError(
      'cwd_vanished',
      'the working directory does not exist any more: change to one that does',
      { cause },
    )
  }
}

// Settings that do not fit on a command line: files that only we can read, in a
// directory that is removed with the session or with this process.
const directories = new Set()
let watching = false

function removeDirectory(directory) {
  fs.rmSync(directory, { recursive: true, force: true })
  directories.delete(directory)
}

function makeDirectory() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cloche-settings-'))
  if (!watching) process.once('exit', () => directories.forEach(removeDirectory))
  watching = true
  directories.add(directory)
  return directory
}

class SettingsFiles {
  #directory

  put(text) {
    this.#directory ??= makeDirectory()
    const file = path.join(this.#directory, `${createHash('sha256').update(text).digest('hex').slice(0, 32)}.json`)
    if (!fs.existsSync(file)) fs.writeFileSync(file, text, { mode: 0o600 })
    return file
  }

  remove() {
    if (this.#directory) removeDirectory(this.#directory)
    this.#directory = undefined
  }
}

// { binary, session, asks, tmp, settings, files, shell, command } -> words for execve.
function wrappedWords({ binary, session, asks, tmp, settings, files, shell, command }) {
  const long = Buffer.byteLength(settings) > INLINE_MAX
  return [
    binary,
    'srt',
    '--session',
    session ?? 'nobody:',
    ...(asks ? ['--ask'] : []),
    ...(tmp ? ['--session-tmp', tmp] : []),
    ...(long ? ['--settings', files.put(settings)] : ['--settings-text', settings]),
    '--shell',
    shell,
    '-c',
    command,
  ]
}

function wrappedText(words) {
  const text = words.map(quote).join(' ')
  const bytes = Buffer.byteLength(text)
  if (bytes >= ARGUMENT_MAX) throw tooLong(bytes)
  return text
}

function checkWords(words) {
  for (const word of words) {
    const bytes = Buffer.byteLength(word)
    if (bytes >= ARGUMENT_MAX) throw tooLong(bytes)
  }
  return words
}

module.exports = { SettingsFiles, checkCommand, checkWords, directoryHere, shellOf, wrappedText, wrappedWords }
