// What the package does beyond the scenes that are compared with sandbox-runtime.
import assert from 'node:assert/strict'
import { fork, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import os from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import * as cloche from 'cloche'
import { base, delay, fetched, runText, until } from './helpers.mjs'

const { Sandbox, SandboxManager } = cloche
const origin = createServer((request, response) => response.end('page\n'))
let port

before(async () => {
  await new Promise(done => origin.listen(0, '127.0.0.1', done))
  port = origin.address().port
})
after(async () => {
  await SandboxManager.reset({ force: true })
  origin.close()
})

test('import and require give the same', () => {
  const required = createRequire(import.meta.url)('cloche')
  assert.equal(required.SandboxManager, SandboxManager)
  assert.deepEqual(Object.keys(required).sort(), Object.keys(cloche).filter(name => name !== 'default').sort())
  assert.equal(cloche.default, required)
  assert.equal(required.version, createRequire(import.meta.url)('cloche/package.json').version)
})

test("commands of a sandbox share a /tmp if they are to, and nobody else's", async () => {
  const config = tmp => base({}, { tmp })
  const said = async (sandbox, command) => {
    const ran = await runText(await sandbox.wrapWithSandbox(command))
    return ran.stdout + (ran.status ? `(${ran.status})` : '')
  }
  const [one, two, apart] = ['session', 'session', 'private'].map(tmp => new Sandbox(config(tmp)))
  assert.equal(await said(one, 'echo one >/tmp/note; mkfifo /tmp/pipe; echo $TMPDIR; mktemp | cut -c1-5'), '/tmp\n/tmp/\n')
  assert.equal(await said(two, 'ls -A /tmp; echo two >/tmp/note'), '')
  assert.equal(await said(one, 'cat /tmp/note'), 'one\n')
  const [got] = await Promise.all([said(one, 'cat /tmp/pipe'), said(one, 'echo word >/tmp/pipe')])
  assert.equal(got, 'word\n')
  assert.equal(await said(apart, 'echo three >/tmp/note'), '')
  assert.equal(await said(apart, 'cat /tmp/note 2>/dev/null'), '(1)')
  assert.equal(await said(apart, 'echo $TMPDIR'), '/tmp\n')

  const kept = await one.wrapWithSandbox('cat /tmp/note')
  one.updateConfig(config('session'))
  assert.equal((await runText(kept)).stdout, 'one\n')
  assert.equal(await said(one, 'cat /tmp/note'), 'one\n')
  await one.reset()
  const late = await runText(kept)
  assert.ok(late.status !== 0 && /has whoever holds it ended/.test(late.stderr), late.stderr)
  const holder = Number(/--session-tmp \/proc\/(\d+)\//.exec(await two.wrapWithSandbox('true'))[1])
  process.kill(holder, 'SIGKILL')
  await until(() => !existsSync(`/proc/${holder}/fd`))
  await assert.rejects(async () => { for (;;) { await two.wrapWithSandbox('true'); await delay(5) } }, { code: 'session_tmp_gone' })
  await two.reset()
  await apart.reset()
})

test('the process that holds a /tmp ends with the program', async () => {
  const program = `const { Sandbox } = require('cloche')
    new Sandbox(${JSON.stringify(base({}, { tmp: 'session' }))})
      .wrapWithSandbox('true').then(text => { console.log(text); if (process.argv[1] === 'killed') process.kill(process.pid, 9) })`
  for (const how of ['ends', 'killed']) {
    const ran = spawnSync(process.execPath, ['-e', program, how], { encoding: 'utf8', timeout: 60000 })
    const holder = /--session-tmp \/proc\/(\d+)\//.exec(ran.stdout)
    assert.ok(holder, ran.stderr)
    await until(() => !existsSync(`/proc/${holder[1]}/fd/4`))
  }
})

test("Mom: folders of a channel, each command wrapped, then reset", async () => {
  mkdirSync('data/channel/scratchpad', { recursive: true })
  mkdirSync('data/other', { recursive: true })
  writeFileSync('data/channel/notes', 'notes\n')
  writeFileSync('data/other/notes', 'theirs\n')
  await SandboxManager.initialize({
    network: { allowedDomains: ['*'], deniedDomains: [] },
    filesystem: {
      readMode: 'listed',
      allowRead: ['data/channel'],
      denyRead: [],
      allowWrite: ['data/channel/scratchpad'],
      denyWrite: [],
    },
  })
  const bash = async command => {
    const ran = await runText(await SandboxManager.wrapWithSandbox(command), { cwd: 'data/channel' })
    SandboxManager.cleanupAfterCommand()
    return ran
  }
  assert.equal((await bash('cat notes; echo x >scratchpad/y; ls scratchpad')).stdout, 'notes\ny\n')
  assert.notEqual((await bash('cat ../other/notes')).status, 0)
  assert.notEqual((await bash('echo x >notes')).status, 0)
  assert.equal((await bash('ls /usr/bin/env')).status, 0, 'the system is listed too')
  assert.equal((await bash(`cat ${os.homedir()}/secret`)).status, 1)
  await SandboxManager.reset()
  assert.equal(readFileSync('data/channel/scratchpad/y', 'utf8'), 'x\n')
})

test('files are asked about while the call waits, and only true and run allow', async () => {
  const asked = []
  const answers = { once: true, kept: 'run', truthy: 1, thrown: () => { throw new Error('no') } }
  const askFiles = async ({ kind, path, program, pid }) => {
    const name = path.split('/').at(-1)
    asked.push([kind, name, program.length > 0 && pid > 1])
    return typeof answers[name] === 'function' ? answers[name]() : answers[name]
  }
  const place = mkdtempSync(`${os.homedir()}/asked-`)
  const sandbox = new Sandbox(base({}, { denyWrite: [`${place}/named`] }), { askFiles })
  const script = `cd ${place}; for name in once once truthy thrown named; do echo x >$name && echo $name; done; mkdir kept && echo x >kept/x && echo kept`
  const ran = await runText(await sandbox.wrapWithSandbox(script))
  assert.equal(ran.stdout, 'once\nonce\nkept\n')
  assert.deepEqual(asked, ['once', 'once', 'truthy', 'thrown', 'kept'].map(name => ['write', name, true]))
  assert.deepEqual(readdirSync(place).sort(), ['kept', 'once'])
  await sandbox.reset()
  await assert.rejects(new Sandbox(base(), { askFiles: 'x' }).wrapWithSandbox('true'), /must be a function/)
})

test('several sandboxes in one process, each with its own policy, answers and store', async () => {
  const asked = { one: [], two: [] }
  const one = new Sandbox(base({}, { allowWrite: ['one'] }), { enableLogMonitor: true, ask: async ({ host }) => (asked.one.push(host), true) })
  const two = new Sandbox(base({}, { allowWrite: ['two'] }), { enableLogMonitor: true, ask: async ({ host }) => (asked.two.push(host), false) })
  mkdirSync('one')
  mkdirSync('two')
  const command = `touch one/x; touch two/x; ${fetched(`127.0.0.1:${port}`)}`
  const [first, second] = await Promise.all(
    [one, two].map(async sandbox => (await runText(await sandbox.wrapWithSandbox(command))).stdout.trim()),
  )
  assert.deepEqual([first, second], ['200', '403'])
  assert.deepEqual(asked, { one: ['127.0.0.1'], two: ['127.0.0.1'] })
  assert.deepEqual([readdirSync('one'), readdirSync('two')], [['x'], ['x']])
  const lines = sandbox => sandbox.getSandboxViolationStore().getViolations().map(({ line }) => line)
  assert.ok(lines(one).some(line => line.endsWith('/two/x')) && !lines(one).some(line => line.endsWith('/one/x')))
  assert.ok(lines(two).some(line => line.endsWith('/one/x')) && !lines(two).some(line => line.endsWith('/two/x')))
  await one.reset()
  await two.reset()
})

test('what was wrapped works after updateConfig, and with the new lists of hosts', async () => {
  const sandbox = new Sandbox(base())
  const text = await sandbox.wrapWithSandbox(`touch allowed; ${fetched(`127.0.0.1:${port}`)}`)
  assert.equal((await runText(text)).stdout.trim(), '403')
  sandbox.updateConfig(base({ allowedDomains: [`127.0.0.1:${port}`] }, { allowWrite: [] }))
  const ran = await runText(text)
  assert.equal(ran.stdout.trim(), '200')
  assert.equal(ran.stderr, '', 'the files are those of when it was wrapped')
  await sandbox.reset()
})

test('updateConfig reaches a command that is running', async () => {
  const sandbox = new Sandbox(base())
  const get = fetched(`127.0.0.1:${port}`)
  const running = runText(await sandbox.wrapWithSandbox(`${get}; echo; read line; ${get}; echo; read line; ${get}`), { input: 'pipe' })
  await running.saw('403')
  sandbox.updateConfig(base({ allowedDomains: ['127.0.0.1'] }))
  await delay(50)
  running.child.stdin.write('on\n')
  await running.saw('200')
  sandbox.updateConfig(base())
  await delay(50)
  running.child.stdin.end('on\n')
  assert.deepEqual((await running).stdout.split(/\s+/).filter(Boolean), ['403', '200', '403'])
  await sandbox.reset({ force: true })
})

test('what was wrapped works in other processes: a fork of ours, and after we have ended', async () => {
  writeFileSync(
    'wrapper.mjs',
    `import { Sandbox } from 'cloche'
     const sandbox = new Sandbox(${JSON.stringify(base({ allowedDomains: [`127.0.0.1:${port}`] }))})
     process.send(await sandbox.wrapWithSandbox(${JSON.stringify(`echo x >made; touch /opt/x; ${fetched(`127.0.0.1:${port}`)}; ${fetched('unknown.test')}`)}))
     process.on('message', () => process.exit())`,
  )
  const child = fork('./wrapper.mjs')
  const text = await new Promise(done => child.once('message', done))
  for (const alive of [true, false]) {
    const ran = await runText(text)
    assert.match(ran.stdout, /^200 403/, ran.stderr)
    assert.match(ran.stderr, /touch: cannot touch '\/opt\/x'/)
    if (alive) {
      child.send('end')
      await new Promise(done => child.once('exit', done))
    }
  }
  assert.equal(readFileSync('made', 'utf8'), 'x\n')
})

test('a program that is killed leaves nothing, and its command goes on, asking nobody', async () => {
  const command = `echo running; until [ -e go ]; do sleep 0.02; done; ${fetched(`127.0.0.1:${port}`)} >answer; mv answer done`
  writeFileSync(
    'killed.mjs',
    `import { spawn } from 'node:child_process'
     import { Sandbox } from 'cloche'
     const sandbox = new Sandbox(${JSON.stringify(base())}, { ask: async () => true })
     spawn('bash', ['-c', await sandbox.wrapWithSandbox(${JSON.stringify(command)})], { stdio: 'inherit' })`,
  )
  const left = () => readdirSync(os.tmpdir()).filter(name => name.startsWith('cloche-settings')).length
  const before = left()
  const running = runText('exec node killed.mjs')
  await running.saw('running')
  running.child.kill('SIGKILL')
  await new Promise(done => running.child.once('exit', done))
  writeFileSync('go', '')
  await until(() => existsSync('done'), 'the command ends')
  assert.equal(readFileSync('done', 'utf8').trim(), '403')
  assert.equal(left(), before)
})

test('a blocked program (spawnSync) holds its command up for a moment only', async () => {
  const sandbox = new Sandbox(base({ allowedDomains: [`127.0.0.1:9`] }))
  const text = await sandbox.wrapWithSandbox(`${fetched('unknown.test')}; ${fetched('127.0.0.1:9')}`)
  const ran = spawnSync('bash', ['-c', text], { encoding: 'utf8', timeout: 20000 })
  assert.equal(ran.stdout, '403 502 ')
  await sandbox.reset({ force: true })
})

test('neither the policy nor the key to this process is seen on a command line', async () => {
  const sandbox = new Sandbox(base({ allowedDomains: ['a-host-in-the-policy.test'] }))
  const running = runText(await sandbox.wrapWithSandbox('echo started; read line'), { input: 'pipe' })
  await running.saw('started')
  const lines = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
    .filter(line => line.includes('cloche\0srt'))
  assert.ok(lines.some(line => line.includes('echo started')), 'it is found at all')
  assert.ok(!lines.some(line => line.includes('a-host-in-the-policy')))
  running.child.stdin.end('on\n')
  await running
  await sandbox.reset({ force: true })
})

test('who does not know the key is not heard', async () => {
  const { Session } = createRequire(import.meta.url)(join(process.cwd(), 'node_modules/cloche/lib/session.js'))
  const heard = []
  const session = new Session({ greet: () => ['{"ready":true}'], ask: async () => ({ allow: true }), event: (...event) => heard.push(event) })
  await session.open()
  const name = session.introduction(1, '', 'a').split(':')[0]
  const net = await import('node:net')
  for (const said of ['{"hello":"guess.1..a"}\n{"kind":"fs.write"}\n', 'garbage\n', `${'x'.repeat(300 * 1024)}`]) {
    const socket = net.connect({ path: `\0${name}` })
    socket.write(said)
    socket.on('error', () => {})
    await new Promise(done => socket.once('close', done))
  }
  assert.deepEqual([heard, session.running], [[], 0])
  await session.close()
})

test('who says nothing does not keep a session from ending', async () => {
  const { Session } = createRequire(import.meta.url)(join(process.cwd(), 'node_modules/cloche/lib/session.js'))
  const net = await import('node:net')
  const session = new Session({ greet: () => [], ask: async () => ({ allow: true }), event: () => {} })
  await session.open()
  const path = `\0${session.introduction(1, '', 'a').split(':')[0]}`
  const silent = Array.from({ length: 3 }, () => net.connect({ path }).on('error', () => {}))
  const gone = Promise.all(silent.map(socket => new Promise(done => socket.once('close', done))))
  await new Promise(done => silent[2].once('connect', done))
  await session.close()
  await gone
})

test('large settings go through a private file that is gone after the reset', async () => {
  const sandbox = new Sandbox(base({}, { denyRead: Array.from({ length: 2000 }, (_, i) => `~/absent/number-${i}-of-many`) }))
  const text = await sandbox.wrapWithSandbox('echo fine')
  const file = /--settings (\S+)/.exec(text)[1]
  assert.equal((await import('node:fs')).statSync(file).mode & 0o777, 0o600)
  const ran = await runText(text)
  assert.deepEqual([ran.status, ran.stdout], [0, 'fine\n'], ran.stderr)
  await until(async () => sandbox.reset().then(() => true, () => false), 'reset')
  assert.ok(!existsSync(file))
})

test('large settings of many sandboxes are gone when the process ends', () => {
  const many = base({}, { denyRead: Array.from({ length: 2000 }, (_, i) => `~/absent/number-${i}-of-many`) })
  writeFileSync('large.json', JSON.stringify(many))
  writeFileSync(
    'large.mjs',
    `import { readFileSync, existsSync } from 'node:fs'
     import { Sandbox } from 'cloche'
     const config = JSON.parse(readFileSync('large.json'))
     for (let i = 0; i < 12; i++) console.log(/--settings (\\S+)/.exec(await new Sandbox(config).wrapWithSandbox('true'))[1])`,
  )
  const ran = spawnSync(process.execPath, ['large.mjs'], { encoding: 'utf8', timeout: 60000 })
  assert.deepEqual([ran.status, ran.stderr], [0, ''])
  const files = ran.stdout.trim().split('\n')
  assert.equal(new Set(files).size, 12)
  assert.deepEqual(files.filter(file => existsSync(file) || existsSync(join(file, '..'))), [])
})

test('paths mean what they meant when the command was wrapped', async () => {
  mkdirSync('was', { recursive: true })
  mkdirSync('runs/was', { recursive: true })
  const sandbox = new Sandbox(base({}, { allowWrite: ['was', { path: 'a[1]', literal: true }] }))
  mkdirSync('a[1]')
  const here = process.cwd()
  const text = await sandbox.wrapWithSandbox(`touch '${here}/was/x' '${here}/a[1]/x' && ! touch was/y`)
  assert.equal((await runText(text, { cwd: 'runs' })).status, 0)
  assert.deepEqual(readdirSync('runs/was'), [])
  await sandbox.reset({ force: true })
})

test('a list for one call narrows that of the session', async () => {
  const sandbox = new Sandbox(base({ allowedDomains: ['127.0.0.1'] }))
  const get = fetched(`127.0.0.1:${port}`)
  const run = async custom => (await runText(await sandbox.wrapWithSandbox(get, undefined, custom))).stdout.trim()
  assert.equal(await run(undefined), '200')
  assert.equal(await run({ network: { allowedDomains: [`127.0.0.1:${port}`], deniedDomains: [] } }), '200')
  assert.equal(await run({ network: { allowedDomains: [], deniedDomains: [] } }), '403')
  assert.equal(await run({ network: { allowedDomains: ['127.0.0.1:1'], deniedDomains: [] } }), '403')
  assert.equal(await run({ network: { allowedDomains: ['127.0.0.1'], deniedDomains: [`127.0.0.1:${port}`] } }), '403')
  await sandbox.reset({ force: true })
})

test('a person who is asked can take time; others are served meanwhile', async () => {
  let answer
  const question = new Promise(done => (answer = done))
  const sandbox = new Sandbox(base({ allowedDomains: [`127.0.0.1:${port}`] }), { ask: () => question })
  const slow = runText(await sandbox.wrapWithSandbox(`${fetched(`127.0.0.2:${port}`)} & ${fetched(`127.0.0.1:${port}`)}; wait`))
  await slow.saw('200')
  await delay(300)
  answer({ allow: false, reason: 'I was away' })
  assert.equal((await slow).stdout, '200 403 ')
  await sandbox.reset({ force: true })
})

test('sixty-four at once, each with what it was given', async () => {
  const sandbox = new Sandbox(base())
  const texts = await Promise.all(Array.from({ length: 64 }, (_, i) => sandbox.wrapWithSandbox(`echo ${i}; exit ${i}`)))
  const ran = await Promise.all(texts.map(text => runText(text)))
  assert.deepEqual(ran.map(({ status, stdout }) => [status, stdout]), Array.from({ length: 64 }, (_, i) => [i, `${i}\n`]))
  await until(async () => sandbox.reset().then(() => true, () => false), 'reset')
})

test('the process ends by itself while a sandbox is there', () => {
  writeFileSync('ends.mjs', `import { Sandbox } from 'cloche'\nawait new Sandbox(${JSON.stringify(base())}).wrapWithSandbox('true')`)
  const ran = spawnSync(process.execPath, ['ends.mjs'], { encoding: 'utf8', timeout: 20000 })
  assert.deepEqual([ran.status, ran.stderr], [0, ''])
})

test('exec, a pipe and a list around what was wrapped', async () => {
  const sandbox = new Sandbox(base())
  const text = await sandbox.wrapWithSandbox("cat; echo 'end'")
  assert.equal((await runText(`echo in | ${text} | tr a-z A-Z; echo $?`)).stdout, 'IN\nEND\n0\n')
  assert.equal((await runText(`exec ${text} </dev/null`)).stdout, 'end\n')
  assert.equal((await runText(`cd / && ${text} </dev/null && echo after`)).stdout, 'end\nafter\n')
  await until(async () => sandbox.reset().then(() => true, () => false), 'reset')
})

test('checkDependencies asks for nothing but the binary', () => {
  const path = process.env.PATH
  process.env.PATH = '/nowhere' // no rg, no bwrap, no socat
  assert.deepEqual(SandboxManager.checkDependencies(), { errors: [], warnings: [] })
  process.env.PATH = path
})

test('a signal for the wrapped command reaches it', async () => {
  const sandbox = new Sandbox(base())
  const running = runText(`exec ${await sandbox.wrapWithSandbox('trap "echo bye; exit 3" TERM; echo started; while :; do sleep 0.05; done')}`)
  await running.saw('started')
  running.child.kill('SIGTERM')
  assert.deepEqual([(await running).status, (await running).stdout], [3, 'started\nbye\n'])
  await until(async () => sandbox.reset().then(() => true, () => false), 'reset')
})
