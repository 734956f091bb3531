'use strict';

const { emit } = require('node:events').prototype;

/**
 * `emit` of Node's emitters, which shows its arguments to the listeners only; null where a domain,
 * a tracer or the like has put another in its place before this module was loaded. Node has no
 * public way to find out, so the source is searched: only Node's own `emit` looks for error
 * monitors.
 */
const nodeEmit = Function.prototype.toString.call(emit).includes('kErrorMonitor') ? emit : null;

module.exports = { nodeEmit };
