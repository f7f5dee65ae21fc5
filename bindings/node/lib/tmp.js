'use strict'
// The /tmp that the commands of a sandbox share (filesystem.tmp: 'session'). A process
// of the binary holds it, since we cannot hold a descriptor of its kind; it ends with
// its standard input, and so with this process however that ends.

const { spawn } = require('node:child_process')
const { SandboxError, SandboxUnsupportedError } = require('./errors.js')

// Nothing of a policy counts for it but the limit of memory.
function words(config) {
  const memory = config?.limits?.memory
  return ['session', '-C', '.', '-s', '{"extends":[]}', ...(memory === undefined ? [] : ['--memory', String(memory)])]
}

class SharedTmp {
  #child
  #place // a promise
  #gone = false

  constructor(binary, config) {
    const child = spawn(binary, words(config), { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    let said = ''
    let complaints = ''
    this.#child = child
    child.stdin.on('error', () => {})
    child.stderr.on('data', text => (complaints += text))
    this.#place = new Promise((resolve, reject) => {
      child.once('error', cause => {
        this.#gone = true
        reject(new SandboxUnsupportedError(`${binary} cannot be run: ${cause.message}`))
      })
      child.once('exit', () => {
        this.#gone = true
        reject(new SandboxUnsupportedError(complaints.trim().replaceAll('cloche: ', '') || 'no /tmp can be shared here'))
      })
      child.stdout.on('data', text => {
        said += text
        if (said.endsWith('\n')) resolve(said.trim())
      })
    }).finally(() => {
      // Nobody waits for it from now on.
      for (const each of [child, child.stdin, child.stdout, child.stderr]) each.unref?.()
    })
    this.#place.catch(() => {})
  }

  async place() {
    const place = await this.#place
    if (this.#gone)
      throw new SandboxError(
        'session_tmp_gone',
        'the /tmp that the commands share is gone, because the process that held it was killed: reset(), and initialize()',
      )
    return place
  }

  // Once it is gone.
  close() {
    const child = this.#child
    child.stdin?.destroy()
    child.ref()
    return new Promise(resolve => (this.#gone ? resolve() : child.once('exit', () => resolve())))
  }
}

module.exports = { SharedTmp }
