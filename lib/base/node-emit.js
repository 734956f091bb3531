'use strict';

const { emit } = require('node:events').prototype;

/**
 * Node's own `emit`, which shows its arguments to listeners only; null if a domain or a tracer has
 * replaced it already. The source tells: only Node's `emit` looks for error monitors.
 */
const nodeEmit = Function.prototype.toString.call(emit).includes('kErrorMonitor') ? emit : null;

module.exports = { nodeEmit };
