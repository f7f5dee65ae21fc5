// Asks the two proxies of the real srt and writes what they answer to
// srt_proxy.json beside this file. That is committed; run this again only when
// another version is to be followed:
//
//   npm install --ignore-scripts --force @anthropic-ai/sandbox-runtime@0.0.83
//   node record_srt_proxy.mjs node_modules/@anthropic-ai/sandbox-runtime
//
// Names are resolved by a table here, and the only origin is on loopback. In a
// request LOGIN stands for the right Proxy-Authorization header and LONG for
// 70,000 letters; of SOCKS, each message is hexadecimal and TOKEN the token. `ours` marks where cloche differs
// on purpose, with the reason.
import dns from 'node:dns'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const srt = resolve(process.argv[2] ?? 'node_modules/@anthropic-ai/sandbox-runtime')
const version = JSON.parse(readFileSync(join(srt, 'package.json'), 'utf8')).version

const addresses = { 'site.test': '127.0.0.1', 'rebound.test': '127.0.0.9', 'listed.test': '10.1.2.3' }
dns.lookup = (name, options, callback) => {
  const address = addresses[name] ?? (net.isIP(name) === 4 ? name : name === 'localhost' ? '127.0.0.1' : undefined)
  if (typeof options === 'function') callback = options
  if (!address) callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' }))
  else if (options.all) callback(null, [{ address, family: 4 }])
  else callback(null, address, 4)
}
syncBuiltinESMExports()
const { SandboxManager } = await import(pathToFileURL(join(srt, 'dist/index.js')).href)

const network = {
  allowedDomains: ['site.test', 'rebound.test', 'listed.test', 'gone.test'],
  deniedDomains: ['denied.test', 'reasoned.test'],
  deniedDomainReasons: { 'reasoned.test': 'ask\nthe \u00fcber-admin' },
  deniedResolvedAddresses: ['10.0.0.0/8'],
}
const PORT = 18080
const seen = []
const origin = createServer((request, response) => {
  let body = ''
  request.on('data', data => (body += data))
  request.on('end', () => {
    seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body })
    response.end(`page of ${request.headers.host}`)
  })
})
await new Promise(done => origin.listen(PORT, '127.0.0.1', done))

const http = []
const socks = []

function ask(name, request, ours, options = {}) {
  http.push({ name, request, options, ours })
}

function get(host, headers = 'LOGIN', line = 'GET', rest = '') {
  return `${line} http://${host}/x HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n${rest}`
}

function connect(target, headers = 'LOGIN') {
  return `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${headers}\r\n`
}

const SITE = `site.test:${PORT}`
const WRONG = 'Proxy-Authorization: Basic c3J0Ondyb25n\r\n'
const strict = 'two readers could read two requests in it'

// ---- let through
ask('GET', get(SITE))
ask('GET in capitals and with a dot', get(`SITE.test.:${PORT}`))
ask('POST', get(SITE, 'LOGINContent-Length: 4\r\n', 'POST', 'body'))
ask('POST in chunks', get(SITE, 'LOGINTransfer-Encoding: chunked\r\n', 'POST', '4\r\nbody\r\n0\r\n\r\n'))
ask('headers of one hop', get(SITE, 'LOGINConnection: close, X-Hop\r\nX-Hop: 1\r\nProxy-Connection: x\r\nKeep-Alive: 5\r\n' +
  'TE: trailers\r\nX-Kept: 2\r\n'))
ask('another Host header', `GET http://${SITE}/x HTTP/1.1\r\nHost: other.test\r\nLOGIN\r\n`)
ask('HTTP/1.0', `GET http://${SITE}/x HTTP/1.0\r\nLOGIN\r\n`)
ask('CONNECT', connect(SITE) + 'GET /tunnel HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n')

// ---- refused by policy
ask('GET of a host that is not listed', get('other.test'))
ask('CONNECT to a host that is not listed', connect('other.test:443'))
ask('GET of a denied host', get('denied.test'))
ask('CONNECT to a denied host', connect('denied.test:443'))
ask('GET of a host denied with a reason', get('reasoned.test'))
ask('CONNECT to a host denied with a reason', connect('reasoned.test:443'))
ask('GET of an address', get('192.0.2.1'))
ask('CONNECT to an address', connect('192.0.2.1:443'))
ask('GET of a name for this machine', get('rebound.test'))
ask('CONNECT to a name for this machine', connect('rebound.test:443'))
ask('GET of a name for a listed address', get('listed.test'))
ask('CONNECT to a name for a listed address', connect('listed.test:443'))
ask('CONNECT where tunnels are refused', connect(SITE), undefined, { refuseOpaqueTunnels: true })
ask('another Host header where it must match', `GET http://${SITE}/x HTTP/1.1\r\nHost: other.test\r\nLOGIN\r\n`, undefined,
  { requireHostMatch: true })

// ---- not reached
const why = { status: 'HTTP/1.1 502 Bad Gateway', reason: 'the body also says why' }
ask('GET where nobody listens', get('site.test:1'), why)
ask('CONNECT where nobody listens', connect('site.test:1'))
ask('GET of a name that does not exist', get('gone.test'), why)
ask('CONNECT to a name that does not exist', connect('gone.test:443'))

// ---- without the token
for (const [what, header] of [['no', ''], ['a wrong', WRONG], ['an odd', 'Proxy-Authorization: Bearer x\r\n']]) {
  ask(`GET with ${what} token`, get(SITE, header))
  ask(`CONNECT with ${what} token`, connect(SITE, header))
}

// ---- not understood
ask('CONNECT without a port', connect('site.test'))
ask('CONNECT to port 0', connect('site.test:0'))
ask('CONNECT to port 65536', connect('site.test:65536'))
ask('a blank before a colon', get(SITE, 'LOGINX : y\r\n'))
ask('a folded header', get(SITE, 'LOGINX: y\r\n z\r\n'))
ask('length and chunks', get(SITE, 'LOGINContent-Length: 3\r\nTransfer-Encoding: chunked\r\n', 'POST', '0\r\n\r\n'))
ask('two lengths', get(SITE, 'LOGINContent-Length: 3\r\nContent-Length: 4\r\n', 'POST', 'body'))
ask('two hosts', get(SITE, 'LOGINHost: other.test\r\n'), { status: 'HTTP/1.1 400 Bad Request', reason: strict })
ask('a line that ends in LF', `GET http://${SITE}/x HTTP/1.1\nHost: x\nLOGIN\n`)
ask('a control character', get(SITE, 'LOGINX: \x01\r\n'))
ask('a head that is too long', get(SITE, 'LOGINX: LONG\r\n'))
ask('origin form', 'GET /x HTTP/1.1\r\nHost: site.test\r\nLOGIN\r\n',
  { status: 'HTTP/1.1 400 Bad Request', reason: 'the client is wrong, not the server' })
ask('TRACE', get(SITE, 'LOGIN', 'TRACE'),
  { status: 'HTTP/1.1 405 Method Not Allowed', reason: 'its answer would repeat the headers' })
ask('a number for an address', get(`2130706433:${PORT}`),
  { status: 'HTTP/1.1 400 Bad Request', reason: 'one spelling for one host' })

// ---- SOCKS5
function talk(name, messages, ours, options = {}) {
  socks.push({ name, messages, options, ours })
}
const hex = text => Buffer.from(text, 'latin1').toString('hex')
const LOGIN_MESSAGES = ['050102', `0107${hex('srt.abc')}20TOKEN`]
const to = (name, port, command = '01') =>
  `05${command}0003${name.length.toString(16).padStart(2, '0')}${hex(name)}${port.toString(16).padStart(4, '0')}`

talk('a host', [...LOGIN_MESSAGES, to('site.test', PORT)])
talk('a host that is not listed', [...LOGIN_MESSAGES, to('other.test', 80)])
talk('a denied host', [...LOGIN_MESSAGES, to('denied.test', 80)])
talk('an address', [...LOGIN_MESSAGES, '05010001c00002010050'])
talk('an IPv6 address', [...LOGIN_MESSAGES, '0501000420010db80000000000000000000000010050'])
talk('a name for this machine', [...LOGIN_MESSAGES, to('rebound.test', 80)])
talk('nobody listens', [...LOGIN_MESSAGES, to('site.test', 1)])
talk('no such name', [...LOGIN_MESSAGES, to('gone.test', 80)])
talk('a NUL in the name', [...LOGIN_MESSAGES, to('other.test\0.site.test', 80)])
talk('a blank in the name', [...LOGIN_MESSAGES, to('a b.site.test', 80)])
talk('BIND', [...LOGIN_MESSAGES, to('site.test', PORT, '02')],
  { replies: ['0502', '0100', '05070001000000000000'], reason: 'a whole reply, as RFC 1928 has it' })
talk('UDP', [...LOGIN_MESSAGES, to('site.test', PORT, '03')],
  { replies: ['0502', '0100', '05070001000000000000'], reason: 'a whole reply, as RFC 1928 has it' })
talk('an unknown command', [...LOGIN_MESSAGES, to('site.test', PORT, '09')])
talk('a wrong token', ['050102', `0103${hex('srt')}05${hex('wrong')}`])
talk('a wrong user', ['050102', `0104${hex('evil')}20TOKEN`])
talk('no token', ['050100', to('site.test', PORT)])
talk('no token, for ssh', ['050100', to('site.test', 22)])
talk('no method', ['0500'], { replies: [''], reason: 'a client that offers no method cannot be answered' })
talk('SOCKS4', ['04010050c0000201' + '00'])
talk('tunnels are refused', [...LOGIN_MESSAGES, to('site.test', PORT)], undefined, { refuseOpaqueTunnels: true })

// ---- asking
const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds))

// What comes back until the end, or until nothing has come for a while.
function received(socket, patience) {
  return new Promise(done => {
    const parts = []
    let timer
    const finish = () => done(Buffer.concat(parts))
    const wait = () => { clearTimeout(timer); timer = setTimeout(finish, patience) }
    socket.on('data', data => { parts.push(data); wait() })
    for (const event of ['end', 'close', 'error']) socket.on(event, () => { clearTimeout(timer); finish() })
    wait()
  })
}

function dechunked(body) {
  let out = ''
  for (;;) {
    const end = body.indexOf('\r\n')
    const size = parseInt(body.slice(0, end), 16)
    if (!size) return out
    out += body.slice(end + 2, end + 2 + size)
    body = body.slice(end + 4 + size)
  }
}

const TOLD = ['content-type', 'x-proxy-error', 'proxy-authenticate']

function understood(answer) {
  const text = answer.toString('latin1')
  const [head, ...rest] = text.split('\r\n\r\n')
  const [status, ...lines] = head.split('\r\n')
  const headers = {}
  let chunked = false
  for (const line of lines) {
    const [name, value] = [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]
    if (TOLD.includes(name)) headers[name] = value
    chunked ||= name === 'transfer-encoding'
  }
  const body = rest.join('\r\n\r\n')
  return { status, headers, body: chunked ? dechunked(body) : body }
}

function forwarded(request) {
  const { 'user-agent': _, connection, ...headers } = request.headers
  return { line: request.line, headers, body: request.body }
}

let running = ''
async function withOptions(options) {
  if (running === JSON.stringify(options)) return
  if (running) await SandboxManager.reset()
  running = JSON.stringify(options)
  const allowed = [...network.allowedDomains, '127.0.0.1']
  await SandboxManager.initialize({
    network: { ...network, allowedDomains: allowed, ...options },
    filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
  })
}

const by_options = (a, b) => JSON.stringify(a.options).localeCompare(JSON.stringify(b.options))
for (const one of [...http].sort(by_options)) {
  await withOptions(one.options)
  const login = Buffer.from(`srt.abc:${SandboxManager.getProxyAuthToken()}`).toString('base64')
  const socket = net.connect(SandboxManager.getProxyPort(), '127.0.0.1')
  seen.length = 0
  socket.write(Buffer.from(one.request.replace('LOGIN', `Proxy-Authorization: Basic ${login}\r\n`).replace('LONG', 'x'.repeat(70000)),
    'latin1'))
  one.answer = understood(await received(socket, 1000))
  one.forwarded = seen.map(forwarded)
  socket.destroy()
}
for (const one of [...socks].sort(by_options)) {
  await withOptions(one.options)
  const socket = net.connect(SandboxManager.getProxyPort(), '127.0.0.1')
  one.replies = []
  for (const message of one.messages) {
    socket.write(Buffer.from(message.replace('TOKEN', hex(SandboxManager.getProxyAuthToken())), 'hex'))
    one.replies.push((await received(socket, 300)).toString('hex'))
    socket.removeAllListeners()
    socket.on('error', () => {})
  }
  socket.destroy()
}
await pause(100)
await SandboxManager.reset()
const record = { comment: 'written by record_srt_proxy.mjs', version, network, port: PORT, http, socks }
writeFileSync(join(here, 'srt_proxy.json'), JSON.stringify(record, null, 1) + '\n')
process.exit(0)
