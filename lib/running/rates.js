'use strict';

const { addon } = require('../reactor/addon');

/**
 * The rates at which each connection of a server may send. The reactors and streams count in one
 * place.
 */
class Rates {
  /**
   * @param {number} messages Messages, pings and pongs in a second; 0 is no limit
   * @param {number} bytes Bytes of the socket in a second; 0 is no limit
   * @param {boolean} closes Whether a client that sends more is closed, and not only read later
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
