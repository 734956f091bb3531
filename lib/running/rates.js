'use strict';

const { addon } = require('../reactor/addon');

/** How fast each client may send. The reactors and streams count in one place. */
class Rates {
  /**
   * @param {number} messages With pings and pongs, in a second; 0 is no limit
   * @param {number} bytes Of the socket in a second; 0 is no limit
   * @param {boolean} closes Whether a faster client is closed, instead of read later
   */
  constructor(messages, bytes, closes) {
    this.messages = messages;
    this.bytes = bytes;
    this.closes = closes;
    const limits = { messagesPerSecond: messages, bytesPerSecond: bytes, closes };
    this.native = new (addon().Rates)(limits);
  }
}

module.exports = { Rates };
