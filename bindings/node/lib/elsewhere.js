'use strict'
// What sandbox-runtime exports for Windows, and for certificates of its own: cloche
// has none of it, and says so by name.

const { SandboxError, SandboxUnsupportedError } = require('./errors.js')

class WindowsSandboxError extends SandboxError {
  constructor(code, message, subcommand) {
    super(code, message)
    this.subcommand = subcommand
  }
}

function absent(name, why) {
  return {
    [name]() {
      throw new SandboxUnsupportedError(`${name}() is not there: ${why}`)
    },
  }[name]
}

const WINDOWS = [
  'checkWindowsDependenciesAsync',
  'checkWindowsSandboxStatus',
  'checkWindowsSandboxStatusAsync',
  'ensurePersistentWindowsCa',
  'expandWindowsFsPaths',
  'forgetWindowsProfileRead',
  'forgetWindowsProfileReadAsync',
  'getSrtWinPath',
  'getWindowsProfileReadStatus',
  'getWindowsProfileReadStatusAsync',
  'getWindowsSandboxCaCert',
  'getWindowsSandboxUserStatus',
  'getWindowsSandboxUserStatusAsync',
  'getWindowsWfpStatus',
  'getWindowsWfpStatusAsync',
  'grantWindowsAcl',
  'grantWindowsProfileRead',
  'installWindowsSandbox',
  'installWindowsSandboxAsync',
  'isUncPath',
  'parseWindowsBinShell',
  'parseWindowsSandboxError',
  'resolveSrtWin',
  'restoreWindowsAcl',
  'revokeWindowsAcl',
  'revokeWindowsAclChecked',
  'stampWindowsAcl',
  'uninstallWindowsSandbox',
  'verifyWindowsWfpEgress',
  'windowsInstallInstructions',
  'windowsProfileExclusionConflicts',
  'windowsProfileGrantNotice',
  'windowsProfileGrantSkipReason',
  'windowsProfileReadEnv',
  'windowsStateDir',
  'windowsTrustCa',
  'windowsTrustCaAsync',
]

const CERTIFICATES = ['certThumbprint', 'generateCa', 'validateCaPair']

module.exports = {
  WindowsSandboxError,
  ...Object.fromEntries(WINDOWS.map(name => [name, absent(name, 'cloche is for Linux')])),
  ...Object.fromEntries(CERTIFICATES.map(name => [name, absent(name, 'TLS is not terminated by cloche yet')])),
}
