'use strict';

const { CLIENT } = require('../base/bits');
const { FIRST_PREPARED, KIND_MASK, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_TEXT, frameBytes } = require('../base/layout');
const { state } = require('../reactor/link');
const outbox = require('../reactor/outbox');
const { BINARY, TEXT, copyOf, isBlob, tagOf, toBytes } = require('./arguments');
const { KEY_BYTES, post, push } = require('./post');

/** @import { PrepareOptions } from '../../types/sending' */

/** @import { SentCallback, WebSocket } from './state' */

/** The next new number. */
let next = FIRST_PREPARED;
/** Reusable numbers: 32 bits would run out. @type {number[]} */
const free = [];
/** Numbers of collected messages. V8 may report 100,000 at once. @type {number[]} */
const unused = [];
/** In one turn of the event loop. */
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

class PreparedMessage {
  #data;
  #tag;
  #length;
  /** Of the reactor's copy; -1 before it has one. */
  #number = -1;

  /** @param {unknown} data As for `send()`, but no Blob @param {PrepareOptions | null} [options] */
  constructor(data, options) {
    if (isBlob(data)) throw new TypeError('A Blob has to be read before it can be prepared');
    const content = typeof data === 'number' ? data.toString() : data;
    const isText = typeof content === 'string';
    const tag = options === undefined || options === null ? null : tagOf(options, !isText);
    this.#tag = tag ?? (isText ? TEXT : BINARY);
    if ((this.#tag & OUT_FLAG_FIN) === 0) throw new TypeError('Only a whole message can be prepared: fin must not be false');
    // A copy, as the caller may reuse its memory.
    this.#data = isText ? content : copyOf(toBytes(content));
    this.#length = isText ? Buffer.byteLength(content) : this.#data.length;
  }

  /** Bytes before compression. */
  get length() {
    return this.#length;
  }

  /** @type {(message: PreparedMessage, ws: WebSocket, callback?: SentCallback) => void} */
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

  /** The number of the reactor's copy, which exists from now on. @param {PreparedMessage} message */
  static numberOf(message) {
    return message.#give();
  }

  /** Makes the reactor's copy, unless there is one. Returns its number. */
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
 * Makes a message ready for many connections: framed once, and compressed once for those without context takeover.
 *
 * @type {(data: unknown, options?: PrepareOptions | null) => PreparedMessage}
 * @throws {TypeError} For a Blob, `fin: false`, and data that `send()` refuses
 */
function prepare(data, options) {
  return new PreparedMessage(data, options);
}

module.exports = { PreparedMessage, prepare };
