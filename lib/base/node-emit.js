'use strict';

const { emit } = require('node:events').prototype;

/**
 * Node's own `emit`, which passes arguments to listeners only; null if a domain or a tracer has replaced it. Only its
 * source mentions error monitors.
 */
const nodeEmit = Function.prototype.toString.call(emit).includes('kErrorMonitor') ? emit : null;

module.exports = { nodeEmit };
