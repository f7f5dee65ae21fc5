'use strict'
// The cloche binary: where it is, whether it is the one this package was made for,
// and what it says of a configuration.

const { execFile, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { SandboxBinaryError } = require('./errors.js')
const { version } = require('../package.json')

const OUTPUT_MAX = 16 * 1024 * 1024

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}

function onPath(name) {
  for (const directory of (process.env.PATH || '/usr/bin:/bin').split(':')) {
    const file = path.join(directory, name)
    if (directory.startsWith('/') && isProgram(file)) return file
  }
  return undefined
}

// `named`, else $CLOCHE, else the first on PATH.
function findBinary(named = process.env.CLOCHE) {
  if (!named) {
    const found = onPath('cloche')
    if (found) return found
    throw new SandboxBinaryError(
      'binary_missing',
      'there is no program called cloche on PATH; install it (make install), or name it in $CLOCHE or in the option ' +
        '`binary`',
    )
  }
  if (typeof named !== 'string')
    throw new SandboxBinaryError('binary_missing', `the option \`binary\` must be a string, not ${typeof named}`)
  const file = named.includes('/') ? path.resolve(named) : (onPath(named) ?? named)
  if (isProgram(file)) return file
  throw new SandboxBinaryError('binary_missing', `${file} is not a program that can be run`)
}

// The first line says who answers, the others what is wrong.
function readAnswer(file, error, output) {
  const lines = output.split('\n').filter(Boolean)
  let answer
  try {
    answer = lines.map(line => JSON.parse(line))
  } catch {
    answer = []
  }
  if (answer.length > 0 && answer[0].cloche === version) return answer.slice(1)
  if (answer.length > 0 && answer[0].cloche !== undefined)
    throw new SandboxBinaryError(
      'binary_version',
      `${file} is cloche ${answer[0].cloche}, but this package is for cloche ${version}: install the same version of ` +
        'both',
    )
  throw new SandboxBinaryError(
    'binary_version',
    `${file} does not answer as cloche ${version} does` +
      (error ? `: ${String(error.stderr || error.message).trim().split('\n')[0]}` : ''),
    error ? { cause: error } : undefined,
  )
}

const CHECK = ['srt', '--check', '--settings-text', '-'] // on standard input

// What is wrong with a configuration: [{ path, message }, { refused }].
function checkSync(file, text) {
  const ran = spawnSync(file, CHECK, { input: text, encoding: 'utf8', maxBuffer: OUTPUT_MAX })
  if (ran.error) return readAnswer(file, ran.error, '')
  return readAnswer(file, { message: ran.stderr, stderr: ran.stderr }, ran.stdout)
}

function check(file, text) {
  return new Promise((resolve, reject) => {
    const child = execFile(file, CHECK, { encoding: 'utf8', maxBuffer: OUTPUT_MAX }, (error, stdout, stderr) => {
      try {
        resolve(readAnswer(file, error && Object.assign(error, { stderr }), stdout))
      } catch (problem) {
        reject(problem)
      }
    })
    child.stdin?.on('error', () => {}) // it ended without reading: what it said tells why
    child.stdin?.end(text)
  })
}

module.exports = { check, checkSync, findBinary, isProgram, onPath, version }
