'use strict';

const { TLSSocket } = require('node:tls');

/**
 * Bytes: shorter frames are as cheap in new memory. Longer ones than the longest block are rare.
 */
const LEAST_BYTES = 512;

/** Memory that is lent: its bytes, with those of a header, and the most blocks of that length. */
const BLOCKS = [
  { bytes: 4 * 1024 + 16, most: 64 },
  { bytes: 64 * 1024 + 16, most: 32 },
];

/** Methods that `write()` of a stream may go through. */
const METHODS = ['write', '_write', '_writev', 'cork', 'uncork'];

/**
 * For each length the blocks that are free, of which the last one is still in the cache, and how
 * many blocks there are.
 */
const kinds = BLOCKS.map((block) => ({ ...block, free: /** @type {Buffer[]} */ ([]), count: 0 }));

/**
 * @param {object} socket The stream, a Duplex
 * @param {object} prototype That of a class of Node
 * @returns {boolean} Whether the stream writes as that class does, with nothing put in between
 */
function isUnchanged(socket, prototype) {
  return Object.getPrototypeOf(socket) === prototype && METHODS.every((name) => !Object.hasOwn(socket, name));
}

/**
 * Whether a stream needs the memory of a chunk no longer once it says that the chunk was written:
 * one for TLS has encrypted it. Any other may have handed the chunk on.
 *
 * @param {import('../connection/state').AnySocket} socket The stream, a Duplex
 * @returns {boolean} Whether memory may be lent for its frames
 */
function isDone(socket) {
  return socket.encrypted === true && isUnchanged(socket, TLSSocket.prototype);
}

/**
 * Memory for a frame, to be given back. New memory is cold: copying 16 KiB there costs three times
 * as much.
 *
 * @param {number} bytes Bytes of the frame, header included
 * @returns {Buffer | null} The memory; none for short frames and long ones, and when too many
 * blocks are lent
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
 * @param {Buffer} block The result of `borrow`. Given back twice, it would be lent to two frames
 * @param {boolean} isWritten Whether it can be lent again: after a write that failed, the stream
 * may still use it
 */
function giveBack(block, isWritten) {
  const kind = kinds.find(({ bytes }) => bytes === block.length);
  if (kind === undefined) return;
  if (isWritten) kind.free.push(block);
  else kind.count--;
}

module.exports = { borrow, giveBack, isDone, isUnchanged };
