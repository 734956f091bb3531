'use strict';

/** Streams that have been written to in this tick. */
let corked = /** @type {Cork[]} */ ([]);

/** Holds back what is written to a stream in a tick, so that it leaves together. */
class Cork {
  /** @param {any} socket Duplex */
  constructor(socket) {
    this.socket = socket;
    this.isIn = false;
  }

  /**
   * @param {string | Uint8Array} data
   * @param {any} [callback]
   */
  write(data, callback) {
    if (!this.isIn) {
      this.isIn = true;
      this.socket.cork();
      if (corked.push(this) === 1) process.nextTick(pullAll);
    }
    this.socket.write(data, callback);
  }

  /** What was written leaves now. */
  pull() {
    if (!this.isIn) return;
    this.isIn = false;
    this.socket.uncork();
  }
}

/** What was written to any stream leaves now. */
function pullAll() {
  const corks = corked;
  corked = [];
  for (const cork of corks) cork.pull();
}

module.exports = { Cork, pullAll };
