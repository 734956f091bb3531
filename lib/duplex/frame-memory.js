'use strict';

const { TLSSocket } = require('node:tls');

/** Shorter frames are as cheap in new memory, longer ones than the longest block are rare. */
const LEAST_BYTES = 512;

/** With the bytes of a header. */
const BLOCKS = [
  { bytes: 4 * 1024 + 16, most: 64 },
  { bytes: 64 * 1024 + 16, most: 32 },
];

/** What `write()` of a stream may go through. */
const METHODS = ['write', '_write', '_writev', 'cork', 'uncork'];

/**
 * Of each length those that nobody uses, the last one is still in the cache; and how many there
 * are.
 */
const kinds = BLOCKS.map((block) => ({ ...block, free: /** @type {Buffer[]} */ ([]), count: 0 }));

/**
 * @param {any} socket Duplex
 * @param {object} prototype That of a class of Node
 * @returns {boolean} Whether it writes as that does, with nothing put in between
 */
function isUnchanged(socket, prototype) {
  return Object.getPrototypeOf(socket) === prototype && METHODS.every((name) => !Object.hasOwn(socket, name));
}

/**
 * Whether a stream has no use for the memory of a chunk any more once it says that it was written:
 * one for TLS encrypts it. Any other may hand the chunk on.
 *
 * @param {any} socket Duplex
 * @returns {boolean}
 */
function isDone(socket) {
  return socket.encrypted === true && isUnchanged(socket, TLSSocket.prototype);
}

/**
 * Memory for a frame, to be given back. New memory is cold: to copy 16 KiB there costs three times
 * as much.
 *
 * @param {number} bytes
 * @returns {Buffer | null} None for short frames and long ones, and when too many are lent
 */
function borrow(bytes) {
  if (bytes < LEAST_BYTES) return null;
  for (const kind of kinds) {
    if (bytes > kind.bytes) continue;
    const block = kind.free.pop();
    if (block !== undefined) return block;
    if (kind.count === kind.most) return null;
    kind.count++;
    return Buffer.allocUnsafeSlow(kind.bytes);
  }
  return null;
}

/**
 * @param {Buffer} block Given back once: two frames would have it otherwise
 * @param {boolean} isWritten Whether it can be lent again: of a write that failed, the stream may
 *   still have it
 */
function giveBack(block, isWritten) {
  const kind = kinds.find(({ bytes }) => bytes === block.length);
  if (kind === undefined) return;
  if (isWritten) kind.free.push(block);
  else kind.count--;
}

module.exports = { borrow, giveBack, isDone, isUnchanged };
