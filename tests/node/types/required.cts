// The same package by require().
import cloche = require('cloche')

const sandbox = new cloche.Sandbox(
  { network: { allowedDomains: ['*'], deniedDomains: [] }, filesystem: { readMode: 'listed', denyRead: [], allowWrite: [], denyWrite: [] } },
  { ask: async ({ host }) => host.endsWith('.example'), enableLogMonitor: true },
)
const text: Promise<string> = sandbox.wrapWithSandbox('true')
void text
// @ts-expect-error there is no such mode
const wrong: cloche.FilesystemConfig = { readMode: 'some', denyRead: [], allowWrite: [], denyWrite: [] }
void wrong
