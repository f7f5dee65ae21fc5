// Uses a library as an agent would, and prints what came of it as JSON: by name of
// the scene, the result. Run with the real sandbox-runtime to record
// tests/compat/srt_library.json, with cloche to compare:
//
//   npm install --ignore-scripts --force @anthropic-ai/sandbox-runtime@0.0.83
//   node library.mjs node_modules/@anthropic-ai/sandbox-runtime/dist/index.js >../compat/srt_library.json
//
// All is done in a directory that is made for it. Traffic goes to loopback only.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import os from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const library = pathToFileURL(resolve(process.argv[2])).href
const parent = process.argv[3] ?? os.homedir()
const place = realpathSync(mkdtempSync(join(parent, 'cloche-scenes-')))
const outside = join(place, 'outside') // may not be written
for (const name of ['work', 'home', 'outside']) mkdirSync(join(place, name))
process.chdir(join(place, 'work'))
process.env.HOME = join(place, 'home')

const lib = await import(library)
const { SandboxManager, SandboxViolationStore } = lib

const origin = createServer((request, response) => response.end(`page of ${request.headers.host}\n`))
await new Promise(done => origin.listen(0, '127.0.0.1', done))
const port = origin.address().port

const base = (network = {}, filesystem = {}, more = {}) => ({
  network: { allowedDomains: [], deniedDomains: [], ...network },
  filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [], ...filesystem },
  ...more,
})

// What a child of ours gave: status, output, errors.
function run(text) {
  return new Promise(done => {
    const child = spawn('bash', ['-c', text], { stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', data => (stdout += data))
    child.stderr.on('data', data => (stderr += data))
    child.on('close', (status, signal) => done({ status: status ?? signal, stdout, stderr }))
  })
}

async function wrapped(command, ...more) {
  const ran = await run(await SandboxManager.wrapWithSandbox(command, ...more))
  SandboxManager.cleanupAfterCommand()
  // The observer's and the proxy's words may come a moment after the end.
  await new Promise(done => setTimeout(done, 60))
  return ran
}

// Through the proxy whatever NO_PROXY says; only its status is looked at.
const fetched = address =>
  `curl -s -o /dev/null -w '%{http_code} ' --max-time 10 --noproxy '' -x "$HTTP_PROXY" http://${address}/`
const tunnelled = address =>
  `curl -s -p -o /dev/null -w '%{http_connect} ' --max-time 10 --noproxy '' -x "$HTTP_PROXY" http://${address}/`

const lines = () => SandboxManager.getSandboxViolationStore().getViolations().map(violation => violation.line)

async function thrown(work) {
  try {
    await work()
    return 'nothing'
  } catch (error) {
    return { name: error.constructor.name, code: error.code, message: error.message }
  }
}

const scenes = {
  'before initialize': async () => ({
    enabled: SandboxManager.isSandboxingEnabled(),
    supported: SandboxManager.isSupportedPlatform(),
    config: SandboxManager.getConfig(),
    read: SandboxManager.getFsReadConfig(),
    write: SandboxManager.getFsWriteConfig(),
    network: SandboxManager.getNetworkRestrictionConfig(),
    waited: await SandboxManager.waitForNetworkInitialization(),
    annotated: SandboxManager.annotateStderrWithSandboxFailures('x', 'words'),
    reasons: SandboxManager.askCallbackDenyReason,
    warnings: SandboxManager.getLinuxGlobPatternWarnings(),
  }),

  'getters after initialize': async () => {
    const config = base(
      { allowedDomains: ['a.test'], deniedDomains: ['b.test'], allowUnixSockets: ['/x'], allowLocalBinding: true },
      { denyRead: ['~/.npm', '/secret/**'], allowRead: ['/secret/open'], denyWrite: ['src', { path: 'a[1]', literal: true }] },
      { ignoreViolations: { '*': ['/x'] }, enableWeakerNestedSandbox: false },
    )
    await SandboxManager.initialize(config)
    const seen = {
      enabled: SandboxManager.isSandboxingEnabled(),
      same: SandboxManager.getConfig() === config,
      read: SandboxManager.getFsReadConfig(),
      write: SandboxManager.getFsWriteConfig(),
      network: SandboxManager.getNetworkRestrictionConfig(),
      sockets: SandboxManager.getAllowUnixSockets(),
      binding: SandboxManager.getAllowLocalBinding(),
      ignored: SandboxManager.getIgnoreViolations(),
      weaker: SandboxManager.getEnableWeakerNestedSandbox(),
      waited: await SandboxManager.waitForNetworkInitialization(),
    }
    await SandboxManager.reset()
    return { ...seen, enabledAfterReset: SandboxManager.isSandboxingEnabled() }
  },

  'commands run and keep their status': async () => {
    await SandboxManager.initialize(base())
    const out = []
    for (const command of ['echo "a  b" | tr a c', 'exit 7', 'kill -TERM $$', "echo 'it''s' \"$((1+1))\" !x", 'nowhere-to-be-found', 'cat <<EOF\n$HOME\nEOF'])
      out.push({ command, ...(await wrapped(command)) })
    await SandboxManager.reset()
    return out.map(({ command, status, stdout }) => ({ command, status, stdout }))
  },

  'the shell that was named': async () => {
    await SandboxManager.initialize(base())
    const seen = {
      sh: (await wrapped('echo ${BASH_VERSION:-none}', 'sh')).stdout,
      bash: (await wrapped('echo ${BASH_VERSION:+bash}')).stdout,
      missing: (await thrown(() => SandboxManager.wrapWithSandbox('true', 'no-such-shell'))).message,
      argv: await (async () => {
        const { argv, env } = await SandboxManager.wrapWithSandboxArgv('echo hi')
        const child = spawn(argv[0], argv.slice(1), { env, stdio: ['ignore', 'pipe', 'inherit'] })
        let stdout = ''
        child.stdout.on('data', data => (stdout += data))
        return new Promise(done => child.on('close', status => done({ status, stdout })))
      })(),
    }
    SandboxManager.cleanupAfterCommand()
    await SandboxManager.reset()
    return seen
  },

  'what may be written and read': async () => {
    mkdirSync('src')
    mkdirSync('secret')
    writeFileSync('secret/key', 'key\n')
    writeFileSync('src/a', 'a\n')
    await SandboxManager.initialize(base({}, { denyRead: ['secret'], denyWrite: ['src/a'] }))
    const out = []
    for (const command of [
      'echo x >new && cat new',
      'echo x >src/a',
      'echo x >src/b',
      'cat secret/key',
      `touch ${outside}/zz`,
      'echo x >.bashrc',
      'touch "$TMPDIR/x" 2>/dev/null; echo "$SANDBOX_RUNTIME"',
    ])
      out.push({ command, failed: (await wrapped(command)).status !== 0 })
    await SandboxManager.reset()
    return out
  },

  'per-call configuration': async () => {
    mkdirSync('elsewhere')
    await SandboxManager.initialize(base())
    const out = {
      replaced: (await wrapped('echo x >here', undefined, { filesystem: { denyRead: [], allowWrite: ['elsewhere'], denyWrite: [] } })).status,
      there: (await wrapped('echo x >elsewhere/y', undefined, { filesystem: { denyRead: [], allowWrite: ['elsewhere'], denyWrite: [] } })).status,
      afterwards: (await wrapped('echo x >here')).status,
      disabled: (await wrapped('echo x >/dev/null; touch ../other', undefined, { filesystem: { denyRead: [], allowWrite: [], denyWrite: [], disabled: true } })).status,
    }
    rmSync('../other', { force: true })
    await SandboxManager.reset()
    return out
  },

  'order of the checks for a host': async () => {
    const asked = []
    const ask = async ({ host, port: to }) => {
      asked.push(`${host}:${to}`)
      if (host === '127.0.0.1') return true
      if (host === 'reasoned.test') return { allow: false, reason: 'use <the> mirror\ninstead' }
      if (host === 'thrown.test') throw new Error('no')
      if (host === 'truthy.test') return 'yes'
      return false
    }
    await SandboxManager.initialize(
      base({ allowedDomains: ['listed.test'], deniedDomains: ['evil.test', 'reason.test'], deniedDomainReasons: { 'reason.test': 'no evil please' } }),
      ask,
    )
    const statuses = {}
    const hosts = ['evil.test', 'reason.test', 'unknown.test', 'reasoned.test', 'thrown.test', 'truthy.test', `127.0.0.1:${port}`]
    for (const host of hosts) statuses[host.replace(String(port), 'PORT')] = (await wrapped(fetched(host))).stdout.trim()
    const tunnels = { 'reason.test:443': (await wrapped(tunnelled('reason.test:443'))).stdout.trim() }
    const seen = { statuses, tunnels, asked: asked.map(host => host.replace(String(port), 'PORT')), lines: lines() }
    SandboxManager.getSandboxViolationStore().clear()
    await SandboxManager.reset()
    return seen
  },

  'strictAllowlist asks nobody': async () => {
    let asked = 0
    await SandboxManager.initialize(base({ strictAllowlist: true }), async () => (asked++, true))
    const status = (await wrapped(fetched(`127.0.0.1:${port}`))).stdout.trim()
    const seen = { status, asked, lines: lines().map(line => line.replace(String(port), 'PORT')) }
    SandboxManager.getSandboxViolationStore().clear()
    await SandboxManager.reset()
    return seen
  },

  'lists of one command': async () => {
    await SandboxManager.initialize(base({ deniedDomains: ['evil.test'] }))
    const id = 'an-id-of-22-characters-or-more'
    SandboxManager.registerCommandNetworkLists(id, { allowedDomains: [`127.0.0.1:${port}`, 'evil.test'] })
    const options = { commandId: id, commandText: 'the text' }
    const seen = {
      named: (await wrapped(fetched(`127.0.0.1:${port}`), undefined, undefined, undefined, options)).stdout.trim(),
      denied: (await wrapped(fetched('evil.test'), undefined, undefined, undefined, options)).stdout.trim(),
      other: (await wrapped(fetched(`127.0.0.1:${port}`))).stdout.trim(),
    }
    const found = SandboxManager.getSandboxViolationStore().getViolationsForCommand(id)
    seen.attributed = found.map(({ line, command }) => ({ line, command }))
    SandboxManager.unregisterCommandNetworkLists(id)
    seen.afterwards = (await wrapped(fetched(`127.0.0.1:${port}`), undefined, undefined, undefined, options)).stdout.trim()
    seen.short = (await thrown(() => SandboxManager.registerCommandNetworkLists('short', {}))) !== 'nothing'
    seen.wrong = (await thrown(() => SandboxManager.registerCommandNetworkLists(id, { allowedDomains: ['*.com'] }))).message
    seen.notAList = (await thrown(() => SandboxManager.registerCommandNetworkLists(id, { allowedDomains: 'x' }))).message
    SandboxManager.getSandboxViolationStore().clear()
    await SandboxManager.reset()
    return seen
  },

  'updateConfig reaches what was wrapped before': async () => {
    await SandboxManager.initialize(base())
    const text = await SandboxManager.wrapWithSandbox(fetched(`127.0.0.1:${port}`))
    SandboxManager.updateConfig(base({ allowedDomains: [`127.0.0.1:${port}`] }))
    const opened = (await run(text)).stdout.trim()
    SandboxManager.updateConfig(base({ deniedDomains: ['127.0.0.1'] }))
    const again = (await run(text)).stdout.trim()
    SandboxManager.cleanupAfterCommand()
    await new Promise(done => setTimeout(done, 150))
    SandboxManager.getSandboxViolationStore().clear()
    await SandboxManager.reset()
    return { opened, again }
  },

  'violations of files': async () => {
    await SandboxManager.initialize(base({}, {}, { ignoreViolations: { quiet: ['/outside'], '*': ['/outside/never'] } }), undefined, true)
    await wrapped(`echo x >${outside}/zz; mkdir ${outside}/dd; echo x >${outside}/never`)
    await wrapped(`: quiet; echo x >${outside}/quiet`)
    const store = SandboxManager.getSandboxViolationStore()
    const seen = {
      lines: lines(),
      annotated: SandboxManager.annotateStderrWithSandboxFailures(`echo x >${outside}/zz; mkdir ${outside}/dd; echo x >${outside}/never`, 'words'),
      other: SandboxManager.annotateStderrWithSandboxFailures('something else', 'words'),
    }
    store.clear()
    await SandboxManager.reset()
    return seen
  },

  'violations without the monitor': async () => {
    await SandboxManager.initialize(base())
    await wrapped(`echo x >${outside}/zz`)
    const seen = lines()
    await SandboxManager.reset()
    return seen
  },

  'the environment inside': async () => {
    await SandboxManager.initialize(base({ allowedDomains: ['a.test'] }))
    const inside = (await wrapped('env -0')).stdout.split('\0').filter(Boolean)
    await SandboxManager.reset()
    const out = {}
    for (const variable of inside.sort()) {
      const [name, ...value] = variable.split('=')
      if (process.env[name] === value.join('=') || /^(_|SHLVL|PWD|OLDPWD)$/.test(name)) continue
      out[name] = value.join('=').replace(/[0-9a-f]{32}/g, 'TOKEN').replace(/^\d{5}$/, 'PORT').replace(/-javaagent:.*/, 'AGENT')
    }
    return out
  },

  'answers of the proxy': async () => {
    await SandboxManager.initialize(base({ allowedDomains: ['127.0.0.1:1'], deniedDomains: ['evil.test'], deniedDomainReasons: { 'evil.test': 'no evil' } }))
    const proxy = `--max-time 10 --noproxy '' -x "$HTTP_PROXY"`
    const first = text => text.split('\r\n').filter(line => /^HTTP|^X-Proxy-Error/i.test(line))
    const seen = {
      plain: (await wrapped(`curl -si ${proxy} http://other.test/`)).stdout,
      tunnel: (await wrapped(`curl -sv -p -o /dev/null ${proxy} http://evil.test:443/ 2>&1 | grep -a '^< ' | cut -c3-`)).stdout,
      dead: (await wrapped(`curl -s -o /dev/null -w '%{http_code}' ${proxy} http://127.0.0.1:1/`)).stdout,
      socks: (await wrapped(`curl -s --max-time 10 --noproxy '' -x "$FTP_PROXY" http://other.test/; echo $?`)).stdout,
      noToken: (await wrapped(`curl -si --max-time 10 --noproxy '' -x http://localhost:3128 http://other.test/`)).stdout,
      direct: (await wrapped('exec 3<>/dev/tcp/192.0.2.1/80')).stderr.split(':').at(-1).trim(),
      loopback: (await wrapped(`exec 3<>/dev/tcp/127.0.0.1/${port}`)).stderr.split(':').at(-1).trim(),
    }
    SandboxManager.getSandboxViolationStore().clear()
    await SandboxManager.reset()
    return { ...seen, plain: [first(seen.plain), seen.plain.split('\r\n\r\n').at(-1)], noToken: first(seen.noToken), tunnel: first(seen.tunnel) }
  },

  'keys of the configuration': async () => {
    process.env.SOME_SECRET = 'secret'
    mkdirSync('tree/inner', { recursive: true })
    writeFileSync('tree/inner/f', 'f\n')
    writeFileSync('tree/g', 'g\n')
    writeFileSync('a.hidden', 'hidden\n')
    mkdirSync('repository')
    await run('git init -q repository')
    const python = text => `python3 -c '${text}'`
    const cases = [
      ['allowRead within denyRead', {}, { denyRead: ['tree'], allowRead: ['tree/inner'] }, {}, 'cat tree/inner/f; cat tree/g'],
      ['a literal entry', {}, { denyRead: [{ path: 'tree/g', literal: true }] }, {}, 'cat tree/g; cat tree/inner/f'],
      ['a pattern for reading', {}, { denyRead: ['*.hidden'] }, {}, 'cat a.hidden; echo on'],
      ['a trailing /**', {}, { allowWrite: ['tree/**'] }, {}, 'echo x >tree/new && echo written; echo x >outside-tree'],
      ['denyWrite above allowWrite', {}, { allowWrite: ['tree/inner'], denyWrite: ['tree'] }, {}, 'echo x >tree/inner/new && echo written'],
      ['allowWrite of what is absent', {}, { allowWrite: ['absent/dir'] }, {}, 'mkdir -p absent/dir && echo made'],
      ['allowGitConfig off', {}, {}, {}, 'cd repository && echo "[alias] x = !true" >>.git/config && echo written'],
      ['allowGitConfig on', {}, { allowGitConfig: true }, {}, 'cd repository && echo "[alias] x = !true" >>.git/config && echo written; echo x >.git/hooks/post-commit && echo hook'],
      ['git.safeDirectories', {}, {}, { git: { safeDirectories: ['/some/where'] } }, 'git config --get-all safe.directory'],
      ['filesystem.disabled', {}, { disabled: true, allowWrite: [] }, {}, `echo x >${outside}/disabled && echo written; rm -f ${outside}/disabled`],
      ['a variable that is denied', {}, {}, { credentials: { envVars: [{ name: 'SOME_SECRET', mode: 'deny' }] } }, 'echo "[$SOME_SECRET]"'],
      ['a file that is denied', {}, {}, { credentials: { files: [{ path: 'tree/g', mode: 'deny' }] } }, 'cat tree/g; echo on'],
      ['unix sockets', {}, {}, {}, python('import socket; socket.socket(socket.AF_UNIX)') + ' && echo made'],
      ['allowAllUnixSockets', { allowAllUnixSockets: true }, {}, {}, python('import socket; socket.socket(socket.AF_UNIX)') + ' && echo made'],
      ['a server inside', {}, {}, {}, python('import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); s.listen(); print(1)')],
      ['user namespaces', {}, {}, {}, 'unshare -U true && echo made'],
      ['allowNestedUserNamespaces', {}, {}, { allowNestedUserNamespaces: true }, 'unshare -U true && echo made'],
      ['protected names', {}, {}, {}, 'for n in .gitconfig .gitmodules .bashrc .bash_profile .zshrc .zprofile .profile .ripgreprc .mcp.json .vscode/x .idea/x .claude/commands/x .claude/agents/x; do mkdir -p $(dirname $n) && echo x >$n && echo $n; done'],
      ['processes of the host', {}, {}, {}, `kill -0 ${process.pid} && echo seen`],
      ['ports of the external proxy', { httpProxyPort: port, socksProxyPort: port }, {}, {}, `curl -s --noproxy '' -x http://localhost:3128 http://any.test/`],
    ]
    const out = {}
    for (const [name, network, filesystem, more, command] of cases) {
      await SandboxManager.initialize(base(network, filesystem, more))
      out[name] = (await wrapped(command)).stdout
      await SandboxManager.reset()
    }
    delete process.env.SOME_SECRET
    SandboxManager.getSandboxViolationStore().clear()
    return out
  },

  'the store': () => {
    const store = new SandboxViolationStore()
    const told = []
    const stop = store.subscribe(list => told.push(list.length))
    const encodedCommand = Buffer.from('c'.repeat(100)).toString('base64')
    for (let i = 0; i < 105; i++) store.addViolation({ line: `deny ${i}`, encodedCommand: i % 2 ? encodedCommand : undefined, timestamp: new Date(0) })
    store.addViolation({ line: ' a\n<b>\u202e\u200b\u0007c\u009b ', timestamp: new Date(0) })
    const seen = {
      count: store.getCount(),
      total: store.getTotalCount(),
      last: store.getViolations(2),
      first: store.getViolations()[0],
      none: store.getViolations(0).length,
      ofCommand: store.getViolationsForCommand('c'.repeat(150)).length,
      told: [told[0], told.at(-1), told.length],
    }
    stop()
    store.clear()
    return { ...seen, cleared: [store.getCount(), store.getTotalCount(), told.length] }
  },

  'default write paths': () => [
    lib.getDefaultWritePaths(),
    lib.getDefaultWritePaths({ denyRead: ['~/.npm'] }),
    lib.getDefaultWritePaths({ denyRead: ['~/.npm/**'], allowRead: ['~/.npm/_logs'] }),
    lib.getDefaultWritePaths({ denyRead: ['~'], allowRead: ['~/.claude'] }),
    lib.getDefaultWritePaths({ denyRead: ['~/.cl*'] }),
    lib.getDefaultWritePaths({ denyRead: ['/etc', '/**/debug'] }),
    lib.writeRootsOf({ allowOnly: ['/a'], literalAllowOnly: ['/b'], denyWithinAllow: ['/c'] }),
  ],

  'git configuration': () => [
    lib.buildGitConfigEnv({ safeDirs: ['/a/', '/a', '/', undefined, 'C:\\'] }),
    lib.buildGitConfigEnv({ safeDirs: ['/a'], baseEnv: { GIT_CONFIG_COUNT: '2' } }),
    lib.buildGitConfigEnv({ safeDirs: ['/a'], baseEnv: { GIT_CONFIG_COUNT: '0' } }),
    lib.buildGitConfigEnv({ safeDirs: [], opensslBackend: true, schannelCa: true }),
    lib.buildGitConfigEnv({ safeDirs: [] }),
    lib.buildGitConfigEnv({ safeDirs: Array.from({ length: 9 }, (_, i) => `/d${i}`) }),
  ],

  'two initializes at once': async () => {
    const config = base()
    const first = SandboxManager.initialize(config)
    const same = await thrown(() => SandboxManager.initialize(base()))
    await first
    const other = SandboxManager.initialize(base())
    await other
    await SandboxManager.reset()
    const running = SandboxManager.initialize(base())
    const conflict = await thrown(() => SandboxManager.initialize(base({ allowedDomains: ['a.test'] })))
    await running
    await SandboxManager.reset()
    const cancelled = SandboxManager.initialize(base())
    await SandboxManager.reset()
    return { same, conflict, cancelled: (await thrown(() => cancelled)).message }
  },

  'names that are exported': () =>
    Object.keys(lib)
      .filter(name => !/windows|SrtWin|SRT_WIN|isUncPath/i.test(name) && name !== 'default')
      .sort(),

  'methods of the manager': () => Object.keys(SandboxManager).filter(name => !/Windows|spawnSandboxed/.test(name)).sort(),
}

const wanted = process.argv[4]
const results = {}
for (const [name, scene] of Object.entries(scenes)) {
  if (wanted && wanted !== name) continue
  results[name] = await scene()
}
const text = JSON.stringify(results, (_, value) => (value === undefined ? null : value), 1)
  .replaceAll(process.env.HOME, 'HOME')
  .replaceAll(place, 'HERE')
rmSync(place, { recursive: true, force: true })
process.stdout.write(`${text}\n`)
process.exit(0)
