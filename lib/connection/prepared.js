'use strict';

const { STREAM } = require('../bits');
const { KIND_MASK, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_PREPARED, OUT_TEXT, frameBytes } = require('../reactor/layout');
const outbox = require('../reactor/outbox');
const { BINARY, TEXT, copyOf, isBlob, tagOf, toBytes } = require('./arguments');
const { post, push } = require('./outgoing');

/** @import { PrepareOptions } from '../../types/sending' */

/** @import { SentCallback, WebSocket } from './state' */

/** Numbers of the messages that the reactor has. */
let last = 0;
const registry = new FinalizationRegistry((/** @type {number} */ number) => outbox.forgetPrepared(number));

/** A message that was made ready to be sent to many connections. */
class PreparedMessage {
  #data;
  #tag;
  #length;
  /** Of the reactor's copy; 0 before it has one. */
  #number = 0;

  /**
   * @param {any} data As `send()` takes it, but no Blob
   * @param {PrepareOptions | null} [options]
   */
  constructor(data, options) {
    if (typeof data === 'number') data = data.toString();
    if (isBlob(data)) throw new TypeError('A Blob has to be read before it can be prepared');
    const isText = typeof data === 'string';
    const tag = options === undefined || options === null ? null : tagOf(options, !isText);
    this.#tag = tag ?? (isText ? TEXT : BINARY);
    if ((this.#tag & OUT_FLAG_FIN) === 0) throw new TypeError('Only a whole message can be prepared: fin must not be false');
    // What the caller does with its bytes afterwards must not matter.
    this.#data = isText ? data : copyOf(toBytes(data));
    this.#length = isText ? Buffer.byteLength(data) : this.#data.length;
  }

  /** Bytes of the message, before compression. */
  get length() {
    return this.#length;
  }

  /**
   * Queues the message.
   *
   * @param {PreparedMessage} message
   * @param {WebSocket} ws
   * @param {SentCallback} [callback] Called when the bytes were handed to the kernel
   */
  static post(message, ws, callback) {
    if ((ws._bits & STREAM) !== 0) {
      post(ws, message.#tag, message.#data, callback);
      return;
    }
    push(ws, OUT_PREPARED, message.#give(), callback);
    ws._accepted += frameBytes(message.#length);
  }

  /** The number by which the reactor knows the message; it gets it now if it has not got it. */
  #give() {
    if (this.#number === 0) {
      const bytes = typeof this.#data === 'string' ? Buffer.from(this.#data) : this.#data;
      outbox.addPrepared(last + 1, (this.#tag & KIND_MASK) === OUT_TEXT, (this.#tag & OUT_FLAG_COMPRESS) !== 0, bytes);
      this.#number = ++last;
      registry.register(this, last);
    }
    return this.#number;
  }
}

/**
 * Makes a message ready to be sent to many connections: it is framed once, and compressed once
 * where connections have no context takeover.
 *
 * @param {any} data As `send()` takes it, but no Blob
 * @param {PrepareOptions | null} [options]
 * @returns {PreparedMessage}
 * @throws {TypeError} For a Blob, `fin: false`, and what `send()` does not take
 */
function prepare(data, options) {
  return new PreparedMessage(data, options);
}

module.exports = { PreparedMessage, prepare };
