// The limits of sandbox-runtime on Linux (its README, and what was found by running
// it), each turned into something that works here.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import os from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Sandbox, SandboxRuntimeConfigSchema } from 'cloche'
import { base, runText, until } from './helpers.mjs'

const home = os.homedir()
const origin = createHttpServer((request, response) => response.end('page\n'))
let port
before(async () => {
  await new Promise(done => origin.listen(0, '127.0.0.1', done))
  port = origin.address().port
})
after(() => origin.close())

async function run(config, command, options) {
  const sandbox = new Sandbox(config, options)
  const ran = await runText(await sandbox.wrapWithSandbox(command))
  ran.lines = sandbox.getSandboxViolationStore().getViolations().map(({ line }) => line)
  await sandbox.reset({ force: true })
  return ran
}

test('programs that know nothing of proxies reach what is allowed, on loopback too (10)', async () => {
  writeFileSync('client.mjs', `console.log(await (await fetch('http://127.0.0.1:${port}/')).text())`)
  const config = base({ allowedDomains: [], hostPorts: [port] })
  const ran = await run(config, 'env -u HTTP_PROXY -u http_proxy node client.mjs; curl -s http://127.0.0.1:' + port)
  assert.equal(ran.stdout, 'page\n\npage\n', ran.stderr)
  const denied = await run(base(), 'env -u HTTP_PROXY -u http_proxy node client.mjs')
  assert.notEqual(denied.status, 0)
})

test('single unix sockets of the host can be named; datagrams do not slip through (2)', async () => {
  const answering = name =>
    new Promise(done => {
      const server = createServer(socket => socket.end(`from ${name}\n`))
      server.listen(name, () => done(server))
    })
  const servers = [await answering('allowed.sock'), await answering('other.sock')]
  const ask = name => `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('${name}'); print(s.recv(99).decode(), end='')"`
  const config = base({ allowUnixSockets: [join(process.cwd(), 'allowed.sock')] })
  const ran = await run(config, `${ask('allowed.sock')}; ${ask('other.sock')} 2>/dev/null || echo refused`)
  assert.equal(ran.stdout, 'from allowed.sock\nrefused\n', ran.stderr)
  const dgram = `python3 -c "
import socket, os
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.connect('dgram.sock'); a.send(b'x')"`
  const receiver = `python3 -c "
import socket, subprocess, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('dgram.sock'); s.settimeout(0.5)
print(subprocess.run(sys.argv[1], shell=True, stderr=subprocess.DEVNULL).returncode != 0)
try: print(s.recv(9))
except TimeoutError: print('nothing')" `
  const sandbox = new Sandbox(base())
  const text = await sandbox.wrapWithSandbox(dgram)
  const sent = spawnSync('bash', ['-c', `${receiver} "$TEXT"`], { env: { ...process.env, TEXT: text }, encoding: 'utf8' })
  assert.equal(sent.stdout, 'True\nnothing\n', sent.stderr)
  await sandbox.reset({ force: true })
  for (const server of servers) server.close()
})

test('violations are told without strace (15)', async () => {
  const ran = await run(base(), 'echo x >~/x; mkdir ~/y', { enableLogMonitor: true })
  assert.deepEqual(ran.lines, [`deny openat ${home}/x`, `deny mkdir ${home}/y`])
})

async function held(config, command, expected) {
  assert.equal((await run(config, command)).stdout, expected)
}

test('patterns are held, for files that come later too (6)', async () => {
  writeFileSync('a.key', 'old\n')
  writeFileSync('a.pem', 'secret\n')
  await held(base({}, { denyWrite: ['*.key'] }), 'echo x >a.key; echo x >b.key; cat a.key', 'old\n')
  await held(base({}, { denyRead: ['/**/*.pem'] }), 'cat a.pem; echo on', 'on\n')
  await held(base({}, { denyRead: ['*.pem'] }), 'cat a.pem; echo on', 'on\n')
  await held(base({}, { denyRead: ['**/*.pem'] }), 'echo x >later.pem; cat later.pem; mv a.pem a.txt; cat a.txt; echo on', 'on\n')
  assert.ok(!existsSync('b.key'))
  const sandbox = new Sandbox(base({}, { denyWrite: ['*.key'] }))
  await sandbox.waitForNetworkInitialization()
  assert.deepEqual(sandbox.getLinuxGlobPatternWarnings(), [])
  await sandbox.reset()
})

test('nothing is made on the host: no placeholders, no phantom files, git sees none (7)', async () => {
  mkdirSync('repository')
  const seen = await runText('cd repository && git init -q . && ls -A')
  const sandbox = new Sandbox(base())
  const text = await sandbox.wrapWithSandbox('ls -A; git status --porcelain; git add -A; echo "status $?"; echo ready; read line')
  const running = runText(text, { cwd: 'repository', input: 'pipe' })
  await running.saw('ready')
  assert.deepEqual(readdirSync('repository'), ['.git'], 'while it runs')
  running.child.stdin.end('\n')
  assert.equal((await running).stdout, `${seen.stdout}status 0\nready\n`)
  assert.deepEqual(readdirSync('repository'), ['.git'])
  await until(async () => sandbox.reset().then(() => true, () => false), 'reset')
})

test('one run does not open what another protects (1)', async () => {
  const sandbox = new Sandbox(base())
  const second = runText(await sandbox.wrapWithSandbox('echo ready; read line; echo x >.bashrc || echo held; mkdir .vscode || echo held'), { input: 'pipe' })
  await second.saw('ready')
  await runText(await sandbox.wrapWithSandbox('true'))
  second.child.stdin.end('\n')
  assert.match((await second).stdout, /held\nheld\n/)
  assert.ok(!existsSync('.bashrc') && !existsSync('.vscode'))
  await until(async () => sandbox.reset().then(() => true, () => false), 'reset')
})

test('protected names are protected wherever can be written, at any depth (5)', async () => {
  mkdirSync('deep/er/and/deeper/.git/hooks', { recursive: true })
  mkdirSync('sub')
  const names = ['.bashrc', '.gitconfig', '.zshenv', '.envrc', 'deep/er/and/deeper/.bashrc', 'deep/er/and/deeper/.git/hooks/pre-commit']
  const ran = await run(base({}, { allowWrite: ['~', '.'] }), names.map(name => `echo x >${name} && echo "${name} was written"`).join('; ') + '; echo x >plain && echo plain')
  assert.equal(ran.stdout, 'plain\n')
  assert.deepEqual(names.filter(existsSync), [])
  const parent = new Sandbox(base({}, { allowWrite: ['..', '.'] }))
  mkdirSync('.git/hooks', { recursive: true })
  const below = await runText(await parent.wrapWithSandbox('echo x >../.git/hooks/post-checkout || echo held'), { cwd: 'sub' })
  assert.match(below.stdout, /held/)
  await parent.reset({ force: true })
})

test('denied variables are not found in /proc/1 either (3)', async () => {
  process.env.SOME_SECRET = 'value-that-is-secret'
  const config = base({ allowAllUnixSockets: true }, {}, { credentials: { envVars: [{ name: 'SOME_SECRET', mode: 'deny' }] } })
  const ran = await run(config, 'echo "[$SOME_SECRET]"; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n" | grep value-that || echo none')
  delete process.env.SOME_SECRET
  assert.equal(ran.stdout, '[]\nnone\n')
})

test("the host's System V memory is not there (4)", async () => {
  const made = spawnSync('ipcmk', ['-M', '64'], { encoding: 'utf8' })
  const id = /id: (\d+)/.exec(made.stdout)[1]
  try {
    const ran = await run(base(), `ipcs -m | grep -c '^0x' ; ipcrm -m ${id} 2>/dev/null || echo held`)
    assert.equal(ran.stdout, '0\nheld\n')
  } finally {
    assert.equal(spawnSync('ipcrm', ['-m', id]).status, 0, 'it was still there')
  }
})

test('nothing is left running when the wrapped command is killed (8)', async () => {
  const sandbox = new Sandbox(base())
  const running = runText(`exec ${await sandbox.wrapWithSandbox('(sleep 1234.5 &) ; echo started; sleep 1234.5')}`)
  await running.saw('started')
  const sleeping = () => spawnSync('pgrep', ['-u', String(process.getuid()), '-fx', 'sleep 1234.5'], { encoding: 'utf8' }).stdout
  assert.notEqual(sleeping(), '')
  running.child.kill('SIGKILL')
  await until(() => sleeping() === '', 'all have ended')
  await until(async () => sandbox.reset().then(() => true, () => false), 'reset')
})

test('TMPDIR is there and can be written (9)', async () => {
  const ran = await run(base(), 'f=$(mktemp) && echo x >"$f" && cat "$f" && rm "$f"')
  assert.deepEqual([ran.status, ran.stdout], [0, 'x\n'], ran.stderr)
})

test('hiding /tmp or the place of the library breaks nothing (11)', async () => {
  const ran = await run(base({ allowedDomains: [`127.0.0.1:${port}`] }, { denyRead: ['/tmp', home] , allowRead: [process.cwd()] }),
    `curl -s --noproxy '' -x "$HTTP_PROXY" http://127.0.0.1:${port}/`)
  assert.deepEqual([ran.status, ran.stdout], [0, 'page\n'], ran.stderr)
})

test('what is allowed to be written below allowRead below denyRead can be written (12)', async () => {
  mkdirSync('hidden/open/work', { recursive: true })
  const ran = await run(base({}, { denyRead: ['hidden'], allowRead: ['hidden/open'], allowWrite: ['hidden/open/work'] }), 'echo x >hidden/open/work/y && cat hidden/open/work/y')
  assert.deepEqual([ran.status, ran.stdout], [0, 'x\n'], ran.stderr)
})

test('a sandbox in a sandbox, where it is asked for (14)', async () => {
  const ran = await run(base({}, {}, { allowNestedUserNamespaces: true }), 'unshare -U true && echo nested')
  assert.equal(ran.stdout, 'nested\n', ran.stderr)
  assert.notEqual((await run(base(), 'unshare -U true 2>/dev/null')).status, 0)
})

test('many denied files, by pattern or by name', async () => {
  mkdirSync('many')
  for (let i = 0; i < 300; i++) {
    mkdirSync(`many/${i}`)
    writeFileSync(`many/${i}/x.secret`, 's')
  }
  const command = 'cat many/7/x.secret many/299/x.secret 2>/dev/null || echo hidden'
  await held(base({}, { denyRead: [join(process.cwd(), 'many/**/*.secret')] }), command, 'hidden\n')
  const listed = Array.from({ length: 300 }, (_, i) => `many/${i}/x.secret`)
  assert.equal((await run(base({}, { denyRead: listed }), command)).stdout, 'hidden\n')
})

test('a filter in place of a switch: all domains, with the deny list and the guard still in force', async () => {
  const config = base({ allowedDomains: ['*'], deniedDomains: ['evil.test'] })
  const ran = await run(config, "for host in evil.test 'localhost:1'; do curl -s -o /dev/null -w '%{http_code} ' --noproxy '' -x \"$HTTP_PROXY\" http://$host/; done")
  assert.equal(ran.stdout, '403 403 ')
  assert.ok(SandboxRuntimeConfigSchema.safeParse(config).success)
})

