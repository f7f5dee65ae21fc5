// What an agent written for @anthropic-ai/sandbox-runtime says to the compiler, with
// the import changed and nothing else.
import {
  SandboxManager,
  SandboxRuntimeConfigSchema,
  SandboxViolationStore,
  LinuxSandboxProfileError,
  SandboxInitializeConflictError,
  getDefaultWritePaths,
  type FilesystemConfig,
  type FsReadRestrictionConfig,
  type FsWriteRestrictionConfig,
  type IgnoreViolationsConfig,
  type LinuxSandboxProfileErrorCode,
  type NetworkConfig,
  type NetworkHostPattern,
  type NetworkRestrictionConfig,
  type SandboxAskCallback,
  type SandboxDependencyCheck,
  type SandboxRuntimeConfig,
  type SandboxViolationEvent,
  type WrapWithSandboxOptions,
} from 'cloche'

const network: NetworkConfig = { allowedDomains: ['example.com:443'], deniedDomains: [], strictAllowlist: false }
const filesystem: FilesystemConfig = {
  denyRead: ['~/.ssh', { path: 'a[1]', literal: true }],
  allowWrite: ['.'],
  denyWrite: [],
}
const ignoreViolations: IgnoreViolationsConfig = { '*': ['/x'] }
const config: SandboxRuntimeConfig = { network, filesystem, ignoreViolations }
const ask: SandboxAskCallback = async ({ host, port }: NetworkHostPattern) =>
  host === 'example.com' && port === 443 ? true : { allow: false, reason: 'not listed' }

await SandboxManager.initialize(config, ask, true)
const options: WrapWithSandboxOptions = { commandId: 'x', commandText: 'y' }
const text: string = await SandboxManager.wrapWithSandbox('ls', 'bash', { filesystem }, undefined, options)
const { argv, env }: { argv: string[]; env: NodeJS.ProcessEnv } = await SandboxManager.wrapWithSandboxArgv('ls')
const store: SandboxViolationStore = SandboxManager.getSandboxViolationStore()
const stop: () => void = store.subscribe((violations: SandboxViolationEvent[]) => violations.map(({ line }) => line))
const dependencies: SandboxDependencyCheck = SandboxManager.checkDependencies()
const read: FsReadRestrictionConfig = SandboxManager.getFsReadConfig()
const write: FsWriteRestrictionConfig = SandboxManager.getFsWriteConfig()
const restriction: NetworkRestrictionConfig = SandboxManager.getNetworkRestrictionConfig()
const parsed = SandboxRuntimeConfigSchema.safeParse({})
const problems: string[] = parsed.success ? [] : parsed.error.issues.map(issue => issue.message)
try {
  SandboxManager.updateConfig(config)
} catch (error) {
  if (error instanceof LinuxSandboxProfileError) {
    const code: LinuxSandboxProfileErrorCode = error.code
    void code
  }
  if (error instanceof SandboxInitializeConflictError) void error.code
}
void [text, argv, env, stop, dependencies, read, write, restriction, problems, getDefaultWritePaths()]
await SandboxManager.reset()

// @ts-expect-error a list is missing
const wrong: NetworkConfig = { allowedDomains: [] }
void wrong
