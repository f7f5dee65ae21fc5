export * from './index.js'
import * as cloche from './index.js'
export default cloche
