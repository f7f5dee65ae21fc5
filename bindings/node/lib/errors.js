'use strict'
// Every refusal has a class and a code, so that a program can tell them apart
// without reading the words; the words say what was attempted, why it cannot be
// done and, where we know it, what to do.

class SandboxError extends Error {
  constructor(code, message, options) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

// initialize() while another configuration is being put in force, or is.
class SandboxInitializeConflictError extends SandboxError {
  constructor(message) {
    super(
      'initialize_conflict',
      message ??
        'initialize() is already running with a different configuration or different callbacks: wait for it, or ' +
          'reset() first',
    )
  }
}

// The name and the codes are those of sandbox-runtime; nul_in_command is ours.
class LinuxSandboxProfileError extends SandboxError {}

// `issues` as zod has them: { path, message, code }.
class SandboxConfigError extends SandboxError {
  constructor(issues) {
    super('invalid_config', issues.map(issue => `${pathText(issue.path)}: ${issue.message}`).join('; '))
    this.issues = issues
    this.errors = issues
  }
}

// Valid, but cloche cannot keep it: not built, or not on this host.
class SandboxUnsupportedError extends SandboxError {
  constructor(message) {
    super('unsupported', message)
  }
}

// The binary is missing, is another version, or did not answer.
class SandboxBinaryError extends SandboxError {}

// reset() while commands run.
class SandboxBusyError extends SandboxError {
  constructor(message) {
    super('commands_running', message)
  }
}

function pathText(path) {
  return path.length > 0 ? path.join('.') : '(root)'
}

module.exports = {
  SandboxError,
  SandboxInitializeConflictError,
  LinuxSandboxProfileError,
  SandboxConfigError,
  SandboxUnsupportedError,
  SandboxBinaryError,
  SandboxBusyError,
  pathText,
}
