'use strict';

// Records that come before what other code of the process is about to see.

const { executionAsyncId } = require('node:async_hooks');
const { root } = require('../async-context');
const { addon } = require('./addon');
const { checkpoint } = require('./checkpoint');
const { incoming, settle: settleReactors } = require('./crossing');
const { isDelivering, isPostponed, turn } = require('./dispatch');
const { state } = require('./table');

/** The most ticks that may throw in a turn in the middle of another callback. */
const MOST_THROWN = 64;

/**
 * Delivers what waits now, in the middle of another callback: other code of this process is about
 * to see the reactor's work, whose records come first.
 */
function catchUp() {
  if (state.native !== null) root.runInAsyncScope(turnWithin);
}

/**
 * A turn in the middle of another callback. What a handler throws is thrown later. What a tick
 * throws is reported at once: the tick's frame is still on the async stack, which Node clears with
 * the report. Otherwise it ends the process when the callback returns.
 */
function turnWithin() {
  let step = turn;
  // Node goes on with the ticks behind the last one in another turn of the event loop.
  for (let thrown = 0; thrown < MOST_THROWN; thrown++) {
    try {
      return step();
    } catch (error) {
      if (executionAsyncId() === root.asyncId()) return process.nextTick(rethrow, error);
      addon().report(error);
      step = checkpoint;
    }
  }
}

/**
 * Acts on a connection or a request of a server of Node's. In one event loop, bytes that came to
 * ours before would have been read before.
 *
 * @param {unknown} message The message of the channel: `{ socket }`, or of another type in another
 *   version of Node
 */
function settle(message) {
  // Without a handle the bytes are those of the program, which may be in the middle of anything.
  const { socket } = /** @type {{ socket?: { _handle?: unknown } }} */ (message);
  if (socket?._handle == null) return;
  if (isPostponed() || isDelivering()) {
    incoming.unsettled++;
    return;
  }
  if (!settleReactors()) return;
  catchUp();
  // What is left over comes later.
  if (isPostponed()) incoming.unsettled++;
}

/** @param {unknown} error The exception of a handler */
function rethrow(error) {
  throw error;
}

module.exports = { catchUp, settle };
