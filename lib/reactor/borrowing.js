'use strict';

const { FastBuffer } = require('../base/constants');

const CODE = 'REACTOR_WS_BORROWED';
const WHY =
  "A message was used after its handler had returned. Its server has the option messages: 'borrowed', " +
  'so its memory was given back, and it is empty. Copy what you keep: Buffer.from(data).';

/** @typedef {ArrayBuffer & { transfer?: () => Movable }} Movable */

/** Node 22 and later. */
const { transfer } = /** @type {Movable} */ (ArrayBuffer.prototype);

/**
 * By a detached ArrayBuffer, and by the one that has its memory now: the holder of that memory. A write of Node's that is
 * still under way refers to a message, and to bytes that must not be freed.
 *
 * @type {WeakMap<Movable, { memory: Movable }>}
 */
const holders = new WeakMap();

/** Messages that are lent at the moment; null in production. @type {Buffer[] | null} */
let lent = null;
let hasReported = false;

/** In development, messages that are kept say why they are empty. */
function begin() {
  if (process.env.NODE_ENV !== 'production') lent = [];
}

/**
 * Moves memory to an ArrayBuffer that no handler has seen, without a copy. Views of the old one
 * have no bytes any more. Returns null if it cannot be moved, or a handler has detached it.
 *
 * @type {(memory: Buffer) => Buffer | null}
 */
function move(memory) {
  const buffer = /** @type {Movable} */ (memory.buffer);
  const bytes = buffer.byteLength;
  if (bytes === 0) return null;
  try {
    const moved = transfer === undefined ? structuredClone(buffer, { transfer: [buffer] }) : transfer.call(buffer);
    if (buffer.byteLength !== 0 || moved.byteLength !== bytes) return null;
    const holder = holders.get(buffer) ?? { memory: moved };
    holder.memory = moved;
    holders.set(buffer, holder).set(moved, holder);
    return new FastBuffer(moved);
  } catch {
    return null;
  }
}

/** A handler gets a message whose memory is taken back together with that of others. @type {(message: Buffer) => void} */
function lend(message) {
  if (lent !== null) lent.push(message);
}

/** The memory of all lent messages was taken back, or is kept. */
function returned() {
  if (lent === null || lent.length === 0) return;
  for (const message of lent) if (message.length === 0) mark(message);
  lent.length = 0;
}

/** Takes back a message in memory of its own, whose handler has returned. @type {(message: Buffer) => void} */
function takeBack(message) {
  if (message.length === 0) return;
  move(message);
  if (lent !== null && message.length === 0) mark(message);
}

/** Its use is reported from now on, unless a handler has made it not extensible. @type {(message: Buffer) => void} */
function mark(message) {
  Reflect.setPrototypeOf(message, RETURNED);
}

/** The prototype of a message that was taken back, in development. */
const RETURNED = new Proxy(Object.create(FastBuffer.prototype), {
  get(target, name, message) {
    if (!hasReported) {
      hasReported = true;
      process.emitWarning(WHY, 'BorrowedMessageWarning', CODE);
    }
    return Reflect.get(target, name, message);
  },
});

module.exports = { begin, lend, move, returned, takeBack };
