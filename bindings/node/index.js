'use strict'
const { Sandbox } = require('./lib/sandbox.js')
const { buildGitConfigEnv, getDefaultWritePaths, getWslVersion, realPathOf, writeRootsOf } = require('./lib/paths.js')
const { SandboxViolationStore } = require('./lib/violations.js')
const { pathText, ...errors } = require('./lib/errors.js')
const { VALID, issuesOf, withoutFunctions, ...schemas } = require('./lib/schema.js')
const { version } = require('./package.json')

module.exports = {
  Sandbox,
  SandboxManager: new Sandbox(),
  SandboxViolationStore,
  buildGitConfigEnv,
  getDefaultWritePaths,
  getWslVersion,
  realPathOf,
  writeRootsOf,
  version,
  ...errors,
  ...schemas,
  ...require('./lib/elsewhere.js'),
}
