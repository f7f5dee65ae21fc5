// Asks the real srt what it makes of several hundred settings files and writes
// its answers to srt_settings.json and srt_cli.json beside this file. Both are
// committed; run this again only when another version is to be followed:
//
//   npm install --ignore-scripts --force @anthropic-ai/sandbox-runtime@0.0.83
//   node record_srt_settings.mjs node_modules/@anthropic-ai/sandbox-runtime
//
// `ours` marks where cloche differs on purpose, with the reason.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const srt = resolve(process.argv[2] ?? 'node_modules/@anthropic-ai/sandbox-runtime')
const version = JSON.parse(readFileSync(join(srt, 'package.json'), 'utf8')).version
const { SandboxRuntimeConfigSchema } = await import(pathToFileURL(join(srt, 'dist/sandbox/sandbox-config.js')).href)
const { SandboxManager } = await import(pathToFileURL(join(srt, 'dist/index.js')).href)

const cases = []

function plain() {
  return {
    network: { allowedDomains: ['github.com', '*.nodes.org'], deniedDomains: [] },
    filesystem: { denyRead: ['~/.ssh'], allowWrite: ['.'], denyWrite: [] },
  }
}

// The plain settings with one value set: at('network.allowedDomains', [...]).
function at(path, value, settings = plain()) {
  const keys = path.split('.')
  let place = settings
  for (const key of keys.slice(0, -1)) place = place[key] ??= {}
  if (value === undefined) delete place[keys.at(-1)]
  else place[keys.at(-1)] = value
  return settings
}

function add(name, settings, ours) {
  cases.push({ name, settings: typeof settings === 'string' ? settings : JSON.stringify(settings), ours })
}

// ---- whole files
add('plain', plain())
for (const text of ['{}', '[]', 'null', 'true', '1', '"text"']) add(`root is ${text}`, text)
for (const text of ['', '{', '{"network": }', "{'network': {}}", '{"a":1,}', '[1 2]', 'nul', '{} {}', '\ufeff{}'])
  add(`not JSON: ${JSON.stringify(text)}`, text)
add('duplicate key', '{"network":{"allowedDomains":[],"allowedDomains":["github.com"],"deniedDomains":[]},' +
  '"filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]}}',
  { valid: false, reason: 'two readers must never disagree on what a file says' })
add('comment', '// mine\n' + JSON.stringify(plain()), { valid: true, reason: 'comments are allowed in every policy' })
add('number past a double', JSON.stringify(plain()).replace(/}$/, ',"mandatoryDenySearchDepth":1e999}'),
  { valid: false, reason: 'not JSON to us: no machine holds the number' })
add('integer past 64 bits', JSON.stringify(plain()).replace(/}$/, ',"mandatoryDenySearchDepth":99999999999999999999}'),
  { valid: false, reason: 'not JSON to us: no machine holds the number' })
add('lone surrogate', JSON.stringify(plain()).replace('github.com', 'git\\ud800.com'),
  { valid: false, reason: 'not JSON to us: no file and no host has such a name' })

// ---- every key: absent, and each type
const samples = {
  network: plain().network,
  'network.allowedDomains': ['github.com'],
  'network.deniedDomains': ['evil.com'],
  'network.deniedDomainReasons': { 'evil.com': 'no evil please' },
  'network.strictAllowlist': true,
  'network.deniedResolvedAddresses': ['10.0.0.0/8'],
  'network.allowUnixSockets': ['/run/x.sock'],
  'network.allowAllUnixSockets': false,
  'network.allowLocalBinding': true,
  'network.allowMachLookup': ['com.example.*'],
  'network.httpProxyPort': 8080,
  'network.socksProxyPort': 1080,
  'network.mitmProxy': { socketPath: '/run/mitm.sock', domains: ['api.example.com'] },
  'network.filterRequest': 'function',
  'network.allowPlaintextHeaderSet': true,
  'network.stripResponseHeaders': ['set-cookie'],
  'network.refuseOpaqueTunnels': true,
  'network.requireHostMatch': true,
  'network.ambiguousRequestTarget': 'normalize',
  'network.tlsTerminate': {},
  'network.parentProxy': { http: 'http://proxy:3128', noProxy: 'localhost' },
  filesystem: plain().filesystem,
  'filesystem.disabled': true,
  'filesystem.denyRead': ['/etc', { path: '/w/[x]', literal: true }],
  'filesystem.allowRead': ['/etc/ssl'],
  'filesystem.allowWrite': ['.'],
  'filesystem.denyWrite': ['.env'],
  'filesystem.allowGitConfig': true,
  credentials: {},
  'credentials.files': [{ path: '~/.netrc', mode: 'deny' }],
  'credentials.envVars': [{ name: 'TOKEN', mode: 'deny' }],
  'credentials.allowPlaintextInject': true,
  'credentials.awsPairs': [],
  'credentials.sigv4': { streaming: 'deny', presigned: 'passthrough', sigv4a: 'deny' },
  ignoreViolations: { '*': ['/tmp'], npm: [] },
  enableWeakerNestedSandbox: true,
  allowNestedUserNamespaces: true,
  enableWeakerNetworkIsolation: true,
  allowAppleEvents: true,
  ripgrep: { command: 'rg', args: ['-x'], argv0: 'rg' },
  mandatoryDenySearchDepth: 3,
  allowPty: true,
  seccomp: { applyPath: '/x', argv0: 'y' },
  bwrapPath: '/usr/bin/bwrap',
  socatPath: '/usr/bin/socat',
  javaAgentJarPath: '/a.jar',
  windows: { backend: 'mxc', sandboxUser: 'me', proxyPortRange: [60080, 60089], srtWin: { path: 'x.exe' } },
  git: { safeDirectories: ['/w'] },
}
const wrong = [null, true, 0, 'x', [], {}, [null], [1], [[]], { a: null }]
for (const [path, sample] of Object.entries(samples)) {
  add(`${path}: absent`, at(path, undefined))
  add(`${path}: sample`, at(path, sample))
  for (const value of wrong) add(`${path}: ${JSON.stringify(value)}`, at(path, value))
}

// ---- keys that srt does not know
add('unknown keys are dropped', { ...plain(), extra: 1, network: { ...plain().network, alowedDomains: 3 } })
add('unknown key in filesystem', at('filesystem.denyReads', 1))
add('unknown key in mitmProxy', at('network.mitmProxy', { ...samples['network.mitmProxy'], x: 1 }))
add('unknown key in a credential file', at('credentials.files', [{ path: 'a', mode: 'deny', x: 1 }]))
add('unknown key in credentials', at('credentials', { injectHosts: [], zzz: 1, files: [] }))
add('unknown key in credentials, ugly', at('credentials', { 'a\n"\\': 1 }))
add('unknown key in sigv4', at('credentials.sigv4', { streaming: 'deny', x: 1 }))
add('unknown key in awsPairs', at('credentials.awsPairs', [{ accessKeyIdVar: 'A', secretAccessKeyVar: 'B', x: 1 }]))

// ---- path entries
const entries = ['', '/', ' ', '.', '~', '**', { path: '/a', literal: true }, { path: '', literal: true },
  { path: '/a', literal: false }, { path: '/a' }, { literal: true }, { path: 1, literal: true },
  { path: '/a', literal: 'true' }, { path: '/a', literal: null }, { path: '/a', literal: true, x: 1 },
  { path: '', literal: true, x: 1, y: 2 }, { path: '/a', x: 1 }, {}, [], null, 5, true, ['/a'], '/a\u0000b', 'ä', '\n']
for (const entry of entries) {
  const settings = plain()
  for (const list of ['denyRead', 'allowRead', 'allowWrite', 'denyWrite']) settings.filesystem[list] = ['/ok', entry]
  add(`path entry ${JSON.stringify(entry)}`, settings)
}
const globs = ['/a/*/', '/a/**/', '/a/?/', '/a/[x]/', '/a/]/', '/a/*//', '~/x*/', '~*/', 'a/*/', './a/*/', '/a/', '/a/*',
  '/*/', '*/', '//', '/[/', '~/[a-z]*///', '/a/{b,c}/', '/a\\*/', '/a\n*/', '$HOME/*/', ' /a/*/', '/ä*/']
for (const glob of globs) {
  const settings = plain()
  for (const list of ['denyRead', 'allowRead', 'allowWrite', 'denyWrite']) settings.filesystem[list] = ['/ok', glob]
  settings.credentials = { files: [{ path: glob, mode: 'deny' }] }
  add(`glob ${glob}`, settings)
}
add('glob marked literal', at('filesystem.denyRead', [{ path: '/a/*/', literal: true }]))
add('globs with filesystem disabled', at('filesystem.disabled', true, at('filesystem.denyRead', ['/a/*/'])))
add('glob beside a wrong type', at('filesystem.allowGitConfig', 1, at('filesystem.denyRead', ['/a/*/'])))
add('glob beside a bad domain', at('network.allowedDomains', ['*'], at('filesystem.denyRead', ['/a/*/'])))

// ---- domains, in all lists that have them
const domains = ['', '*', '*.', '.*', '*.com', '*.example.com', '*.a.b.c', '*.*.com', '**.example.com', '*example.com',
  'ex*mple.com', 'example.*', '*.example.', '*..example.com', '*.example..com', '*.exa mple.com', '*.*', '*.*.*', '*.a.*',
  'com', 'localhost', 'LOCALHOST', 'localhost.', 'example.com', 'EXAMPLE.com', 'example.com.', '.example.com', '.', '..',
  'a..b', 'exa mple.com', ' example.com', 'example.com ', 'exa_mple.com', '-a.b-', 'bücher.example', 'xn--bcher-kva.example',
  'http://example.com', 'https://example.com/', 'example.com/path', 'example.com?', 'example.com#x', 'user@example.com',
  'example.com\\x', 'a,b.com', 'example.com:443', 'example.com:1', 'example.com:65535', 'example.com:65536', 'example.com:0',
  'example.com:080', 'example.com:', 'example.com:http', 'example.com:443.evil.com', 'example.com:44 3', 'example.com:-1',
  'example.com:99999', 'example.com:100000', ':443', '*:22', '*:0', '*:', '*.example.com:8443', '*.com:443', 'com:443',
  'localhost:3000', 'a:b:c', '1.2.3.4', '1.2.3.4:80', '10.0.0.0/8', '127.1', '0x7f.0.0.1', '2130706433', '256.1.1.1',
  '::1', '2001:db8::1', '::1:443', 'fe80::1%eth0', '::ffff:1.2.3.4', '[::1]', '[::1]:443', '[::1]:0', '[::1]:', '[::1]x',
  '[::1]:65536', '[::1', '::1]', '[]', '[]:80', '[:]', '[::]', '[::1%lo]', '[fe80::1%eth0]:80', '[::ffff:1.2.3.4]', '[1.2.3.4]',
  '[example.com]', '[com]', '[*]', '[*]:5', '[*.com]', '[*.example.com]', '[example.com.]', '[EXAMPLE.com]:80', '[a.b/c]',
  '[/a.b]', '[user@a.b]', '[a.b:80]', '[a.b:x]', '[127.1]', '[2130706433]', '[0x7f000001]', '[256.1.1.1]', '[1.2.3.4.5]',
  '[exa mple.com]', '[exa%20mple.com]', '[ex%61mple.com]', '[a.b?c]', '[a.b#c]', '[a\tb.c]', '[bücher.example]', '[a.1]', '[a.0x]',
  '[1:2:3:4:5:6:7:8]', '[1:2:3:4:5:6:7::]', '[1:2:3:4:5:6:7:8:9]', '[12345::]', '[::g]', '[::1.2.3.04]', '[[::1]]', '[a.b]]',
  '[a]b.c', 'a\u0000b.c', 'a.b\n', '\u202ea.b', '*.1.2.3', '1', '1.', '[1.]', '[..]', '[.]', '[a..b]', '[localhost]', '[::]:1']
for (const domain of domains) {
  const settings = plain()
  settings.network.allowedDomains = ['ok.example', domain]
  settings.network.deniedDomains = [domain]
  settings.network.tlsTerminate = { excludeDomains: [domain] }
  add(`domain ${JSON.stringify(domain)}`, settings)
}
add('mitmProxy without domains', at('network.mitmProxy', { socketPath: '/s', domains: [] }))
add('mitmProxy with an empty path', at('network.mitmProxy', { socketPath: '', domains: ['a.b', '*'] }))
add('mitmProxy half', at('network.mitmProxy', { domains: ['a.b'] }))
add('mitmProxy empty', at('network.mitmProxy', {}))
add('reason empty', at('network.deniedDomainReasons', { 'a.b': '', 'c.d': 'x', '*': '' }))
add('reason for an unlisted domain', at('network.deniedDomainReasons', { 'nobody.example': 'x' }))

const ranges = ['', '10.0.0.0/8', '10.0.0.1', '10.0.0.0/33', '10.0.0.0/32', '10.0.0.0/0', '10.0.0.0/', '10.0.0.0/08', '10.0.0.0/008',
  '10.0.0.0/0008', '10.0.0.0/-1', '10.0.0.0/a', '10.0.0.0/8/8', '10.0.0/8', '010.0.0.0', '10.0.0.256', ' 10.0.0.0', 'fc00::/7', '::/0',
  '::1/128', '::1/129', '[::1]', '[::1]/128', 'fe80::1%eth0', 'fe80::1%eth0/64', 'fe80::/10%eth0', '::ffff:10.0.0.0/104',
  '::ffff:10.0.0.0/95', '::ffff:10.0.0.0/96', '::ffff:10.0.0.1', '::FFFF:a00:1/100', '::ffff:0:0/90', '0:0:0:0:0:ffff:1:1/3', '::1.2.3.4/8',
  'example.com', '*', '0x7f.1', '127.1', '1.2.3.4%x', '::ffff:1:2:3/8', ':::', '1::2::3']
for (const range of ranges) add(`range ${JSON.stringify(range)}`, at('network.deniedResolvedAddresses', ['10.0.0.0/8', range]))

// ---- numbers
const numbers = [-1, 0, 0.5, 1, 1.0, 1.5, 2, 9.99, 10, 10.5, 11, 99, 100, 65535, 65535.5, 65536, 65537, 600000, 600001, 1e15, 1e300, -1e300]
for (const number of numbers) {
  const settings = plain()
  settings.mandatoryDenySearchDepth = number
  settings.network.httpProxyPort = number
  settings.network.socksProxyPort = number
  settings.network.tlsTerminate = { maxTunnels: number, handshakeTimeoutMs: number }
  settings.windows = { proxyPortRange: [number, number] }
  add(`number ${number}`, settings)
}
for (const text of ['1.0', '1e0', '-0', '1e1', '10.0', '100e-1', '-0.0', '3.0000000000000000001'])
  add(`number as written ${text}`, JSON.stringify(plain()).replace(/}$/, `,"mandatoryDenySearchDepth":${text}}`))
const spans = [[1, 65], [1, 66], [5, 4], [5, 5], [1], [], [1, 2, 3], [1, '2'], ['1', 2], [0, 1], [1, 65536], [65530, 70000], [0.5, 1], [-3, -2],
  [1, 2, 'x'], [null, 1], [0, 'x']]
for (const span of spans) add(`port range ${JSON.stringify(span)}`, at('windows.proxyPortRange', span))

// ---- strings with a form
const urls = ['', 'http://proxy:3128', 'http://proxy', 'http:proxy', 'http:/proxy', 'http:\\\\proxy', 'https://user:pass@proxy:8080/', 'proxy:3128',
  'proxy', '//proxy', '/proxy', 'http://', 'http:///', 'http:///proxy', 'http://:80', 'http://@proxy', 'http://@', 'http://a@', 'http://a@b@c', 'http://a:b:c@d',
  'http://proxy:0', 'http://proxy:65535', 'http://proxy:65536', 'http://proxy:99999999999', 'http://proxy:', 'http://proxy:x', 'http://proxy:80x/',
  'http://proxy:80/x', 'http://proxy:80?x', 'http://proxy:80#x', 'http://proxy:80\\x', 'http://a b', 'http://a%20b', 'http://a%zz', 'http://a%2', 'http://%', 'http://a<b',
  'http://a^b', 'http://a|b', 'http://a`b', 'http://a{b', "http://a'b", 'http://a"b', 'http://a*b', 'http://a_b', 'http://a..b', 'http://.', 'http://..', 'http://a.', 'http://-',
  'http://1', 'http://1.2.3', 'http://1.2.3.4', 'http://1.2.3.4.', 'http://1.2.3.4.5', 'http://256', 'http://256.1', 'http://1.256', 'http://1.65536', 'http://1.16777216',
  'http://4294967295', 'http://4294967296', 'http://0x', 'http://0xg', 'http://0x7f.1', 'http://08', 'http://07', 'http://1.2.3.08', 'http://a.08', 'http://a.0x', 'http://a.0xg', 'http://1..2',
  'http://a.1.', 'http://99999999999999999999', 'http://[::1]', 'http://[::1]:80', 'http://[::1]x', 'http://[::1', 'http://[::1%25lo]', 'http://[::g]', 'http://[1.2.3.4]', 'http://[::1.2.3.4]',
  'http://[::01.2.3.4]', 'http://[]', 'http://x[::1]', 'http://[::1]:99999', 'http://bücher.example', 'http://xn--bcher-kva.example', 'http://ａ.example', 'http://xn--a',
  'http://xn--', 'http://a\u00adb', 'http://\u00ad', 'http://a\u0000b', 'http:/\u0000b', 'file://\u0000', 'a\u0000:b', 'a://\u0000', 'http://a%00b', 'http://a\tb', 'ht\ntp://a', ' http://a ', '\u0001http://a\u0001', '\u00a0http://a', 'HTTP://A', 'h ttp://a', '1http://a',
  'a:', 'a:b', 'a:/', 'a://', 'a://b', 'a://b:80', 'a://b:x', 'a://:80', 'a://u@', 'a://u@h', 'a://a b', 'a://a%zzb', 'a://ä', 'a://[::1]', 'a://[x]', 'a://a<b', 'a://a\\b', 'a+b-c.1:x', 'a_b:x', ':x', ':',
  'socks5://127.0.0.1:1080', 'socks5://a:b@c:1', 'file:', 'file:///', 'file:///x', 'file://host/x', 'file://a b/', 'file://h:80/', 'file://C:/x', 'file://C|/x', 'file://[::1]/', 'file:x', 'file://%/', 'file://?', 'file:\\\\h',
  'mailto:x', 'javascript:1', 'data:,', 'ws://', 'wss://a', 'ftp://a:21', 'ftp://', 'blob:x', 'http://a/%', 'http://a?%zz', 'http://[::1]@b', 'http://a@[::1]', 'http://a:b]@c', 'http://a[b]']
for (const url of urls) add(`url ${JSON.stringify(url)}`, at('network.parentProxy', { http: url, https: 'http://ok' }))
add('url of a snowman', at('network.parentProxy', { http: 'http://☃.net' }),
  { valid: false, reason: 'host names are read by IDNA 2008, which has no such name' })

const uuids = ['', '12345678-1234-1234-1234-123456789abc', '12345678-1234-1234-1234-123456789ABC', '{12345678-1234-1234-1234-123456789abc}',
  '12345678123412341234123456789abc', '12345678-1234-1234-1234-123456789abg', '12345678-1234-1234-1234-123456789abc\n', '00000000-0000-0000-0000-000000000000']
for (const uuid of uuids) add(`uuid ${JSON.stringify(uuid)}`, at('windows', { sublayerGuid: uuid, wfpSublayerGuid: uuid }))
for (const name of ['', 'a'.repeat(20), 'a'.repeat(21), 'ä'.repeat(20), '😀'.repeat(10), '😀'.repeat(10) + 'a'])
  add(`windows user ${name}`, at('windows.sandboxUser', name))
for (const name of ['mxc', 'srt-win', 'SRT-WIN', '']) add(`windows backend ${name}`, at('windows.backend', name))
add('windows helper', at('windows.srtWin', { path: '' }))
for (const name of ['', '*', '**', 'a*', '*a', 'a*b*', 'a**', 'com.example', 'ä*']) add(`mach name ${name}`, at('network.allowMachLookup', ['ok', name]))
for (const path of ['', '/', 'rg', './x', '~/x', '/a b', ' /a']) {
  const settings = at('bwrapPath', path)
  settings.socatPath = settings.javaAgentJarPath = path
  add(`binary ${path}`, settings)
}
for (const word of ['refuse', 'asSpelled', 'normalize', 'Refuse', '', "it's", 'a\\b', 'a\tb'])
  add(`ambiguousRequestTarget ${word}`, at('network.ambiguousRequestTarget', word))
add('empty response header', at('network.stripResponseHeaders', ['', 'x', '']))
add('empty unix socket path', at('network.allowUnixSockets', ['']))
add('ignoreViolations', at('ignoreViolations', { a: [''], b: [1, 'x'], 'c.d': 'x', '': null, 'e\n': 1 }))
add('ripgrep without a command', at('ripgrep', {}))
add('ripgrep with wrong arguments', at('ripgrep', { command: '', args: [1, 'x', null], argv0: 2 }))
add('seccomp with wrong types', at('seccomp', { applyPath: 1, argv0: [] }))
add('seccomp of a native policy', at('seccomp', { enabled: true, deny: ['ptrace'] }))
add('git without directories', at('git', {}))
add('git with wrong types', at('git', { safeDirectories: [1, 'x'] }))
const tls = [{ caCertPath: '/a' }, { caKeyPath: '/a' }, { caCertPath: '/a', caKeyPath: '/b' }, { caCertPath: '', caKeyPath: '' }, { caCertPath: '', caKeyPath: '/b' },
  { caCertPath: 1, caKeyPath: '/b' }, { caCertPath: '/a', maxTunnels: 'x' }, { caCertPath: '/a', maxTunnels: 0 }, { extraCaCertPaths: ['', '/a'] }, { x: 1 }]
for (const value of tls) add(`tlsTerminate ${JSON.stringify(value)}`, at('network.tlsTerminate', value))
add('tlsTerminate and mitmProxy', at('network.mitmProxy', samples['network.mitmProxy'], at('network.tlsTerminate', {})))
add('tlsTerminate and mitmProxy and a bad port',
  at('network.httpProxyPort', 0, at('network.mitmProxy', samples['network.mitmProxy'], at('network.tlsTerminate', {}))))

// ---- credentials
function credentials(value, tlsTerminate = {}) {
  return at('credentials', value, at('network.tlsTerminate', tlsTerminate))
}
const variables = ['TOKEN', '_x', 'a1', '1a', '', 'A-B', 'A B', 'A=B', 'Ä', '-u', 'A\n', 'A.B', 'a\u0000']
for (const name of variables) add(`variable ${JSON.stringify(name)}`, credentials({ envVars: [{ name, mode: 'deny' }] }))
for (const entry of [{ name: 'A' }, { mode: 'deny' }, { name: 'A', mode: 'hide' }, { name: 1, mode: 2 }, { name: 'A', mode: 'deny', decode: 'JWT' },
  { name: 'A', mode: 'deny', onExtractNoMatch: 'ignore' }, { name: 'A', mode: 'deny', maskDuplicates: 1 }, { name: 'A', mode: 'deny', maskClaims: [] },
  { name: 'A', mode: 'mask', maskClaims: ['a'] }, { name: 'A', mode: 'mask', maskClaims: [''], decode: 'jwt' }, { name: 'A', mode: 'mask', maskClaims: [], decode: 'jwt' },
  { name: 'A', mode: 'mask' }, { name: 'A', mode: 'mask', injectHosts: [] }, { name: 'A', mode: 'deny', injectHosts: [] }, null, 'A', [],
  { name: 'A', mode: 'mask', injectHosts: ['github.com', 'GitHub.COM', 'registry.nodes.org', 'nodes.org', 'evil.com', '*.nodes.org', '*.a.nodes.org', '*.github.com', '*', 'a.b:80', '1.2.3.4', '::1', 'x.evilnodes.org'] },
  { name: 'A', mode: 'deny', injectHosts: ['evil.com'] }, { name: '', mode: 'mask', injectHosts: ['evil.com'], maskClaims: [] }])
  add(`variable entry ${JSON.stringify(entry)}`, credentials({ envVars: [entry] }))
for (const entry of [{ path: '~/.netrc', mode: 'mask' }, { path: '~/.aws/', mode: 'mask' }, { path: '~/.aws/', mode: 'deny' }, { path: '', mode: 'mask' }, { path: '/a/*/', mode: 'mask' },
  { path: '/a/*/', mode: 'deny' }, { path: { path: '/a', literal: true }, mode: 'deny' }, { path: 'a' }, { mode: 'deny' }, { path: 'a', mode: 'deny', maskDuplicates: 'x' },
  { path: 'a', mode: 'mask', maskClaims: ['a'] }, { path: 'a', mode: 'mask', maskClaims: [] }, { path: 'a', mode: 'mask', injectHosts: ['evil.com'] }, { path: 'a', mode: 'mask', injectHosts: [] },
  { path: 'a', mode: 'mask', extract: 'x(y)', decode: 'jwt', maskClaims: ['a'], onExtractNoMatch: 'error', maskDuplicates: true, injectHosts: ['github.com'] }])
  add(`file entry ${JSON.stringify(entry)}`, credentials({ files: [entry] }))
const mask = { name: 'A', mode: 'mask' }
add('mask without tlsTerminate', at('credentials', { envVars: [mask] }))
add('mask of a file without tlsTerminate', at('credentials', { files: [{ path: 'a', mode: 'mask' }] }))
add('mask without tlsTerminate, plain text allowed', at('credentials', { envVars: [mask], allowPlaintextInject: true }))
add('mask without tlsTerminate, plain text not allowed', at('credentials', { envVars: [mask], allowPlaintextInject: false }))
add('mask, every allowed host excluded', credentials({ envVars: [mask] }, { excludeDomains: ['github.com', '*.nodes.org'] }))
add('mask, some allowed hosts excluded', credentials({ envVars: [mask] }, { excludeDomains: ['github.com'] }))
add('mask, nothing allowed, all excluded', at('network.allowedDomains', [], credentials({ envVars: [mask] }, { excludeDomains: ['a.b'] })))
add('mask, excluded host injected', credentials({ envVars: [{ ...mask, injectHosts: ['github.com', 'a.nodes.org'] }] }, { excludeDomains: ['*.nodes.org'] }))
add('mask, empty list of excluded hosts', credentials({ envVars: [{ ...mask, injectHosts: ['github.com'] }] }, { excludeDomains: [] }))
add('mask, excluded and not allowed', credentials({ files: [{ path: 'a', mode: 'mask', injectHosts: ['evil.com'] }] }, { excludeDomains: ['evil.com'] }))
for (const allowed of [['github.com:443'], ['[::1]:443'], ['[127.1]'], ['*.github.com:22'], ['*'], ['a:b:c'], ['[::ffff:1.2.3.4]'], ['1.2.3.4'], ['[::443:80]'], ['[::1.2.3.4]:5']])
  for (const host of ['github.com', 'api.github.com', '*.github.com', '::1', '127.0.0.1', '1.2.3.4', '::443:80', '::102:304'])
    add(`inject ${host} with ${allowed}`, at('network.allowedDomains', allowed, credentials({ envVars: [{ ...mask, injectHosts: [host] }] })))
const keys = [{ name: 'ID', mode: 'mask' }, { name: 'SECRET', mode: 'mask' }, { name: 'SESSION', mode: 'mask' }, { name: 'DENIED', mode: 'deny' },
  { name: 'PART', mode: 'mask', extract: '(x)' }, { name: 'JWT', mode: 'mask', decode: 'jwt' }]
const pairs = [[['ID', 'SECRET']], [['ID', 'SECRET', 'SESSION']], [['ID', 'ID']], [['ID', 'SECRET'], ['ID', 'SESSION']], [['ID', 'NOBODY']], [['ID', 'DENIED']], [['ID', 'PART']],
  [['JWT', 'SECRET']], [['ID', 'SECRET', 'ID']], [['1', 'SECRET']], [['ID']], [['NOBODY', 'NOBODY'], ['NOBODY', 'ID']], [['ID', 'SECRET', 'SESSION'], ['DENIED', 'PART', 'SESSION']]]
for (const list of pairs)
  add(`pair ${JSON.stringify(list)}`, credentials({ envVars: keys, awsPairs: list.map(([accessKeyIdVar, secretAccessKeyVar, sessionTokenVar]) =>
    ({ accessKeyIdVar, secretAccessKeyVar, sessionTokenVar })) }))
add('pair with the wrong type', credentials({ envVars: keys, awsPairs: [{ accessKeyIdVar: 1, secretAccessKeyVar: 'SECRET' }, 'x'] }))
for (const word of ['deny', 'passthrough', 'allow', 1, null]) add(`sigv4 ${word}`, at('credentials.sigv4', { streaming: word, presigned: word, sigv4a: word }))

const patterns = ['', 'x', '(x)', '(?:x)', '(?:(x))', '(?<n>x)', '(?<n>x)(?<n>y)', '(?<n>x)|(?<m>y)', '(?<>x)', '(?<1>x)', '(?<a1>x)', '(?<a-b>x)', '(?<$_>x)', '(?<a', '(?<a>', '(?<\\u0061>x)',
  '(?<\\u{61}>x)', '(?<\\x61>x)', '(?<ä>x)', '(', ')', '(x', 'x)', '((x)', '(x))', '()', '(|)', '*', '+', '?', 'x*', 'x**', 'x*+', 'x*?', 'x*??', 'x+?', '(*)', '(+x)', '(x)*', '(x){2}', '(x){2,1}',
  '(x){1,2}', '(x){2,}', '(x){,2}', '(x){}', '(x){a}', '(x){1', '{1}', '{', '{a}', '}', '(x)}', ']', '(x)]', '[', '[]', '[^]', '[a', '[a](x)', '[(](x)', '[z-a](x)', '[a-z](x)', '[a-](x)', '[-a](x)', '[a-',
  '[\\d-a](x)', '[a-\\d](x)', '[\\w-\\d](x)', '[\\b-a](x)', '[\\n-\\t](x)', '[\\t-\\n](x)', '[\\x41-\\x40](x)', '[\\u0041-\\u0042](x)', '[\\x4-a](x)', '[\\cA-\\cB](x)', '[\\cB-\\cA](x)', '[\\c1-a](x)', '[\\c-a](x)', '[\\c](x)',
  '[\\101-\\100](x)', '[\\1-\\2](x)', '[\\8-\\7](x)', '[\\]](x)', '[\\', '\\', '(x)\\', '\\(x', '\\(x\\)', '\\((x)', '(x)\\1', '\\1', '(x)\\2', '\\k', '\\k<n>', '(x)\\k<n>', '(?<n>x)\\k<n>', '\\k<n>(?<n>x)', '(?<n>x)\\k<m>', '(?<n>x)\\k',
  '(?<n>x)\\k<', '(?<n>x)\\k<>', '(?<n>x)[\\k]', '[(?<n>x)]\\k(x)', '\\(?<n>x\\)(x)\\k', '(?=x)', '(?=(x))', '(?=(x))*', '(?!x)*(y)', '(?<=x)(y)', '(?<=x)*(y)', '(?<!x)+(y)', '(?<!x)(y)', '(?<=x){2}(y)', '(?<=x){2,1}', '(?<=x){2,', '(?<=x){a}(y)', '(?<=x)+?', '(?<=(?<=x)*)', '((?<=x))*', '(?', '(?x)', '(?>x)', '(?P<n>x)',
  '(?#x)(y)', '^*', '$*', '^(x)$', '\\b*', '\\B+', '\\b(x)', '\\d(x)', '\\p{L}(x)', '\\u{1}(x)', '\\x(x)', '\\u12(x)', '\\c(x)', '\\0(x)', '\\00(x)', '/(x)', '\\/(x)', '(x)\n', '\n(', '(\\', 'token:\\s*(\\S+)', '(?<=a(b))c', '[😀-😁](x)', '[ä-ö](x)', '[ö-ä](x)',
  '😀(x)', '(x){99999999999,1}', '(x){1,99999999999}', '(x){99999999999999999999,99999999999999999999}', '(x)|', '|(x)', '(x)||', 'a|*', '(x)|*', '(?:)*(x)', '()*', '(x)?+', '(x){1}{2}', '(x){1}?', '(x){1}??', '[[]](x)', '[]](x)', '[^](x)', '[^a](x)', '[a^](x)',
  '\\ud83d(x)', '"(x)"', "'(x)'", '(x)\u2028', '(\t', '(?-x)', '(?<!', '(?=', '(?:', '(((((x)))))', 'a{0}(x)', 'a{0,0}(x)', 'a{1,0}(x)', 'x{2', 'x{2,', 'x{2,3', '(x){2,3}*', '((((', '))))', '(?<b>x(?<b>y', '(?<b>(?<b>x))', '(?<\\u004', '(?<\\u{110000}>x)', '\\k(?<', '(x)(?<']
for (const pattern of patterns) add(`extract ${pattern}`, credentials({ files: [{ path: 'a', mode: 'deny', extract: pattern }] }))

// ---- several problems at once, in srt's order
add('many problems', { network: { allowedDomains: ['*'], deniedDomains: 'x', httpProxyPort: 0 }, filesystem: { denyRead: ['/a/*/', ''], allowWrite: [{}] }, bwrapPath: 'x',
  credentials: { nope: 1, files: [{ path: '' }] }, mandatoryDenySearchDepth: 99 })
add('many problems, right types', { network: { allowedDomains: ['*', 'com'], deniedDomains: ['x'], httpProxyPort: 0 }, filesystem: { denyRead: ['/a/*/', ''], allowWrite: [''], denyWrite: ['/b/?/'] },
  bwrapPath: 'x', credentials: { nope: 1, files: [{ path: '', mode: 'mask' }], envVars: [{ ...mask, injectHosts: ['com', '*'] }] }, mandatoryDenySearchDepth: 99 })

// ---- ask srt
const controlled = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g
for (const each of cases) {
  let parsed
  try {
    parsed = JSON.parse(each.settings)
  } catch {
    each.valid = false
    each.json = false
    each.messages = []
    continue
  }
  const result = SandboxRuntimeConfigSchema.safeParse(parsed)
  each.valid = result.success
  each.messages = result.success ? [] : result.error.issues.map(issue => `${issue.path.join('.') || '(root)'}: ${issue.message}`)
  if (result.success && parsed.network.tlsTerminate && parsed.network.mitmProxy) {
    const error = await SandboxManager.initialize(result.data).then(() => undefined, refusal => refusal)
    each.valid = error === undefined
    each.messages = error ? [`network: ${error.message}`] : []
  }
  // Our messages reach a terminal: what could drive it is escaped.
  const shown = each.messages.map(text => text.replace(controlled, found =>
    found === '\n' ? '\\n' : found === '\t' ? '\\t' : [...Buffer.from(found)].map(byte => '\\x' + byte.toString(16).padStart(2, '0')).join('')))
  if (!each.ours && shown.some((text, i) => text !== each.messages[i]))
    each.ours = { valid: each.valid, messages: shown, reason: 'control characters are escaped in our messages' }
}

function write(name, value) {
  writeFileSync(join(here, name), JSON.stringify(value, null, 1) + '\n')
}
write('srt_settings.json', { srt: version, cases: cases.map(({ name, settings, valid, json, messages, ours }) => ({ name, settings, valid, json, messages, ours })) })

// ---- what the command line prints and exits with
const home = mkdtempSync(join(tmpdir(), 'srt-settings-'))
const sentences = []
// `content` is the text of the file, or what stands there instead.
function run(name, file, content) {
  const path = join(home, file)
  if (content === 'DIRECTORY') mkdirSync(path)
  else if (content === 'LOOP') symlinkSync(path, path)
  else if (content !== undefined) writeFileSync(path, content)
  const named = file === '.srt-settings.json' ? [] : ['--settings', path]
  const ran = spawnSync(process.execPath, [join(srt, 'dist/cli.js'), ...named, '--', 'true'], { env: { PATH: process.env.PATH, HOME: home }, cwd: home, encoding: 'utf8' })
  if (content !== undefined) rmSync(path, { recursive: true })
  sentences.push({ name, file, settings: content, status: ran.status, stdout: ran.stdout, stderr: ran.stderr.replaceAll(path, 'FILE') })
}
run('no settings file', '.srt-settings.json')
run('named but missing', 'missing.json')
for (const file of ['.srt-settings.json', 'named.json']) {
  run(`empty (${file})`, file, '')
  run(`blank (${file})`, file, ' \n\t ')
  run(`not JSON (${file})`, file, '{"network": }')
  run(`root is an array (${file})`, file, '[]')
  run(`one problem (${file})`, file, JSON.stringify(at('network.allowedDomains', ['*'])))
  run(`a directory (${file})`, file, 'DIRECTORY')
  run(`a link to itself (${file})`, file, 'LOOP')
  run(`three problems (${file})`, file, '{"network":{"allowedDomains":[1]}}')
}
writeFileSync(join(home, 'file'), '')
run('below a file', join('file', 'named.json'))
run('plain', 'named.json', JSON.stringify(at('network.allowedDomains', [], at('filesystem.allowWrite', []))))
run('tlsTerminate and mitmProxy', 'named.json', JSON.stringify(at('network.mitmProxy', samples['network.mitmProxy'], at('network.tlsTerminate', {}))))
rmSync(home, { recursive: true })
write('srt_cli.json', { srt: version, cases: sentences })
console.log(`${cases.length} settings files (${cases.filter(each => each.valid).length} valid), ${sentences.length} runs of srt ${version}`)
process.exit(0)
