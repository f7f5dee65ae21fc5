// Plays rows of tests/compat/srt_rows.py through the package: rows.json in, what came of each as JSON out, one a line.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Sandbox } from 'cloche'

const ours = { ...process.env }
for (const { settings, command, cwd, environment } of JSON.parse(readFileSync('rows.json', 'utf8'))) {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, environment, { CLOCHE: ours.CLOCHE })
  process.chdir(cwd)
  let said
  try {
    const sandbox = new Sandbox()
    await sandbox.initialize(settings)
    const text = await sandbox.wrapWithSandbox(command)
    await sandbox.reset() // nobody is asked, and the text works all the same
    const { status, stdout, stderr } = spawnSync('bash', ['-c', text], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 60000 })
    said = { status, stdout, stderr }
  } catch (error) {
    said = { status: 1, stdout: '', stderr: `${error.code}: ${error.message}` }
  }
  process.stdout.write(`${JSON.stringify(said)}\n`)
}
