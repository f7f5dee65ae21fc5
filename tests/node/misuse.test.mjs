// Every misuse is answered by an error with a class, a code and a reason.
import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import * as cloche from 'cloche'
import { base, delay, runText } from './helpers.mjs'

const { Sandbox, SandboxManager } = cloche
after(() => SandboxManager.reset({ force: true }))

const refused = (work, kind, code, words) =>
  assert.rejects(work, error => {
    assert.equal(error.constructor, kind)
    assert.equal(error.name, kind.name)
    assert.ok(error instanceof cloche.SandboxError && error instanceof Error)
    assert.equal(error.code, code)
    assert.match(error.message, words)
    return true
  })

test('initialize with another configuration while one is in force', async () => {
  const sandbox = new Sandbox()
  await sandbox.initialize(base())
  await sandbox.initialize(base()) // the same: nothing to do
  await refused(
    sandbox.initialize(base({ allowedDomains: ['a.test'] })),
    cloche.SandboxInitializeConflictError,
    'initialize_conflict',
    /reset\(\)/,
  )
  assert.deepEqual(sandbox.getConfig(), base())
  await sandbox.reset()
  await sandbox.initialize(base({ allowedDomains: ['a.test'] }))
  await sandbox.reset()
})

test('reset while a command runs', async () => {
  const sandbox = new Sandbox(base())
  const running = runText(await sandbox.wrapWithSandbox('echo started; read line; echo "got $line"'), { input: 'pipe' })
  await running.saw('started')
  await refused(sandbox.reset(), cloche.SandboxBusyError, 'commands_running', /1 sandboxed command is still running/)
  assert.ok(sandbox.isSandboxingEnabled())
  running.child.stdin.end('on\n')
  assert.deepEqual((await running).stdout, 'started\ngot on\n')
  for (let i = 0; i < 100; i++) {
    try {
      await sandbox.reset()
      return
    } catch (error) {
      assert.equal(error.code, 'commands_running')
      await delay(20)
    }
  }
  assert.fail('it never ended')
})

test('a command goes on after a reset that was forced', async () => {
  const sandbox = new Sandbox(base())
  const running = runText(await sandbox.wrapWithSandbox('echo started; read line; touch /opt/x; echo "status $?"'), { input: 'pipe' })
  await running.saw('started')
  await sandbox.reset({ force: true })
  running.child.stdin.end('on\n')
  assert.match((await running).stdout, /status 1/)
})

test('a configuration that is not valid', async () => {
  const sandbox = new Sandbox()
  await refused(
    sandbox.initialize({ network: { allowedDomains: ['*.com'], deniedDomains: [] }, filesystem: {} }),
    cloche.SandboxConfigError,
    'invalid_config',
    /^network.allowedDomains.0: Invalid domain pattern.*; filesystem.denyRead: Required; filesystem.allowWrite: Required; filesystem.denyWrite: Required$/s,
  )
  assert.equal(sandbox.isSandboxingEnabled(), false)
  for (const wrong of [undefined, null, 3, 'x', [], () => {}])
    await assert.rejects(sandbox.initialize(wrong), { code: 'invalid_config' })
  await sandbox.initialize(base())
  assert.throws(() => sandbox.updateConfig({ ...base(), network: {} }), { code: 'invalid_config' })
  assert.deepEqual(sandbox.getConfig(), base(), 'the old one stays')
  await refused(
    sandbox.wrapWithSandbox('true', undefined, { filesystem: { denyRead: [], allowWrite: [3], denyWrite: [] } }),
    cloche.SandboxConfigError,
    'invalid_config',
    /filesystem.allowWrite.0/,
  )
  await sandbox.reset()
})

test('what cloche cannot keep is refused by name, not left out', async () => {
  const sandbox = new Sandbox()
  const refuses = (network, words) =>
    refused(sandbox.initialize(base(network)), cloche.SandboxUnsupportedError, 'unsupported', words)
  await refuses({ tlsTerminate: {} }, /network.tlsTerminate/)
  await refuses({ filterRequest: () => ({ action: 'allow' }) }, /network.filterRequest/)
  for (const method of ['getSentinelRegistry', 'getAwsPairRegistry', 'getMaskedFileStore'])
    assert.throws(() => sandbox[method](), { code: 'unsupported' })
  for (const name of ['generateCa', 'installWindowsSandbox'])
    assert.throws(() => cloche[name](), { code: 'unsupported', message: new RegExp(name) })
})

test('a command with a NUL, a command that is none, a command of a megabyte', async () => {
  await refused(SandboxManager.wrapWithSandbox('echo a\0b'), cloche.LinuxSandboxProfileError, 'nul_in_command', /NUL/)
  await refused(SandboxManager.wrapWithSandbox(undefined), cloche.SandboxError, 'invalid_command', /string/)
  const long = `: ${'x'.repeat(1024 * 1024)}`
  const words = /too long for one shell argument \(\d+ bytes; the limit here is 131071\)/
  await refused(SandboxManager.wrapWithSandbox(long), cloche.LinuxSandboxProfileError, 'command_too_long', words)
  await refused(SandboxManager.wrapWithSandboxArgv(long), cloche.LinuxSandboxProfileError, 'command_too_long', words)
  const fits = `: ${'x'.repeat(100 * 1024)}; echo end`
  assert.equal((await runText(await SandboxManager.wrapWithSandbox(fits))).stdout, 'end\n')
})

test('a shell that is not there', async () => {
  await refused(SandboxManager.wrapWithSandbox('true', 'no-such-shell'), cloche.SandboxError, 'shell_not_found', /^Shell 'no-such-shell' not found in PATH$/)
  await refused(SandboxManager.wrapWithSandboxArgv('true', {}), cloche.SandboxError, 'invalid_shell', /Windows-only/)
})

test('a working directory that has vanished', async () => {
  const here = process.cwd()
  mkdirSync('vanishing')
  const gone = resolve('vanishing')
  process.chdir('vanishing')
  const text = await SandboxManager.wrapWithSandbox('pwd')
  rmSync(gone, { recursive: true })
  try {
    const vanished = [cloche.SandboxError, 'cwd_vanished', /change to one that does/]
    await refused(SandboxManager.wrapWithSandbox('true'), ...vanished)
    await refused(new Sandbox().initialize(base()), ...vanished)
    assert.throws(() => SandboxManager.updateConfig(base()), { code: 'cwd_vanished' })
  } finally {
    process.chdir(here)
  }
  const ran = await runText(text)
  assert.deepEqual([ran.status, ran.stdout], [0, `${here}\n`], 'what was wrapped there runs elsewhere')
})

test('a binary that is missing, or another version, or something else', async () => {
  const missing = new Sandbox(undefined, { binary: '/nowhere/cloche' })
  await refused(missing.initialize(base()), cloche.SandboxBinaryError, 'binary_missing', /\/nowhere\/cloche/)
  assert.match(missing.checkDependencies().errors[0], /\/nowhere\/cloche/)
  await refused(missing.wrapWithSandbox('true'), cloche.SandboxBinaryError, 'binary_missing', /./)

  const program = (name, script) => {
    const file = join(process.cwd(), name)
    writeFileSync(file, `#!/bin/sh\n${script}\n`)
    chmodSync(file, 0o755)
    return file
  }
  const other = new Sandbox(undefined, { binary: program('other', `echo '{"cloche":"99.0.0"}'`) })
  await refused(other.initialize(base()), cloche.SandboxBinaryError, 'binary_version', /is cloche 99.0.0, but this package is for cloche/)
  const stranger = new Sandbox(undefined, { binary: program('stranger', 'echo "unknown option" >&2; exit 1') })
  await refused(stranger.initialize(base()), cloche.SandboxBinaryError, 'binary_version', /does not answer as cloche.*unknown option/)

  const path = process.env.PATH
  const named = process.env.CLOCHE
  delete process.env.CLOCHE
  process.env.PATH = '/nowhere'
  await refused(new Sandbox().initialize(base()), cloche.SandboxBinaryError, 'binary_missing', /PATH/)
  Object.assign(process.env, { PATH: path, CLOCHE: named })
})

test('a configuration that is no JSON', async () => {
  const circle = base()
  circle.self = circle
  for (const wrong of [circle, { ...base(), big: 1n }]) {
    await refused(new Sandbox().initialize(wrong), cloche.SandboxConfigError, 'invalid_config', /cannot be written as JSON/)
    assert.equal(cloche.SandboxRuntimeConfigSchema.safeParse(wrong).success, false)
  }
  await refused(new Sandbox().initialize(base({}, { denyRead: ['/a\0b'] })), cloche.SandboxConfigError, 'invalid_config', /denyRead.0.*NUL/)
})

test('what a call replaces, of the wrong form: never left out in silence', async () => {
  const sandbox = new Sandbox(base())
  const cases = [
    ['x', /^\(root\): Expected object, received string$/],
    [{ network: 'x' }, /^network: Expected object, received string$/],
    [{ filesystem: [] }, /^filesystem: Expected object, received array$/],
    [{ network: { deniedDomains: 3 } }, /^network.deniedDomains: Expected array, received number$/],
    [{ network: { allowedDomains: ['a.test', 3] } }, /^network.allowedDomains.1: Expected string, received number$/],
    [{ git: { safeDirectories: null } }, /^git.safeDirectories: Expected array, received null$/],
  ]
  for (const [custom, words] of cases)
    await refused(sandbox.wrapWithSandbox('true', undefined, custom), cloche.SandboxConfigError, 'invalid_config', words)
  await sandbox.reset()
})

test('a configuration that is long, and one that is too long', async () => {
  const denyRead = Array.from({ length: 9500 }, (_, i) => `/nowhere/at/all/number/${i}`)
  const sandbox = new Sandbox(base({}, { denyRead }))
  assert.equal((await runText(await sandbox.wrapWithSandbox('echo runs'))).stdout, 'runs\n')
  await sandbox.reset({ force: true })
  await refused(new Sandbox().initialize(base({}, { denyRead: [...denyRead, ...denyRead] })), cloche.SandboxConfigError, 'invalid_config', /at most 10000/)
  await refused(new Sandbox().initialize(base({}, { denyRead: ['x'.repeat(2000000)] })), cloche.SandboxUnsupportedError, 'unsupported', /the configuration: it is larger than/)
})

test('arguments of the wrong type', async () => {
  await refused(SandboxManager.wrapWithSandbox('true', 3), cloche.SandboxError, 'invalid_shell', /must be a string, not number/)
  const options = { commandId: 5 }
  await refused(SandboxManager.wrapWithSandbox('true', undefined, undefined, undefined, options), cloche.SandboxError, 'invalid_command_id', /not number/)
  await refused(new Sandbox().initialize(base(), 'ask'), cloche.SandboxError, 'invalid_callback', /must be a function, not string/)
  await refused(new Sandbox(base(), { binary: 3 }).wrapWithSandbox('true'), cloche.SandboxBinaryError, 'binary_missing', /must be a string/)
})

test('a binary that is gone since, a directory that is gone since', async () => {
  const { argv } = await SandboxManager.wrapWithSandboxArgv('true')
  copyFileSync(argv[0], 'copy')
  const sandbox = new Sandbox(base(), { binary: './copy' })
  const text = await sandbox.wrapWithSandbox('true')
  assert.equal((await runText(text)).status, 0)
  rmSync('copy')
  await refused(sandbox.wrapWithSandbox('true'), cloche.SandboxBinaryError, 'binary_missing', /copy is not a program/)
  const ran = await runText(text)
  assert.equal(ran.status, 127, 'the shell says what it cannot find')
  assert.match(ran.stderr, /copy/)
  await sandbox.reset({ force: true })
  mkdirSync('leaves')
  const words = `cd leaves && rmdir "$PWD" && ${await SandboxManager.wrapWithSandbox('echo runs')}`
  const left = await runText(words)
  assert.notEqual(left.status, 0)
  assert.match(left.stderr, /directory/)
})

test('an aborted wrap', async () => {
  await assert.rejects(SandboxManager.wrapWithSandbox('true', undefined, undefined, AbortSignal.abort()), { name: 'AbortError' })
})

test('a constructor with a wrong configuration tells whoever wraps', async () => {
  const sandbox = new Sandbox({ network: {} })
  await assert.rejects(sandbox.wrapWithSandbox('true'), { code: 'invalid_config' })
})
