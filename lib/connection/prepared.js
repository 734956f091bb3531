'use strict';

const { CLIENT } = require('../base/bits');
const { FIRST_PREPARED, KIND_MASK, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_TEXT, frameBytes } = require('../base/layout');
const { state } = require('../reactor/link');
const outbox = require('../reactor/outbox');
const { BINARY, TEXT, copyOf, isBlob, tagOf, toBytes } = require('./arguments');
const { KEY_BYTES, post, push } = require('./post');

/** @import { PrepareOptions } from '../../types/sending' */

/** @import { SentCallback, WebSocket } from './state' */

/** The number of the next message that needs one of its own. */
let next = FIRST_PREPARED;
/** Numbers that can be used again: those of 32 bits would run out. @type {number[]} */
const free = [];
/** Those of messages that nothing refers to. V8 may report a hundred thousand at once. @type {number[]} */
const unused = [];
/** Most of them that are freed in one turn of the event loop. */
const MOST_FREED = 4096;
const registry = new FinalizationRegistry((/** @type {number} */ number) => {
  if (unused.push(number) === 1) setImmediate(freeSome);
});

function freeSome() {
  const numbers = unused.splice(-MOST_FREED);
  // Records that name the messages come first.
  outbox.flush();
  state.native.forget(Uint32Array.from(numbers));
  free.push(...numbers);
  if (unused.length !== 0) setImmediate(freeSome);
}

/** A message that was made ready to be sent to many connections. */
class PreparedMessage {
  #data;
  #tag;
  #length;
  /** The number of the reactor's copy; -1 before it has one. */
  #number = -1;

  /**
   * @param {unknown} data As `send()` takes it, but no Blob
   * @param {PrepareOptions | null} [options] `binary` and `compress`, as of `send()`
   */
  constructor(data, options) {
    if (isBlob(data)) throw new TypeError('A Blob has to be read before it can be prepared');
    const content = typeof data === 'number' ? data.toString() : data;
    const isText = typeof content === 'string';
    const tag = options === undefined || options === null ? null : tagOf(options, !isText);
    this.#tag = tag ?? (isText ? TEXT : BINARY);
    if ((this.#tag & OUT_FLAG_FIN) === 0) throw new TypeError('Only a whole message can be prepared: fin must not be false');
    // A copy: the caller may use its memory again.
    this.#data = isText ? content : copyOf(toBytes(content));
    this.#length = isText ? Buffer.byteLength(content) : this.#data.length;
  }

  /** Bytes of the message, before compression. */
  get length() {
    return this.#length;
  }

  /** Queues the message. @type {(message: PreparedMessage, ws: WebSocket, callback?: SentCallback) => void} */
  static post(message, ws, callback) {
    if (ws._extra?.stream?.generateMask) {
      post(ws, message.#tag, message.#data, callback);
      return;
    }
    push(ws, message.#tag, message.#give(), callback);
    ws._accepted += frameBytes(message.#length) + ((ws._bits & CLIENT) === 0 ? 0 : KEY_BYTES);
  }

  /** @type {(message: PreparedMessage) => { tag: number, data: string | Uint8Array, prepared: PreparedMessage }} */
  static contentOf(message) {
    return { tag: message.#tag, data: message.#data, prepared: message };
  }

  /** The number of the reactor's copy, which exists from now on. @type {(message: PreparedMessage) => number} */
  static numberOf(message) {
    return message.#give();
  }

  /**
   * Gives the reactor a copy of the message, unless it has one.
   *
   * @returns {number} The number by which records refer to it
   */
  #give() {
    if (this.#number === -1) {
      const bytes = typeof this.#data === 'string' ? Buffer.from(this.#data) : this.#data;
      const number = free.pop() ?? next++;
      state.native.prepare(number, (this.#tag & KIND_MASK) === OUT_TEXT, (this.#tag & OUT_FLAG_COMPRESS) !== 0, bytes);
      this.#number = number;
      registry.register(this, number);
    }
    return this.#number;
  }
}

/**
 * Makes a message ready to be sent to many connections: it is framed once, and compressed once where connections
 * have no context takeover.
 *
 * @type {(data: unknown, options?: PrepareOptions | null) => PreparedMessage}
 * @throws {TypeError} For a Blob, `fin: false`, and data that `send()` refuses
 */
function prepare(data, options) {
  return new PreparedMessage(data, options);
}

module.exports = { PreparedMessage, prepare };
