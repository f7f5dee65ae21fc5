'use strict'
// Where running commands find us: an abstract unix socket, which is gone with this
// process however it ends. Each connection is one running command. It begins with
// what we gave the command to say, tells what is denied, and asks about hosts.

const { randomBytes } = require('node:crypto')
const net = require('node:net')

const LINE_MAX = 256 * 1024
const SETTLING_MS = 100
const TURNS = 3 // of the event loop: to accept, to read, to greet

class Session {
  #server
  #sockets = new Set() // all, also of those who have not said yet who they are
  #connections = new Set()
  // As long as such a name can be: some versions of Node fill it up to that with NULs.
  #name = `cloche-${randomBytes(50).toString('hex')}`
  #token = randomBytes(16).toString('hex')
  #handlers

  // handlers: greet(command) -> lines to send; ask(command, question) -> Promise of an
  // answer; event(command, event). `command` is { generation, custom, key }.
  constructor(handlers) {
    this.#handlers = handlers
  }

  open() {
    return new Promise((resolve, reject) => {
      this.#server = net.createServer(socket => this.#accept(socket))
      this.#server.once('error', reject)
      this.#server.listen({ path: `\0${this.#name}` }, () => {
        this.#server.off('error', reject)
        this.#server.on('error', () => {})
        this.#server.unref()
        resolve()
      })
    })
  }

  // What the command says first: base64 and dots only.
  introduction(generation, custom, key) {
    return `${this.#name}:${this.#token}.${generation}.${custom}.${key}`
  }

  get running() {
    return this.#connections.size
  }

  // A command that has begun, or has ended, may not have been heard of yet: it was said to
  // us before that, so a few turns are enough.
  async settled() {
    for (let turn = 0; turn < TURNS; turn++) await new Promise(done => setImmediate(done))
    for (let waited = 0; this.running > 0 && waited < SETTLING_MS; waited += 5)
      await new Promise(done => setTimeout(done, 5))
  }

  tellAll(linesFor) {
    for (const connection of this.#connections) send(connection.socket, linesFor(connection.command))
  }

  close() {
    return new Promise(resolve => {
      if (this.#server?.listening) this.#server.close(() => resolve())
      else resolve()
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  #accept(socket) {
    const connection = { socket, command: undefined, rest: '' }
    if (!this.#server.listening) {
      socket.destroy()
      return
    }
    this.#sockets.add(socket)
    socket.unref()
    socket.setEncoding('utf8')
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#connections.delete(connection)
    })
    socket.on('data', text => {
      const lines = (connection.rest + text).split('\n')
      connection.rest = lines.pop()
      if (connection.rest.length > LINE_MAX) socket.destroy()
      for (const line of lines) if (!socket.destroyed) this.#hear(connection, line)
    })
  }

  #hear(connection, line) {
    let said
    try {
      said = JSON.parse(line)
    } catch {
      connection.socket.destroy()
      return
    }
    if (!connection.command) this.#greet(connection, said)
    else if (said.end === true) connection.socket.end()
    else if (said.ask !== undefined) this.#answer(connection, said)
    else if (said.kind !== undefined) this.#handlers.event(connection.command, said)
  }

  #greet(connection, said) {
    const [token, generation, custom, key] = String(said.hello).split('.')
    if (token !== this.#token) {
      connection.socket.destroy()
      return
    }
    connection.command = { generation: Number(generation), custom, key }
    this.#connections.add(connection)
    send(connection.socket, this.#handlers.greet(connection.command))
  }

  async #answer(connection, said) {
    const answer = await this.#handlers.ask(connection.command, questionOf(said))
    send(connection.socket, [JSON.stringify({ answer: said.ask, ...answer })])
  }
}

function questionOf(said) {
  const kind = ['read', 'write', 'unix'].find(each => Object.hasOwn(said, each))
  if (!kind) return { host: String(said.host), port: Number(said.port) }
  return { kind, path: String(said[kind]), program: String(said.program), pid: Number(said.pid) }
}

function send(socket, lines) {
  if (lines.length > 0 && socket.writable) socket.write(`${lines.join('\n')}\n`)
}

module.exports = { Session }
