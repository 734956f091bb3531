'use strict';

const { EMPTY_BUFFER, FastBuffer } = require('../constants');
const { shortLived } = require('../reactor/message-memory');

/** Bytes: shorter parts are copied, for a view takes more memory than they do. */
const LEAST_KEPT = 4 * 1024;

/** Most bytes of copies in one piece of memory. */
const MOST_COPIED = 64 * 1024;

/**
 * The parts of a message that is not all in one chunk: views of the chunks, until they are put
 * together. Memory held grows with bytes received: at most twice as much, and `LEAST_KEPT`.
 */
class Parts {
  constructor() {
    /** @type {Buffer[]} */
    this.list = [];
    this.length = 0;
    /** The chunk of the first part, if it may be written to. */
    this.first = /** @type {Buffer} */ (EMPTY_BUFFER);
    /**
     * The memory in which short parts are collected, behind those of the list, and its bytes in
     * use.
     */
    this.room = EMPTY_BUFFER;
    this.used = 0;
  }

  /**
   * @param {Buffer} chunk The chunk that the stream has read
   * @param {number} offset Offset of the part in the chunk
   * @param {number} length Bytes of the part
   * @param {boolean} isFree Whether the chunk may be written to: nothing else of it was handed out
   */
  add(chunk, offset, length, isFree) {
    const part = new FastBuffer(chunk.buffer, chunk.byteOffset + offset, length);
    if (isFree && this.length === 0) this.first = chunk;
    this.length += length;
    // A view keeps all of its ArrayBuffer.
    if (length >= LEAST_KEPT && length >= chunk.buffer.byteLength / 2) {
      this.close();
      this.list.push(part);
      return;
    }
    if (this.used + length > this.room.length) this.grow(length);
    this.room.set(part, this.used);
    this.used += length;
  }

  /**
   * The message.
   *
   * @param {Buffer} chunk The chunk that the stream has read
   * @param {number} offset Offset of the last part in the chunk
   * @param {number} length Bytes of the last part, which may be empty
   * @returns {Buffer} All parts in one piece
   */
  end(chunk, offset, length) {
    this.close();
    const total = this.length + length;
    // TLS cuts a message of 16 KiB a few bytes before its end, as many as there are before its
    // beginning. Bytes in the cache are moved there at half the cost of new memory.
    const isRoom = total <= this.first.length;
    const message = /** @type {Buffer} */ (isRoom ? this.first.subarray(0, total) : Buffer.allocUnsafe(total));
    if (!isRoom) shortLived(total);
    let at = 0;
    for (const part of this.list) {
      message.set(part, at);
      at += part.length;
    }
    message.set(new FastBuffer(chunk.buffer, chunk.byteOffset + offset, length), at);
    return message;
  }

  /** Nothing more is collected in this room. */
  close() {
    if (this.used !== 0) this.list.push(this.room.subarray(0, this.used));
    this.room = EMPTY_BUFFER;
    this.used = 0;
  }

  /** @param {number} more Bytes that are to be added */
  grow(more) {
    if (this.used + more > MOST_COPIED) this.close();
    const room = Buffer.allocUnsafeSlow(Math.max(this.used + more, Math.min(2 * this.room.length, MOST_COPIED)));
    room.set(this.room.subarray(0, this.used));
    this.room = room;
  }
}

module.exports = { Parts };
