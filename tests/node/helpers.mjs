// For the tests of the package: configurations, children, waiting.
import { spawn } from 'node:child_process'

export const base = (network = {}, filesystem = {}, more = {}) => ({
  network: { allowedDomains: [], deniedDomains: [], ...network },
  filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [], ...filesystem },
  ...more,
})

export const delay = milliseconds => new Promise(done => setTimeout(done, milliseconds))

// A promise of { status, stdout, stderr }, with `child`, and saw(text): once it is in
// the output.
export function runText(text, { input = 'ignore', ...options } = {}) {
  const child = spawn('bash', ['-c', text], { stdio: [input, 'pipe', 'pipe'], ...options })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', data => (stdout += data))
  child.stderr.on('data', data => (stderr += data))
  const ended = new Promise(done =>
    child.on('close', (status, signal) => done({ status: status ?? signal, stdout, stderr })),
  )
  return Object.assign(ended, {
    child,
    async saw(wanted) {
      for (let i = 0; i < 1000 && !stdout.includes(wanted); i++) await delay(10)
      if (!stdout.includes(wanted)) throw new Error(`not seen: ${wanted}; ${stderr}`)
    },
  })
}

// Through the proxy, whatever NO_PROXY says: its status, and nothing else.
export const fetched = address =>
  `curl -s -o /dev/null -w '%{http_code} ' --max-time 20 --noproxy '' -x "$HTTP_PROXY" http://${address}/`

export async function until(question, what) {
  for (let i = 0; i < 1000; i++) {
    if (await question()) return
    await delay(10)
  }
  throw new Error(`never: ${what}`)
}
