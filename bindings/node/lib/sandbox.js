'use strict'
// One policy, and the commands that run under it. SandboxManager is one of these,
// shared by the whole process as in sandbox-runtime; a program may have others.

const { isDeepStrictEqual } = require('node:util')
const binaries = require('./binary.js')
const errors = require('./errors.js')
const hosts = require('./hosts.js')
const paths = require('./paths.js')
const { issuesOf } = require('./schema.js')
const { Session } = require('./session.js')
const { customIssues, listsText, merged, settingsText } = require('./settings.js')
const { SharedTmp } = require('./tmp.js')
const violations = require('./violations.js')
const wrap = require('./wrap.js')

const REMEMBERED = 1024
const COMMAND_ID_MIN = 22

// A map that forgets what is oldest.
function remember(map, key, value) {
  map.delete(key)
  map.set(key, value)
  if (map.size > REMEMBERED) map.delete(map.keys().next().value)
}

// What sandbox-runtime would refuse, what only cloche does, and what cannot be kept here.
function throwProblems({ issues, own, refused }) {
  if (issues.length + own.length > 0) throw new errors.SandboxConfigError([...issues, ...own])
  if (refused.length > 0) throw new errors.SandboxUnsupportedError(refused.join('; '))
}

function refuseFunctions(config) {
  if (typeof config?.network?.filterRequest === 'function')
    throw new errors.SandboxUnsupportedError(
      'network.filterRequest is not built in cloche yet: hosts are filtered, requests are not',
    )
}

class Sandbox {
  #binaryNamed
  #config
  #ask
  #askFiles
  #monitors = false
  #session
  #begun // by the constructor
  #starting // { promise, args } while initialize() runs
  #started // the arguments it ended with
  #generation = 0 // counts configurations
  #resets = 0
  #files = new wrap.SettingsFiles()
  #store = new violations.SandboxViolationStore()
  #texts = new Map() // key -> the command's text
  #customs = new Map() // number -> what a call replaced of the network
  #lastCustom = 0
  #tmp // what its commands share, once one wants it
  #lists = new Map() // key -> allowedDomains of one command
  #checked = new Map() // settings that were found good

  askCallbackDenyReason = true

  // With a configuration: initialize() is called with it, and wraps wait for that.
  constructor(config, options) {
    this.#binaryNamed = options?.binary
    this.#askFiles = options?.askFiles ?? undefined
    for (const name of Object.getOwnPropertyNames(Sandbox.prototype))
      if (name !== 'constructor') Object.defineProperty(this, name, { value: this[name].bind(this), enumerable: true })
    if (config) {
      this.#begun = this.initialize(config, options?.ask, options?.enableLogMonitor)
      this.#begun.catch(() => {}) // whoever wraps is told
    }
  }

  // ---- its life ----

  async initialize(config, ask, enableLogMonitor = false, options = undefined) {
    const args = [config, ask, enableLogMonitor, options]
    if (this.#starting && this.#starting.resets !== this.#resets) await this.#starting.promise.catch(() => {})
    if (this.#starting) {
      if (!isDeepStrictEqual(args, this.#starting.args)) throw new errors.SandboxInitializeConflictError()
      return this.#starting.promise
    }
    if (this.#started) {
      if (isDeepStrictEqual(args, this.#started)) return undefined
      throw new errors.SandboxInitializeConflictError(
        'initialize() was called before with a different configuration or different callbacks, which are in force: ' +
          'updateConfig() changes the lists of hosts, reset() ends them all',
      )
    }
    const starting = { args, resets: this.#resets, promise: this.#start(args) }
    this.#starting = starting
    try {
      await starting.promise
    } finally {
      if (this.#starting === starting) this.#starting = undefined
    }
  }

  async #start(args) {
    const [config, ask, enableLogMonitor] = args
    const resets = this.#resets
    const stopIfReset = () => {
      if (this.#resets !== resets) throw new errors.SandboxError('initialize_cancelled', 'initialize() was cancelled by reset()')
    }
    if (!isSupportedPlatform())
      throw new errors.SandboxUnsupportedError('Sandbox dependencies not available: Unsupported platform')
    refuseFunctions(config)
    for (const callback of [ask, this.#askFiles])
      if (callback !== undefined && callback !== null && typeof callback !== 'function')
        throw new errors.SandboxError('invalid_callback', `the callback that is asked must be a function, not ${typeof callback}`)
    const binary = binaries.findBinary(this.#binaryNamed)
    wrap.directoryHere() // what relative paths mean
    throwProblems(await issuesOf(config, binaries.check, binary))
    stopIfReset()
    const session = new Session({
      greet: command => this.#greet(command),
      ask: (command, question) => (question.kind ? this.#judgeFile(question) : this.#judge(command, question)),
      event: (command, event) => this.#note(command, event),
    })
    await session.open()
    if (this.#resets !== resets) await session.close()
    stopIfReset()
    this.#session = session
    this.#config = config
    this.#generation++
    this.#ask = ask ?? undefined
    this.#monitors = enableLogMonitor === true
    this.#started = args
  }

  async reset(options) {
    const force = options?.force === true
    if (!force) await this.#session?.settled()
    const running = this.#session?.running ?? 0
    if (running > 0 && !force)
      throw new errors.SandboxBusyError(
        `${running} sandboxed command${running === 1 ? ' is' : 's are'} still running: wait for ${running === 1 ? 'it' : 'them'}, ` +
          'or reset({ force: true }), after which nobody is asked about hosts and nothing more is told of them',
      )
    this.#resets++
    this.#begun = undefined
    const session = this.#session
    this.#session = undefined
    this.#started = undefined
    this.#ask = undefined
    this.#texts.clear()
    this.#customs.clear()
    this.#lists.clear()
    this.#files.remove()
    const tmp = this.#tmp
    this.#tmp = undefined
    await tmp?.close()
    await session?.close()
  }

  updateConfig(config) {
    refuseFunctions(config)
    wrap.directoryHere()
    throwProblems(issuesOf(config, binaries.checkSync, binaries.findBinary(this.#binaryNamed)))
    this.#config = copyOf(config)
    this.#generation++
    this.#session?.tellAll(command => this.#news(command))
  }

  // Nothing is left behind by a command: there is nothing to do.
  cleanupAfterCommand() {}

  isSupportedPlatform() {
    return isSupportedPlatform()
  }

  isSandboxingEnabled() {
    return this.#config !== undefined
  }

  // Neither ripgrep nor bubblewrap nor socat is needed: the binary, and a host that
  // lets it work.
  checkDependencies() {
    if (!isSupportedPlatform()) return { errors: ['Unsupported platform'], warnings: [] }
    try {
      const binary = binaries.findBinary(this.#binaryNamed)
      const { refused } = issuesOf(merged(undefined, undefined), binaries.checkSync, binary)
      return { errors: refused, warnings: [] }
    } catch (error) {
      return { errors: [error.message], warnings: [] }
    }
  }

  async checkDependenciesAsync() {
    return this.checkDependencies()
  }

  async waitForNetworkInitialization() {
    if (this.#starting) await this.#starting.promise.catch(() => {})
    return this.#session !== undefined
  }

  // ---- wrapping ----

  async wrapWithSandbox(command, binShell, customConfig, abortSignal, options) {
    return wrap.wrappedText(await this.#words(command, binShell, customConfig, abortSignal, options))
  }

  // `cwd` is where the caller will spawn it; relative paths mean this process's all the same.
  async wrapWithSandboxArgv(command, binShell, customConfig, abortSignal, cwd, options) {
    const words = await this.#words(command, binShell, customConfig, abortSignal, options)
    return { argv: wrap.checkWords(words), env: process.env }
  }

  async #words(command, binShell, customConfig, abortSignal, options) {
    abortSignal?.throwIfAborted()
    wrap.checkCommand(command)
    throwProblems({ issues: customIssues(customConfig ?? undefined), own: [], refused: [] })
    if (options?.commandId !== undefined && typeof options.commandId !== 'string')
      throw new errors.SandboxError('invalid_command_id', `commandId must be a string, not ${typeof options.commandId}`)
    const directory = wrap.directoryHere()
    const shell = wrap.shellOf(binShell)
    const key = violations.keyOf(command, options?.commandId)
    await (this.#starting?.promise ?? this.#begun)
    abortSignal?.throwIfAborted()
    const binary = binaries.findBinary(this.#binaryNamed)
    const settings = settingsText(this.#config, customConfig, directory)
    this.#checkCustom(binary, customConfig, settings)
    remember(this.#texts, violations.textOfKey(key), options?.commandText ?? command)
    return wrap.wrappedWords({
      binary,
      asks: this.#session && this.#askFiles,
      tmp: await this.#sharedTmp(binary, customConfig),
      session: this.#session?.introduction(this.#generation, this.#customNumber(customConfig), key),
      settings,
      files: this.#files,
      shell,
      command,
    })
  }

  // Only where it is asked for: as in sandbox-runtime, /tmp is the host's.
  async #sharedTmp(binary, customConfig) {
    if (!this.#session || (customConfig?.filesystem?.tmp ?? this.#config?.filesystem?.tmp) !== 'session') return undefined
    this.#tmp ??= new SharedTmp(binary, this.#config)
    return this.#tmp.place()
  }

  // The session's configuration was checked; what a call makes of it was not.
  #checkCustom(binary, customConfig, settings) {
    if (!customConfig || this.#checked.has(settings)) return
    throwProblems(issuesOf(JSON.parse(settings), binaries.checkSync, binary))
    remember(this.#checked, settings, true)
  }

  #customNumber(customConfig) {
    if (!customConfig?.network) return ''
    this.#lastCustom++
    remember(this.#customs, String(this.#lastCustom), { network: customConfig.network })
    return this.#lastCustom
  }

  // ---- running commands ----

  #news(command) {
    const hosts = !this.#config.network.strictAllowlist && (this.#ask !== undefined || this.#lists.size > 0)
    const asks = hosts || this.#askFiles !== undefined
    const ready = JSON.stringify({ ready: true, asks })
    if (command.generation === this.#generation) return [ready]
    command.generation = this.#generation
    return [listsText(this.#config, this.#customs.get(command.custom)), ready]
  }

  #greet(command) {
    return this.#news(command)
  }

  // deniedDomains, allowedDomains, strictAllowlist, the command's own list, the
  // callback; else no.
  async #judge(command, { host, port }) {
    const no = reason => ({ allow: false, reason })
    const { network } = merged(this.#config, this.#customs.get(command.custom))
    const denied = network.deniedDomains.find(entry => hosts.matches(entry, host, port))
    if (denied !== undefined) {
      const reasons = network.deniedDomainReasons ?? {}
      return no(Object.hasOwn(reasons, denied) ? reasons[denied] : 'host is on the deny list')
    }
    if (network.allowedDomains.some(entry => hosts.matches(entry, host, port))) return { allow: true }
    if (network.strictAllowlist) return no('host is not on the allow list')
    const own = this.#lists.get(violations.textOfKey(command.key)) ?? []
    if (own.some(entry => hosts.matches(entry, host, port))) return { allow: true }
    if (!this.#ask) return no('host is not on the allow list')
    try {
      const answer = await this.#ask({ host, port })
      if (answer === true) return { allow: true }
      const declared = typeof answer === 'object' && answer?.allow === false && typeof answer.reason === 'string'
      return no((declared && violations.shownReason(answer.reason)) || 'user denied')
    } catch {
      return no('permission prompt failed')
    }
  }

  // Only true, once, and 'run', for the rest of it, allow.
  async #judgeFile(question) {
    try {
      const answer = await this.#askFiles(question)
      if (answer === true) return { allow: true }
      return answer === 'run' ? { allow: true, for: 'run' } : { allow: false }
    } catch {
      return { allow: false }
    }
  }

  // What was told before comes once more at the end, with how often it happened.
  #note(command, event) {
    const line = violations.lineOf(event)
    if (line === undefined || (!this.#monitors && !violations.isOfNetwork(event))) return
    const key = violations.textOfKey(command.key)
    const text = this.#texts.get(key) ?? violations.shownKey(key)
    if (violations.isIgnored(violations.isOfNetwork(event) ? line : event.object, text, this.#config?.ignoreViolations)) return
    const times = event.folded ? Math.min(event.count - 1, 100) : 1
    for (let i = 0; i < times; i++)
      this.#store.addViolation({ line, encodedCommand: command.key, command: text, timestamp: new Date(event.time) })
  }

  registerCommandNetworkLists(commandId, lists) {
    const id = typeof commandId === 'string' ? violations.textOfKey(violations.keyOf(commandId)) : ''
    if (id.replaceAll('\ufffd', '').length < COMMAND_ID_MIN)
      throw new errors.SandboxError(
        'invalid_command_id',
        `registerCommandNetworkLists: commandId must be a string of at least ${COMMAND_ID_MIN} characters, unpaired ` +
          'surrogates not counted. It must be random (at least 128 bits, e.g. 16 random bytes as base64url) and never ' +
          'derived from the command text, a counter or the time.',
      )
    const allowed = lists?.allowedDomains ?? []
    if (!Array.isArray(allowed))
      throw new errors.SandboxError(
        'invalid_config',
        'registerCommandNetworkLists: allowedDomains must be an array of strings.',
      )
    this.#checkEntries(allowed)
    const had = this.#lists.size > 0
    this.#lists.set(id, [...allowed])
    if (!had) this.#session?.tellAll(command => this.#news(command))
  }

  #checkEntries(entries) {
    if (entries.length === 0) return
    const network = { allowedDomains: entries, deniedDomains: [] }
    const binary = binaries.findBinary(this.#binaryNamed)
    const { issues } = issuesOf({ ...merged(), network }, binaries.checkSync, binary)
    if (issues.length === 0 && !entries.includes('*')) return
    const wrong = issues.length > 0 ? entries[issues[0].path[2]] : '*'
    throw new errors.SandboxError(
      'invalid_config',
      `registerCommandNetworkLists: invalid allowedDomains entry ${JSON.stringify(wrong)}. ${issues[0]?.message ?? ''}`.trim(),
    )
  }

  unregisterCommandNetworkLists(commandId) {
    if (typeof commandId === 'string') this.#lists.delete(violations.textOfKey(violations.keyOf(commandId)))
  }

  getSandboxViolationStore() {
    return this.#store
  }

  annotateStderrWithSandboxFailures(command, stderr) {
    const found = this.#config ? this.#store.getViolationsForCommand(command) : []
    if (found.length === 0) return stderr
    return `${stderr}\n<sandbox_violations>\n${found.map(({ line }) => `${line}\n`).join('')}</sandbox_violations>`
  }

  // ---- what is configured ----

  getConfig() {
    return this.#config
  }

  // Patterns are held as patterns: they stand here as they were spelled.
  getFsReadConfig() {
    const filesystem = this.#config?.filesystem
    if (!filesystem || filesystem.disabled) return { denyOnly: [], allowWithinDeny: [] }
    const secret = (this.#config.credentials?.files ?? []).filter(file => file.mode === 'deny').map(file => file.path)
    const list = entries => [...new Set(paths.spelled(entries).map(paths.withoutSubtree))]
    return {
      denyOnly: [...new Set([...list(filesystem.denyRead), ...list(secret)])],
      ...(secret.length > 0 && { credentialDenyOnly: list(secret) }),
      allowWithinDeny: list(filesystem.allowRead),
      unlistableDenyDirs: [],
      ...nonEmpty('literalDenyOnly', paths.literals(filesystem.denyRead)),
      ...nonEmpty('literalAllowWithinDeny', paths.literals(filesystem.allowRead)),
    }
  }

  getFsWriteConfig() {
    const filesystem = this.#config?.filesystem
    if (!filesystem) return { allowOnly: paths.getDefaultWritePaths(), denyWithinAllow: [] }
    if (filesystem.disabled) return { allowOnly: ['/'], denyWithinAllow: [] }
    const secret = (this.#config.credentials?.files ?? []).filter(file => file.mode === 'deny').map(file => file.path)
    const withoutSecrets = paths.getDefaultWritePaths({ denyRead: secret })
    return {
      allowOnly: [
        ...paths.getDefaultWritePaths(filesystem).filter(path => withoutSecrets.includes(path)),
        ...paths.spelled(filesystem.allowWrite).map(paths.withoutSubtree),
      ],
      denyWithinAllow: paths.spelled(filesystem.denyWrite).map(paths.withoutSubtree),
      ...nonEmpty('literalAllowOnly', paths.literals(filesystem.allowWrite)),
      ...nonEmpty('literalDenyWithinAllow', paths.literals(filesystem.denyWrite)),
    }
  }

  getNetworkRestrictionConfig() {
    if (!this.#config) return {}
    const { allowedDomains, deniedDomains } = this.#config.network
    return { allowedHosts: allowedDomains, ...nonEmpty('deniedHosts', deniedDomains) }
  }

  getAllowUnixSockets() {
    return this.#config?.network.allowUnixSockets
  }

  getAllowLocalBinding() {
    return this.#config?.network.allowLocalBinding
  }

  getAllowMachLookup() {
    return this.#config?.network.allowMachLookup
  }

  getIgnoreViolations() {
    return this.#config?.ignoreViolations
  }

  getEnableWeakerNestedSandbox() {
    return this.#config?.enableWeakerNestedSandbox
  }

  // Every pattern is held on Linux too: there is nothing to warn of.
  getLinuxGlobPatternWarnings() {
    return []
  }

  // Each command has proxies of its own, which nobody else can reach: the session has
  // none, but for those that were named.
  getProxyPort() {
    return this.#config?.network.httpProxyPort
  }

  getSocksProxyPort() {
    return this.#config?.network.socksProxyPort
  }

  getProxyAuthToken() {
    return undefined
  }

  getLinuxHttpSocketPath() {
    return undefined
  }

  getLinuxSocksSocketPath() {
    return undefined
  }

  getMitmCA() {
    return undefined
  }

  getSentinelRegistry() {
    throw new errors.SandboxUnsupportedError('masked credentials are not built in cloche yet')
  }

  getAwsPairRegistry() {
    throw new errors.SandboxUnsupportedError('masked credentials are not built in cloche yet')
  }

  getMaskedFileStore() {
    throw new errors.SandboxUnsupportedError('masked credentials are not built in cloche yet')
  }

  getWindowsBackend() {
    return undefined
  }

  getWindowsProfileRead() {
    return undefined
  }

  getWindowsProfileReadWarnings() {
    return []
  }

  getWindowsProfileReadRefresh() {
    return undefined
  }
}

// Functions in keys that nobody knows are left out, as in what the binary is given.
function copyOf(config) {
  try {
    return structuredClone(config)
  } catch {
    return JSON.parse(JSON.stringify(config))
  }
}

function isSupportedPlatform() {
  return process.platform === 'linux' && paths.getWslVersion() !== '1'
}

function nonEmpty(name, list) {
  return list.length > 0 ? { [name]: list } : {}
}

module.exports = { Sandbox }
