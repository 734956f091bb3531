'use strict';

const { performance } = require('node:perf_hooks');
// Not the global one, which a test can replace.
const { setInterval } = require('node:timers');

const { root } = require('../base/async-context');

/** Milliseconds. */
const INTERVAL = 100;

/** Bounds: 1 us, 2 us, 4 us and so on; the last has none, as in reactors. */
const buckets = new Array(25).fill(0);

/** Seconds. */
let sum = 0;

/** When the next look is due, in milliseconds; NaN before the first. */
let due = NaN;

function look() {
  const now = performance.now();
  const late = Math.max(now - due, 0) / 1000;
  buckets[Math.min(Math.max(Math.ceil(Math.log2(late * 1e6)), 0), buckets.length - 1)]++;
  sum += late;
  due = now + INTERVAL;
}

/**
 * Seconds that the event loop of this thread has worked and waited, and how late its timers were, since the first call.
 *
 * @type {() => { active: number, idle: number, delay: { buckets: number[], sum: number } }}
 */
function eventLoop() {
  if (Number.isNaN(due)) {
    due = performance.now() + INTERVAL;
    // Outside of the first caller's async context.
    root.runInAsyncScope(setInterval, null, look, INTERVAL).unref();
  }
  let used = { active: 0, idle: 0 };
  try {
    used = performance.eventLoopUtilization();
  } catch {
    // Not in Bun and Deno.
  }
  return { active: used.active / 1000, idle: used.idle / 1000, delay: { buckets, sum } };
}

module.exports = { eventLoop };
