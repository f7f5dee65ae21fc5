// Types of the package `cloche`: the API of @anthropic-ai/sandbox-runtime 0.0.83 on
// Linux, and what cloche adds (marked).

// ---- configuration ----

export type FilesystemPathEntry = string | { path: string; literal: true }

export interface ParentProxyConfig {
  http?: string
  https?: string
  noProxy?: string
}

export interface MitmProxyConfig {
  socketPath: string
  domains: string[]
}

export interface TlsTerminateConfig {
  caCertPath?: string
  caKeyPath?: string
  excludeDomains?: string[]
  extraCaCertPaths?: string[]
  maxTunnels?: number
  handshakeTimeoutMs?: number
}

export interface RequestInfo {
  method: string
  url: string
  headers: Record<string, string | string[] | undefined>
}

export type RequestDecision = { action: 'allow' } | { action: 'deny'; reason?: string }

/** Refused by name: requests are not filtered by cloche yet. */
export type FilterRequestCallback = (request: RequestInfo) => RequestDecision | Promise<RequestDecision>

export interface NetworkConfig {
  /** `host`, `*.host`, an address, each with `:port` or not; cloche also takes `*`. */
  allowedDomains: string[]
  deniedDomains: string[]
  deniedDomainReasons?: Record<string, string>
  strictAllowlist?: boolean
  deniedResolvedAddresses?: string[]
  /** Sockets of the host that may be connected to. Works on Linux here. */
  allowUnixSockets?: string[]
  allowAllUnixSockets?: boolean
  allowLocalBinding?: boolean
  allowMachLookup?: string[]
  httpProxyPort?: number
  socksProxyPort?: number
  mitmProxy?: MitmProxyConfig
  parentProxy?: ParentProxyConfig
  filterRequest?: FilterRequestCallback
  allowPlaintextHeaderSet?: boolean
  stripResponseHeaders?: string[]
  refuseOpaqueTunnels?: boolean
  requireHostMatch?: boolean
  ambiguousRequestTarget?: 'refuse' | 'asSpelled' | 'normalize'
  tlsTerminate?: TlsTerminateConfig
  /** cloche: `none` has no network at all, `host` is the host's own, unfiltered. */
  mode?: 'filtered' | 'none' | 'host'
  /** cloche: ports of the host's loopback, reachable as localhost inside. */
  hostPorts?: number[]
  /** cloche: servers inside, reachable on the host's loopback. */
  publishPorts?: number[]
}

export interface FilesystemConfig {
  disabled?: boolean
  denyRead: FilesystemPathEntry[]
  allowRead?: FilesystemPathEntry[]
  allowWrite: FilesystemPathEntry[]
  denyWrite: FilesystemPathEntry[]
  allowGitConfig?: boolean
  /** cloche: `listed` = only what is allowed can be read. */
  readMode?: 'all' | 'listed'
  /** cloche: `session` = the commands of a sandbox share a /tmp that nobody else sees; `private` = each has its own. */
  tmp?: 'private' | 'session' | 'host'
  /** cloche: with `listed`, the system's own files are listed too (the default). */
  platformDefaults?: boolean
}

export type CredentialMode = 'deny' | 'mask'

export interface CredentialFileConfig {
  path: string
  mode: CredentialMode
  extract?: string
  onExtractNoMatch?: 'warn' | 'deny' | 'error'
  decode?: 'jwt'
  maskClaims?: string[]
  maskDuplicates?: boolean
  injectHosts?: string[]
}

export interface CredentialEnvVarConfig {
  name: string
  mode: CredentialMode
  extract?: string
  onExtractNoMatch?: 'warn' | 'deny' | 'error'
  decode?: 'jwt'
  maskClaims?: string[]
  injectHosts?: string[]
}

export interface CredentialsConfig {
  files?: CredentialFileConfig[]
  envVars?: CredentialEnvVarConfig[]
  allowPlaintextInject?: boolean
  awsPairs?: unknown[]
  sigv4?: Partial<Record<'streaming' | 'presigned' | 'sigv4a', 'deny' | 'passthrough'>>
}

/** Part of a command, or `*` for all -> parts of violations that are not told. */
export type IgnoreViolationsConfig = Record<string, string[]>

export interface RipgrepConfig {
  command: string
  args?: string[]
  argv0?: string
}

export interface GitConfig {
  safeDirectories?: string[]
}

export interface SrtWinConfig {
  path?: string
}

export interface WindowsConfig {
  backend?: 'mxc' | 'srt-win'
  sandboxUser?: string
  sublayerGuid?: string
  wfpSublayerGuid?: string
  proxyPortRange?: [number, number]
  srtWin?: SrtWinConfig
}

export interface SandboxRuntimeConfig {
  network: NetworkConfig
  filesystem: FilesystemConfig
  credentials?: CredentialsConfig
  ignoreViolations?: IgnoreViolationsConfig
  enableWeakerNestedSandbox?: boolean
  allowNestedUserNamespaces?: boolean
  mandatoryDenySearchDepth?: number
  ripgrep?: RipgrepConfig
  seccomp?: { applyPath?: string; argv0?: string }
  bwrapPath?: string
  socatPath?: string
  javaAgentJarPath?: string
  git?: GitConfig
  allowPty?: boolean
  allowAppleEvents?: boolean
  enableWeakerNetworkIsolation?: boolean
  windows?: WindowsConfig
  /** cloche: memory, processes, time and files a command may use. */
  limits?: {
    memory?: string | number
    processes?: number
    wallSeconds?: number
    fileSize?: string | number
    openFiles?: number
  }
  /** cloche: which variables a command sees, and which it gets. */
  environment?: { pass?: string[]; deny?: string[]; set?: Record<string, string> }
}

// ---- schemas ----

export interface ConfigIssue {
  path: (string | number)[]
  message: string
  code: string
  expected?: string
  received?: string
}

export type SafeParseResult<T> =
  | { success: true; data: T; error?: undefined }
  | { success: false; error: SandboxConfigError; data?: undefined }

/** zod's two ways to ask; the words are sandbox-runtime's. */
export interface ConfigSchema<T> {
  parse(value: unknown): T
  safeParse(value: unknown): SafeParseResult<T>
}

export const SandboxRuntimeConfigSchema: ConfigSchema<SandboxRuntimeConfig>
export const NetworkConfigSchema: ConfigSchema<NetworkConfig>
export const FilesystemConfigSchema: ConfigSchema<FilesystemConfig>
export const CredentialsConfigSchema: ConfigSchema<CredentialsConfig>
export const IgnoreViolationsConfigSchema: ConfigSchema<IgnoreViolationsConfig>
export const RipgrepConfigSchema: ConfigSchema<RipgrepConfig>
export const GitConfigSchema: ConfigSchema<GitConfig>
export const WindowsConfigSchema: ConfigSchema<WindowsConfig>
export const SrtWinConfigSchema: ConfigSchema<SrtWinConfig>

// ---- errors ----

export class SandboxError extends Error {
  readonly code: string
}

/** Another configuration is being put in force, or is. */
export class SandboxInitializeConflictError extends SandboxError {
  readonly code: 'initialize_conflict'
}

export type LinuxSandboxProfileErrorCode =
  | 'too_many_arguments'
  | 'nul_in_path'
  | 'args_file_unavailable'
  | 'command_too_long'
  | 'nul_in_command'

export class LinuxSandboxProfileError extends SandboxError {
  readonly code: LinuxSandboxProfileErrorCode
}

export class SandboxConfigError extends SandboxError {
  readonly code: 'invalid_config'
  readonly issues: ConfigIssue[]
  readonly errors: ConfigIssue[]
}

/** Valid, but cloche cannot keep it: not built, or not on this host. */
export class SandboxUnsupportedError extends SandboxError {
  readonly code: 'unsupported'
}

export class SandboxBinaryError extends SandboxError {
  readonly code: 'binary_missing' | 'binary_version'
}

/** reset() while commands run. */
export class SandboxBusyError extends SandboxError {
  readonly code: 'commands_running'
}

export class WindowsSandboxError extends SandboxError {
  readonly subcommand?: string
}

// ---- violations ----

export interface SandboxViolationEvent {
  line: string
  command?: string
  encodedCommand?: string
  timestamp: Date
}

export class SandboxViolationStore {
  addViolation(violation: SandboxViolationEvent): void
  getViolations(limit?: number): SandboxViolationEvent[]
  getCount(): number
  getTotalCount(): number
  /** `command` as it was wrapped, or the commandId it was given. */
  getViolationsForCommand(command: string): SandboxViolationEvent[]
  clear(): void
  subscribe(listener: (violations: SandboxViolationEvent[]) => void): () => void
}

// ---- sandboxes ----

export type NetworkHostPattern = { host: string; port: number | undefined }

/** Asked about hosts that no list names. Only `true` allows. */
export type SandboxAskCallback = (
  params: NetworkHostPattern,
) => Promise<boolean | { allow: false; reason: string }>

/** cloche: a file, or a unix socket of the host, that nothing in the configuration allows. */
export interface FileQuestion {
  kind: 'read' | 'write' | 'unix'
  path: string
  /** The program that wants it. */
  program: string
  pid: number
}

/** Only `true` (this once) and `'run'` (for the rest of the command; of a directory, with what lies below it) allow. */
export type SandboxAskFilesCallback = (question: FileQuestion) => Promise<boolean | 'run'>

export interface FsReadRestrictionConfig {
  denyOnly: string[]
  allowWithinDeny?: string[]
  literalDenyOnly?: string[]
  literalAllowWithinDeny?: string[]
  credentialDenyOnly?: string[]
  ownAllowWithinDeny?: string[]
  unlistableDenyDirs?: string[]
}

export interface FsWriteRestrictionConfig {
  allowOnly: string[]
  literalAllowOnly?: string[]
  denyWithinAllow: string[]
  literalDenyWithinAllow?: string[]
}

export interface NetworkRestrictionConfig {
  allowedHosts?: string[]
  deniedHosts?: string[]
}

export interface SandboxDependencyCheck {
  warnings: string[]
  errors: string[]
}

export interface WrapWithSandboxOptions {
  /** What violations are stored under, in place of the command. */
  commandId?: string
  /** What violations say the command is. */
  commandText?: string
}

export interface SandboxInitializeOptions {
  dangerouslyAllowReadOfProfileExclusions?: readonly string[]
  onWindowsProfileGrantProgress?: (line: string) => void
}

export interface ISandboxManager {
  initialize(
    runtimeConfig: SandboxRuntimeConfig,
    sandboxAskCallback?: SandboxAskCallback,
    enableLogMonitor?: boolean,
    options?: SandboxInitializeOptions,
  ): Promise<void>
  isSupportedPlatform(): boolean
  isSandboxingEnabled(): boolean
  checkDependencies(ripgrepConfig?: { command: string; args?: string[] }, options?: object): SandboxDependencyCheck
  checkDependenciesAsync(
    ripgrepConfig?: { command: string; args?: string[] },
    options?: object,
  ): Promise<SandboxDependencyCheck>
  getFsReadConfig(): FsReadRestrictionConfig
  getFsWriteConfig(): FsWriteRestrictionConfig
  getNetworkRestrictionConfig(): NetworkRestrictionConfig
  getAllowUnixSockets(): string[] | undefined
  getAllowLocalBinding(): boolean | undefined
  getAllowMachLookup(): string[] | undefined
  getIgnoreViolations(): Record<string, string[]> | undefined
  getEnableWeakerNestedSandbox(): boolean | undefined
  getProxyPort(): number | undefined
  getProxyAuthToken(): string | undefined
  getSocksProxyPort(): number | undefined
  getLinuxHttpSocketPath(): string | undefined
  getLinuxSocksSocketPath(): string | undefined
  waitForNetworkInitialization(): Promise<boolean>
  /** A text for a shell. It works for as long as the binary is there, also after this process has ended. */
  wrapWithSandbox(
    command: string,
    binShell?: string,
    customConfig?: Partial<SandboxRuntimeConfig>,
    abortSignal?: AbortSignal,
    options?: WrapWithSandboxOptions,
  ): Promise<string>
  wrapWithSandboxArgv(
    command: string,
    binShell?: string,
    customConfig?: Partial<SandboxRuntimeConfig>,
    abortSignal?: AbortSignal,
    cwd?: string,
    options?: WrapWithSandboxOptions,
  ): Promise<{ argv: string[]; env: NodeJS.ProcessEnv }>
  registerCommandNetworkLists(commandId: string, lists: { allowedDomains?: string[] }): void
  unregisterCommandNetworkLists(commandId: string): void
  readonly askCallbackDenyReason: true
  getSandboxViolationStore(): SandboxViolationStore
  annotateStderrWithSandboxFailures(command: string, stderr: string): string
  getLinuxGlobPatternWarnings(): string[]
  getConfig(): SandboxRuntimeConfig | undefined
  getMitmCA(): undefined
  getSentinelRegistry(): never
  getAwsPairRegistry(): never
  getMaskedFileStore(): never
  getWindowsBackend(): undefined
  getWindowsProfileRead(): undefined
  getWindowsProfileReadWarnings(): never[]
  getWindowsProfileReadRefresh(): undefined
  /** The lists of hosts take effect in running commands too, the rest in those wrapped from now on. */
  updateConfig(newConfig: SandboxRuntimeConfig): void
  cleanupAfterCommand(): void
  /** While commands run: SandboxBusyError, unless `force`. */
  reset(options?: { force?: boolean }): Promise<void>
}

export interface SandboxOptions {
  ask?: SandboxAskCallback
  /** Asked about files and sockets, while the call that wants one waits. */
  askFiles?: SandboxAskFilesCallback
  enableLogMonitor?: boolean
  /** The cloche binary; default: $CLOCHE, else the first on PATH. */
  binary?: string
}

/** cloche: a policy of its own, beside others in the same process. */
export class Sandbox {
  constructor(config?: SandboxRuntimeConfig, options?: SandboxOptions)
}
export interface Sandbox extends ISandboxManager {}

/** The one that the whole process shares, as in sandbox-runtime. */
export const SandboxManager: ISandboxManager

// ---- odds and ends ----

export function getDefaultWritePaths(readRules?: {
  denyRead: FilesystemPathEntry[]
  allowRead?: FilesystemPathEntry[]
}): string[]
export function writeRootsOf(config: FsWriteRestrictionConfig): string[]
export function realPathOf(path: string): string
export function getWslVersion(): string | undefined
export function buildGitConfigEnv(options: {
  safeDirs: (string | undefined)[]
  schannelCa?: boolean
  opensslBackend?: boolean
  baseEnv?: Record<string, string | undefined>
}): Record<string, string>
export const version: string

// What cloche does not have: each throws SandboxUnsupportedError.
export function checkWindowsDependenciesAsync(...parameters: unknown[]): never
export function checkWindowsSandboxStatus(...parameters: unknown[]): never
export function checkWindowsSandboxStatusAsync(...parameters: unknown[]): never
export function ensurePersistentWindowsCa(...parameters: unknown[]): never
export function expandWindowsFsPaths(...parameters: unknown[]): never
export function forgetWindowsProfileRead(...parameters: unknown[]): never
export function forgetWindowsProfileReadAsync(...parameters: unknown[]): never
export function getSrtWinPath(...parameters: unknown[]): never
export function getWindowsProfileReadStatus(...parameters: unknown[]): never
export function getWindowsProfileReadStatusAsync(...parameters: unknown[]): never
export function getWindowsSandboxCaCert(...parameters: unknown[]): never
export function getWindowsSandboxUserStatus(...parameters: unknown[]): never
export function getWindowsSandboxUserStatusAsync(...parameters: unknown[]): never
export function getWindowsWfpStatus(...parameters: unknown[]): never
export function getWindowsWfpStatusAsync(...parameters: unknown[]): never
export function grantWindowsAcl(...parameters: unknown[]): never
export function grantWindowsProfileRead(...parameters: unknown[]): never
export function installWindowsSandbox(...parameters: unknown[]): never
export function installWindowsSandboxAsync(...parameters: unknown[]): never
export function isUncPath(...parameters: unknown[]): never
export function parseWindowsBinShell(...parameters: unknown[]): never
export function parseWindowsSandboxError(...parameters: unknown[]): never
export function resolveSrtWin(...parameters: unknown[]): never
export function restoreWindowsAcl(...parameters: unknown[]): never
export function revokeWindowsAcl(...parameters: unknown[]): never
export function revokeWindowsAclChecked(...parameters: unknown[]): never
export function stampWindowsAcl(...parameters: unknown[]): never
export function uninstallWindowsSandbox(...parameters: unknown[]): never
export function verifyWindowsWfpEgress(...parameters: unknown[]): never
export function windowsInstallInstructions(...parameters: unknown[]): never
export function windowsProfileExclusionConflicts(...parameters: unknown[]): never
export function windowsProfileGrantNotice(...parameters: unknown[]): never
export function windowsProfileGrantSkipReason(...parameters: unknown[]): never
export function windowsProfileReadEnv(...parameters: unknown[]): never
export function windowsStateDir(...parameters: unknown[]): never
export function windowsTrustCa(...parameters: unknown[]): never
export function windowsTrustCaAsync(...parameters: unknown[]): never
export function certThumbprint(...parameters: unknown[]): never
export function generateCa(...parameters: unknown[]): never
export function validateCaPair(...parameters: unknown[]): never
