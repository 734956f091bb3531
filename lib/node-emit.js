'use strict';

const { emit } = require('node:events').prototype;

/**
 * `emit` of Node's emitters, which shows the arguments to nobody but the listeners; null where
 * somebody put another in its place before this module was loaded (a domain, a tracer). Node has no
 * public way to tell: only its own looks for error monitors.
 */
const nodeEmit = Function.prototype.toString.call(emit).includes('kErrorMonitor') ? emit : null;

module.exports = { nodeEmit };
