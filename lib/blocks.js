'use strict';

const { TLSSocket } = require('node:tls');

/** Shorter frames are as cheap in new memory, longer ones are rare. */
const LEAST_BYTES = 2 * 1024;
const BLOCK_BYTES = 64 * 1024 + 16;
const MOST_BLOCKS = 32;

/** What `write()` of a stream may go through. */
const METHODS = ['write', '_write', '_writev', 'cork', 'uncork'];

/** Those that nobody uses; the last one is still in the cache. */
const free = /** @type {Buffer[]} */ ([]);
let count = 0;

/**
 * Whether a stream has no use for the memory of a chunk any more once it says that it was written: one for TLS encrypts it.
 * Any other may hand the chunk on.
 *
 * @param {any} socket Duplex
 * @returns {boolean}
 */
function isDone(socket) {
  return (
    socket.encrypted === true &&
    Object.getPrototypeOf(socket) === TLSSocket.prototype &&
    METHODS.every((name) => !Object.hasOwn(socket, name))
  );
}

/**
 * Memory for a frame, to be given back. New memory is cold: to copy 16 KiB there costs three times as much.
 *
 * @param {number} bytes
 * @returns {Buffer | null} None for short frames and long ones, and when too many are lent
 */
function borrow(bytes) {
  if (bytes < LEAST_BYTES || bytes > BLOCK_BYTES) return null;
  const block = free.pop();
  if (block !== undefined) return block;
  if (count === MOST_BLOCKS) return null;
  count++;
  return Buffer.allocUnsafeSlow(BLOCK_BYTES);
}

/** @param {Buffer} block */
function giveBack(block) {
  free.push(block);
}

module.exports = { borrow, giveBack, isDone };
