'use strict';

const { borrow, giveBack, isDone } = require('./blocks');
const { HEADROOM } = require('./stream-engine');

/** Those that have written in this tick. */
let corked = /** @type {StreamWriter[]} */ ([]);

/** Those that hold what they write until the handlers of a chunk have run. */
const holding = /** @type {StreamWriter[]} */ ([]);

let isListening = false;

/** Writes to a stream. All writes of a tick, or of the handlers of a chunk, leave together. */
class StreamWriter {
  /** @param {any} socket Duplex */
  constructor(socket) {
    if (!isListening) process.once('exit', uncorkEverything);
    isListening = true;
    this.socket = socket;
    this.lendsMemory = isDone(socket);
    this.isCorked = false;
    this.isHolding = false;
  }

  /** The handlers of a chunk begin. */
  hold() {
    this.isHolding = true;
    holding.push(this);
  }

  /** The handlers have run: those that began last, first. */
  release() {
    this.isHolding = false;
    holding.pop();
    this.uncork();
  }

  /**
   * @param {number} length Bytes of a payload
   * @returns {Buffer | null} Memory for the frame, which `write` has to be told of
   */
  borrow(length) {
    return this.lendsMemory ? borrow(HEADROOM + length) : null;
  }

  /**
   * Writes bytes as they are.
   *
   * @param {string | Uint8Array} data
   * @param {any} [callback] Called when the stream has written it
   * @param {Buffer | null} [block] What was borrowed for it
   */
  write(data, callback, block) {
    if (!this.isCorked) {
      this.isCorked = true;
      this.socket.cork();
      if (!this.isHolding && corked.push(this) === 1) process.nextTick(uncorkAll);
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

  uncork() {
    if (!this.isCorked) return;
    this.isCorked = false;
    this.socket.uncork();
  }
}

function uncorkAll() {
  const writers = corked;
  corked = [];
  for (const writer of writers) writer.uncork();
}

/** The process exits, in a handler perhaps. */
function uncorkEverything() {
  for (const writer of holding) writer.uncork();
  uncorkAll();
}

module.exports = { StreamWriter };
