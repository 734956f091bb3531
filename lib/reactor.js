'use strict';

const { markAsUntransferable } = require('node:worker_threads');

const { RECORD_WORDS } = require('./constants');
const { setProtocolErrors } = require('./errors');
const outbox = require('./outbox');

/**
 * Received payloads are views of slabs of this size. A slab is never written twice, so a view stays
 * valid for as long as somebody keeps it; the price is that it keeps its slab.
 */
const SLAB_BYTES = 128 * 1024;

/** The longest delay a timer takes, in milliseconds. */
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * Everything that this environment (the main thread or a worker) has: one native reactor, the
 * connections by slot, the servers by listener id, and the slab being filled.
 */
const state = {
  /** @type {any} */
  native: null,
  /** @type {any[]} */
  connections: [],
  /** @type {Map<number, any>} */
  listeners: new Map(),
  records: new Uint32Array(0),
  /** The slab, and where the payload of the last drained batch begins in its ArrayBuffer. */
  slab: Buffer.alloc(0),
  base: 0,
};

let slabUsed = 0;
let holders = 0;
/** @type {NodeJS.Timeout | null} */
let keepAlive = null;

/**
 * The native reactor; started on first use.
 *
 * @returns {any}
 */
function start() {
  if (state.native !== null) return state.native;
  const binding = /** @type {any} */ (require('./native/binding.js'));
  const layout = binding.layout();
  const { wake } = require('./dispatch');
  setProtocolErrors(binding.protocolErrors());
  state.records = new Uint32Array(layout.MAX_RECORDS * RECORD_WORDS);
  state.native = new binding.Reactor(wake, { spin: -1 });
  outbox.attach(state.native);
  process.once('exit', stop);
  return state.native;
}

/** Nothing runs after 'exit': what was sent is written now, as far as the sockets take it. */
function stop() {
  outbox.flush();
  state.native.shutdown();
}

/** @param {number} least Bytes that must fit */
function newSlab(least) {
  const slab = Buffer.allocUnsafeSlow(least > SLAB_BYTES ? least : SLAB_BYTES);
  // A message handler must not be able to detach memory that other messages live in.
  markAsUntransferable(slab.buffer);
  state.slab = slab;
  slabUsed = 0;
}

/**
 * Takes the oldest batch that waits: its records into `state.records`, its payloads into the slab.
 *
 * @returns {number} How many records; 0 when nothing waits
 */
function drain() {
  const { native } = state;
  let count = native.drain(state.slab, slabUsed, state.records);
  if (count < 0) {
    newSlab(-count);
    count = native.drain(state.slab, 0, state.records);
  }
  state.base = state.slab.byteOffset + slabUsed;
  // Batches begin at multiples of 8 so that handlers can lay typed arrays over what starts a batch.
  slabUsed = Math.min((slabUsed + native.drainedBytes() + 7) & ~7, state.slab.length);
  return count;
}

/**
 * A payload of the last drained batch that is too large for the slab.
 *
 * @param {number} index Its number in the batch
 * @param {number} length Its bytes
 * @returns {Buffer} A Buffer that owns its memory
 */
function takeLarge(index, length) {
  const data = Buffer.allocUnsafeSlow(length);
  state.native.takeLarge(index, data);
  return data;
}

/** Keeps the process alive until the matching `release`: the reactor itself does not. */
function hold() {
  if (holders++ !== 0) return;
  if (keepAlive === null) keepAlive = setInterval(() => {}, LONGEST_DELAY);
  else keepAlive.ref();
}

function release() {
  if (--holders === 0 && keepAlive !== null) keepAlive.unref();
}

module.exports = { drain, hold, release, start, state, takeLarge };
