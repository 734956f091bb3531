'use strict';

const { borrow, giveBack, isDone } = require('./blocks');
const { HEADROOM } = require('./stream-engine');

/** Streams that have been written to in this tick. */
let corked = /** @type {Cork[]} */ ([]);

/** Streams whose handlers run. */
const holding = /** @type {Cork[]} */ ([]);

/** Holds back what is written to a stream in a tick, or by the handlers of a chunk, so that it leaves together. */
class Cork {
  /** @param {any} socket Duplex */
  constructor(socket) {
    this.socket = socket;
    this.isIn = false;
    this.isHolding = false;
    this.lendsMemory = isDone(socket);
  }

  /** The handlers of a chunk begin. */
  hold() {
    this.isHolding = true;
    holding.push(this);
  }

  /** The handlers have run; those of the stream that began last, first. */
  release() {
    this.isHolding = false;
    holding.pop();
    this.pull();
  }

  /**
   * @param {number} length Bytes of a payload
   * @returns {Buffer | null} Memory for its frame, which `write` has to be told of
   */
  borrow(length) {
    return this.lendsMemory ? borrow(HEADROOM + length) : null;
  }

  /**
   * @param {string | Uint8Array} data
   * @param {any} [callback]
   * @param {Buffer | null} [block] What was borrowed for it
   */
  write(data, callback, block) {
    if (!this.isIn) {
      this.isIn = true;
      this.socket.cork();
      if (!this.isHolding && corked.push(this) === 1) process.nextTick(pullWritten);
    }
    if (!block) {
      this.socket.write(data, callback);
      return;
    }
    this.socket.write(data, (/** @type {any} */ error) => {
      giveBack(block);
      callback?.(error);
    });
  }

  /** What was written leaves now. */
  pull() {
    if (!this.isIn) return;
    this.isIn = false;
    this.socket.uncork();
  }
}

function pullWritten() {
  const corks = corked;
  corked = [];
  for (const cork of corks) cork.pull();
}

/** What was written to any stream leaves now. */
function pullAll() {
  for (const cork of holding) cork.pull();
  pullWritten();
}

module.exports = { Cork, pullAll };
