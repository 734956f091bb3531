'use strict';

const { FastBuffer } = require('../constants');

/** The text of the error for a message that is used too late. */
const CODE = 'REACTOR_WS_BORROWED';
const WHY =
  "A message was used after its handler had returned. Its server has the option messages: 'borrowed', " +
  'so its memory was given back, and it is empty. Copy what you keep: Buffer.from(data).';

/** @typedef {ArrayBuffer & { transfer?: () => Movable }} Movable */

/** Node 22 and later. */
const { transfer } = /** @type {Movable} */ (ArrayBuffer.prototype);

/** The fields of a subclass are put on the object that its constructor is given. */
class Given {
  /** @param {object} object The object */
  constructor(object) {
    return object;
  }
}

/**
 * A detached ArrayBuffer, and the one that has its memory now: both have the holder of that
 * memory. A write of Node's that is still under way refers to a message, and to bytes that must not
 * be freed. The field is private, for behind it are the messages of others.
 */
class Moved extends Given {
  /** @type {{ memory: Movable }} */
  #holder;

  /**
   * @param {Movable} buffer The ArrayBuffer
   * @param {{ memory: Movable }} holder The holder of its memory
   */
  constructor(buffer, holder) {
    super(buffer);
    this.#holder = holder;
  }

  /**
   * @param {Movable} from The ArrayBuffer that had the memory
   * @param {Movable} to The one that has it now
   */
  static note(from, to) {
    let holder = { memory: to };
    if (#holder in from) {
      holder = from.#holder;
      holder.memory = to;
    } else {
      new Moved(from, holder);
    }
    new Moved(to, holder);
  }
}

const development = {
  /** Messages that are lent at the moment; null in production. @type {Buffer[] | null} */
  lent: null,
  hasReported: false,
};

/**
 * The first server with borrowed messages has been made. In development, messages that are kept say
 * why they are empty.
 */
function begin() {
  if (process.env.NODE_ENV !== 'production') development.lent = [];
}

/**
 * Moves memory to an ArrayBuffer that no handler has seen, without a copy. Views of the old one
 * have no bytes any more.
 *
 * @param {Buffer} memory All of an ArrayBuffer
 * @returns {Buffer | null} The memory; null if it cannot be moved, or a handler has detached it
 */
function move(memory) {
  const buffer = /** @type {Movable} */ (memory.buffer);
  const bytes = buffer.byteLength;
  if (bytes === 0) return null;
  try {
    const moved = transfer === undefined ? structuredClone(buffer, { transfer: [buffer] }) : transfer.call(buffer);
    if (buffer.byteLength !== 0 || moved.byteLength !== bytes) return null;
    Moved.note(buffer, moved);
    return new FastBuffer(moved);
  } catch {
    return null;
  }
}

/**
 * A handler gets a message whose memory is taken back together with that of others.
 *
 * @param {Buffer} message The message
 */
function lend(message) {
  if (development.lent !== null) development.lent.push(message);
}

/** The memory of all lent messages was taken back, or is kept. */
function returned() {
  const { lent } = development;
  if (lent === null || lent.length === 0) return;
  for (const message of lent) if (message.length === 0) mark(message);
  lent.length = 0;
}

/**
 * Takes back a message in memory of its own, whose handler has returned.
 *
 * @param {Buffer} message The message
 */
function takeBack(message) {
  if (message.length === 0) return;
  move(message);
  if (development.lent !== null && message.length === 0) mark(message);
}

/**
 * The use of a message is reported from now on, unless a handler has made it not extensible.
 *
 * @param {Buffer} message A message that was taken back, in development
 */
function mark(message) {
  Reflect.setPrototypeOf(message, RETURNED);
}

/** The prototype of a message that was taken back, in development. */
const RETURNED = new Proxy(Object.create(FastBuffer.prototype), {
  get(target, name, message) {
    if (!development.hasReported) {
      development.hasReported = true;
      process.emitWarning(WHY, 'BorrowedMessageWarning', CODE);
    }
    return Reflect.get(target, name, message);
  },
});

module.exports = { begin, lend, move, returned, takeBack };
