'use strict';

const { FastBuffer } = require('../base/constants');

const CODE = 'REACTOR_WS_BORROWED';
const WHY =
  "A message was used after its handler had returned. Its server has the option messages: 'borrowed', " +
  'so its memory was given back, and it is empty. Copy what you keep: Buffer.from(data).';

/** @typedef {ArrayBuffer & { transfer?: () => Movable }} Movable */

/** Since Node 22. */
const { transfer } = /** @type {Movable} */ (ArrayBuffer.prototype);

/**
 * The holder of the memory, by a detached ArrayBuffer and by the one that has the memory now. A pending write of Node
 * refers to the message, whose bytes must not be freed.
 *
 * @type {WeakMap<Movable, { memory: Movable }>}
 */
const holders = new WeakMap();

/** Messages lent at the moment; null in production. @type {Buffer[] | null} */
let lent = null;
let hasReported = false;

/** In development, messages that a program keeps report why they are empty. */
function begin() {
  if (process.env.NODE_ENV !== 'production') lent = [];
}

/**
 * Moves memory, without a copy, to an ArrayBuffer that no handler has seen. Views of the old one lose their bytes. Null
 * if it cannot be moved, or a handler has detached it.
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

/** Its memory is taken back together with other messages. @param {Buffer} message */
function lend(message) {
  if (lent !== null) lent.push(message);
}

/** The memory of all lent messages was taken back, or is kept. */
function returned() {
  if (lent === null || lent.length === 0) return;
  for (const message of lent) if (message.length === 0) mark(message);
  lent.length = 0;
}

/** Takes back a message with memory of its own. @param {Buffer} message */
function takeBack(message) {
  if (message.length === 0) return;
  move(message);
  if (lent !== null && message.length === 0) mark(message);
}

/** Reports its use from now on, unless a handler has made it non-extensible. @param {Buffer} message */
function mark(message) {
  Reflect.setPrototypeOf(message, RETURNED);
}

/** In development, the prototype of a message that was taken back. */
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
