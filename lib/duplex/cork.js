'use strict';

const net = require('node:net');
const tls = require('node:tls');

const { HEADROOM } = require('../reactor/layout');
const { borrow, giveBack, isDone, isUnchanged } = require('./frame-memory');

/** @import { AnySocket, SentCallback } from '../connection/state' */

/** Streams that have been written to in this tick. */
let corked = /** @type {Cork[]} */ ([]);

/** Streams whose handlers run. */
const holding = /** @type {Cork[]} */ ([]);

/**
 * How frames get to a stream. What is written to a socket of Node in a tick, or by the handlers of
 * a chunk, is held back, so that it leaves together: no handler runs in there, and nothing is
 * thrown. Any other stream may do both when it is written to. So each frame is written as it is
 * sent, as in ws, and what that throws is thrown by `send()`.
 */
class Cork {
  /** @param {AnySocket} socket The stream, a Duplex; undocumented members are looked at */
  constructor(socket) {
    this.socket = socket;
    this.holdsBack = isUnchanged(socket, net.Socket.prototype) || isUnchanged(socket, tls.TLSSocket.prototype);
    this.isIn = false;
    this.isHolding = false;
    /** Whether `pull` is called in the next tick. */
    this.isQueued = false;
    this.lendsMemory = isDone(socket);
  }

  /** The handlers of a chunk begin. */
  hold() {
    this.isHolding = true;
    holding.push(this);
  }

  /** The handlers have run. Of nested streams, the one that began last comes first. */
  release() {
    this.isHolding = false;
    holding.pop();
    if (!this.isQueued) this.pull();
  }

  /**
   * @param {number} length Bytes of a payload
   * @returns {Buffer | null} Memory for its frame, which `write` gives back; null where new memory
   *   is as cheap
   */
  borrow(length) {
    return this.lendsMemory ? borrow(HEADROOM + length) : null;
  }

  /**
   * @param {string | Uint8Array} data The payload
   * @param {SentCallback} [callback] Called when the stream has written it
   * @param {Buffer | null} [block] The memory borrowed for it
   */
  write(data, callback, block) {
    if (this.holdsBack) this.putIn(callback !== undefined);
    if (!block && callback === undefined) {
      this.socket.write(data);
      return;
    }
    let isCalled = false;
    this.socket.write(data, (/** @type {Error | null | undefined} */ error) => {
      // For a write that is made in the callback of one that failed, Node first reports that it
      // failed too, and then how it went.
      if (isCalled) return;
      isCalled = true;
      if (block) giveBack(block, !error);
      callback?.(error ?? null);
    });
  }

  /**
   * Writes what belongs together.
   *
   * @param {Array<string | Uint8Array>} list The pieces of one frame, in order
   * @param {SentCallback} [callback] Called when the stream has written the last one
   */
  writeAll(list, callback) {
    const last = list.length - 1;
    this.socket.cork();
    for (const [index, part] of list.entries()) this.write(part, index === last ? callback : undefined);
    this.socket.uncork();
  }

  /** @param {boolean} hasCallback Whether the next write has a callback */
  putIn(hasCallback) {
    if (!this.isIn) {
      this.isIn = true;
      this.socket.cork();
    }
    // A callback has the async context of its send: that of the tick.
    if (!this.isQueued && (!this.isHolding || hasCallback)) {
      this.isQueued = true;
      if (corked.push(this) === 1) process.nextTick(pullWritten);
    }
  }

  /** The held frames leave now. */
  pull() {
    if (!this.isIn) return;
    this.isIn = false;
    this.isQueued = false;
    this.socket.uncork();
  }
}

function pullWritten() {
  const corks = corked;
  corked = [];
  pullEach(corks, 0);
}

/**
 * Should one stream throw, the others are pulled all the same.
 *
 * @param {Cork[]} corks Streams that have been written to
 * @param {number} next Index of the first that is to be pulled
 */
function pullEach(corks, next) {
  try {
    while (next < corks.length) corks[next++].pull();
  } finally {
    if (next < corks.length) pullEach(corks, next);
  }
}

/** The held frames of all streams leave now. */
function pullAll() {
  pullEach([...holding], 0);
  pullWritten();
}

module.exports = { Cork, pullAll };
