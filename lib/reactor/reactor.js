'use strict';

const { addon } = require('./addon');
const { root } = require('../async-context');
const {
  ADOPTED_SLOTS,
  ASKED_GENERATION,
  ASKED_SLOT,
  DELIVERED_RECORDS,
  DRAINED_BYTES,
  DRAINED_HANDED,
  DRAINED_LENT,
  FastBuffer,
  IN_CLOSED,
  LENT_ID,
  NO_GENERATION,
} = require('../constants');
const { setProtocolErrors } = require('../errors');
const lifetime = require('./lifetime');
const { allocate } = require('./memory');
const outbox = require('./outbox');

/**
 * Received payloads are views of slabs of this size. A slab is never written twice, so a view stays
 * valid for as long as somebody keeps it; the price is that it keeps its slab.
 */
const SLAB_BYTES = 128 * 1024;

/** Batches of one reactor that may be on their way in memory that is lent; one that is further ahead has its own. */
const LENT_BUFFERS = 8;

/** No record of it is a plain message: `NOT_PLAIN` of the dispatch. */
const DEPARTED_BITS = 4;

/** These have functions of libuv, but no loop behind them. */
const HAS_OWN_LOOP = Boolean(process.versions.bun || process.versions.deno);

/**
 * Everything that this environment (the main thread or a worker) has: its native reactors, which look like one, the
 * connections by slot, the servers by listener id, and the slab being filled.
 */
const state = {
  /** @type {any} */
  native: null,
  /** Why its thread has died. @type {Error | null} */
  failure: null,
  /** Those that the reactor accepted, by its slots. @type {any[]} */
  connections: [],
  /** Those that it adopted, by their slots from ADOPTED_SLOTS on. @type {any[]} */
  adopted: [],
  /** How many reactors there are. */
  reactors: 1,
  /** @type {Map<number, any>} */
  listeners: new Map(),
  records: new Uint32Array(0),
  /**
   * Where the payloads of the last drained batch are: an ArrayBuffer, all of it as a Buffer, and where in it they begin.
   *
   * @type {ArrayBufferLike}
   */
  buffer: new ArrayBuffer(0),
  /** @type {Buffer} */
  bytes: Buffer.alloc(0),
  base: 0,
  /** Whether somebody got a view of them. If not, the next batch takes their place. */
  viewed: false,
};

/** @type {Buffer} */
let slab = Buffer.alloc(0);
/** Where the last batch in the slab begins and ends. */
let slabStart = 0;
let slabEnd = 0;
/**
 * Memory that the reactor reads into; it comes back, by its number, with a batch: for good with a large one, which then
 * needs no copy, and until the next drain with a small one. The native part keeps this list for as long as the reactor runs.
 *
 * @type {(Buffer | undefined)[]}
 */
let lent = [];
let lentBytes = 0;
/** Memory that came back for good with the last batch. @type {Buffer | null} */
let handed = null;
/** Whether a handler has detached memory: large batches are copied from then on. */
let isWary = false;
/** The native function of that name. @type {() => number} */
let drainNative = () => 0;
/** The native function of that name. @type {() => number} */
let takenNative = () => -1;
/** The native function of that name. @type {() => void} */
let deliverNative = () => {};
/** The native function of that name. @type {(memory: Buffer) => void} */
let lendNative = () => {};

/** Slots of `state.adopted` that are free. @type {number[]} */
const freeAdopted = [];
let adoptedGeneration = 0;

/**
 * The native reactors; started on first use.
 *
 * @param {{ reactors: number, spin: number, unfinishedBudget: number }} settings Only the first call decides. `reactors`: its
 *   threads, 0 = it runs on this one; `spin`: microseconds for which it polls before it sleeps, -1 is automatic;
 *   `unfinishedBudget`: bytes for unfinished messages, 0 = no limit
 * @returns {any}
 */
function start(settings) {
  if (state.native !== null) return state.native;
  const binding = addon();
  const layout = binding.layout();
  const { wake } = require('./dispatch');
  setProtocolErrors(binding.protocolErrors());
  state.records = new Uint32Array(layout.DRAINED_WORDS);
  lentBytes = layout.LENT_BYTES;
  // Not in the context of who happens to come first.
  const options = { ...settings, libuv: !HAS_OWN_LOOP };
  const memory = binding.lists();
  state.native = root.runInAsyncScope(() => new binding.Reactor(wake, options, state.records, memory));
  state.reactors = state.native.count;
  drainNative = state.native.drain();
  takenNative = state.native.taken();
  deliverNative = state.native.deliver();
  lendNative = state.native.lend();
  lent = memory[0];
  // A batch without bytes must not be shown in memory without bytes, which is what detached memory looks like.
  newSlab(0);
  outbox.attach(state.native, state.records, memory[1]);
  lifetime.attach(state.native);
  return state.native;
}

/** @param {number} least Bytes that must fit */
function newSlab(least) {
  slab = allocate(Math.max(least, SLAB_BYTES));
  slabStart = slabEnd = 0;
}

/**
 * Flushes, and takes the oldest batch that waits: its records into `state.records`, its payloads into the slab, or with
 * the memory that was lent for them.
 *
 * @returns {number} How many records; 0 when nothing waits
 */
function drain() {
  const { records, viewed } = state;
  if (viewed) slabStart = slabEnd;
  state.viewed = false;
  if (handed !== null) {
    // Memory that nobody has seen can be used again.
    lend(viewed && state.bytes === handed ? allocate(lentBytes) : handed);
    show(slab, slabStart);
    handed = null;
  }
  const count = outbox.cross(drainNative);
  if (count === 0) return 0;
  const id = records[DRAINED_LENT] - 1;
  if (records[DRAINED_HANDED] !== 0) {
    handed = /** @type {Buffer} */ (lent[id]);
    lent[id] = undefined;
    // The slab has nothing of this batch.
    slabEnd = slabStart;
    if (!isWary) show(handed, 0);
  }
  if (handed === null || isWary) intoSlab();
  if (handed === null && id === -1) lendMore();
  return count;
}

/**
 * The first records of the last drained batch have been delivered, the others come in a later turn of the event loop.
 *
 * @param {number} count How many
 */
function delivered(count) {
  state.records[DELIVERED_RECORDS] = count;
  deliverNative();
}

/** Copies the bytes of the last drained batch into the slab. */
function intoSlab() {
  const bytes = state.records[DRAINED_BYTES];
  const id = state.records[DRAINED_LENT] - 1;
  const from = handed === null ? lent[id] : handed;
  if (bytes > slab.length - slabStart) newSlab(bytes);
  if (from === undefined) state.native.copyBytes(slab, slabStart);
  else if (bytes !== 0) slab.set(new FastBuffer(from.buffer, 0, bytes), slabStart);
  // Batches begin at multiples of 8 so that handlers can lay typed arrays over what starts a batch.
  slabEnd = Math.min((slabStart + bytes + 7) & ~7, slab.length);
  show(slab, slabStart);
}

/** @param {Buffer} memory @param {number} base Where in it the payloads begin */
function show(memory, base) {
  state.bytes = memory;
  state.base = base;
  state.buffer = memory.buffer;
}

/**
 * A handler has detached the memory of the batch being delivered, which Node before 24 lets it do: its bytes are copied
 * again.
 *
 * @returns {boolean} False: they came without a copy and are gone
 */
function restore() {
  isWary = true;
  if (state.bytes === handed) return false;
  newSlab(0);
  intoSlab();
  return true;
}

/** @param {Buffer} memory That nobody else refers to */
function lend(memory) {
  const free = lent.indexOf(undefined);
  const id = free === -1 ? lent.length : free;
  lent[id] = memory;
  state.records[LENT_ID] = id;
  lendNative(memory);
}

/** Lends memory, unless enough is lent. */
function lendMore() {
  if (lent.length < LENT_BUFFERS * state.reactors) lend(allocate(lentBytes));
}

/**
 * How many bytes of a connection's sends wait no more.
 *
 * @param {any} ws
 * @returns {number} -1 when the connection is gone
 */
function bytesTaken(ws) {
  state.records[ASKED_SLOT] = ws._slot;
  state.records[ASKED_GENERATION] = ws._generation;
  return takenNative();
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

/**
 * Gives a connection to be adopted a slot.
 *
 * @param {any} connection
 * @returns {{ generation: number, slot: number }}
 */
function claim(connection) {
  const index = freeAdopted.pop() ?? nextAdopted();
  state.adopted[index] = connection;
  lifetime.use();
  adoptedGeneration = (adoptedGeneration + 1) >>> 0 || NO_GENERATION + 1;
  return { generation: adoptedGeneration, slot: ADOPTED_SLOTS + index };
}

/**
 * The lowest bits of a slot are the number of its reactor, so that new ones go to each in turn.
 *
 * @returns {number}
 */
function nextAdopted() {
  let index = state.adopted.length;
  // Numbers that no reactor has.
  while ((index & (2 ** Math.ceil(Math.log2(state.reactors)) - 1)) >= state.reactors) index = state.adopted.push(undefined);
  return index;
}

/**
 * The records of a slot are for this connection from now on.
 *
 * @param {number} slot
 * @param {any} connection
 */
function place(slot, connection) {
  if (state.connections[slot] === undefined) lifetime.use();
  state.connections[slot] = connection;
}

/**
 * The connection of a slot is gone.
 *
 * @param {number} slot
 */
function forget(slot) {
  if (slot < ADOPTED_SLOTS) {
    state.connections[slot] = undefined;
  } else {
    state.adopted[slot - ADOPTED_SLOTS] = undefined;
    freeAdopted.push(slot - ADOPTED_SLOTS);
  }
  lifetime.unuse();
}

/** What is left of a connection whose 'close' was emitted before the reactor closed its socket: its slot. */
class Departed {
  /** @param {number} slot */
  constructor(slot) {
    this._slot = slot;
    this._bits = DEPARTED_BITS;
  }

  /** @param {number} tag */
  _onRecord(tag) {
    if ((tag & 0xff) === IN_CLOSED) forget(this._slot);
  }

  _onFailed() {}

  terminate() {}
}

/**
 * Nothing more is to be reported of a connection but that its slot is free.
 *
 * @param {number} slot
 */
function depart(slot) {
  const departed = new Departed(slot);
  if (slot < ADOPTED_SLOTS) state.connections[slot] = departed;
  else state.adopted[slot - ADOPTED_SLOTS] = departed;
}

/**
 * The records of a listener are for this server from now on.
 *
 * @param {number} id
 * @param {any} server
 */
function enlist(id, server) {
  lifetime.use();
  state.listeners.set(id, server);
}

/**
 * A listener is closed.
 *
 * @param {number} id
 */
function strike(id) {
  state.listeners.delete(id);
  lifetime.unuse();
}

/**
 * Forgets all connections and listeners.
 *
 * @returns {{ connections: any[], servers: any[] }} Those that there were
 */
function forgetAll() {
  freeAdopted.length = 0;
  const connections = [...state.connections.splice(0), ...state.adopted.splice(0)].filter(Boolean);
  const servers = [...state.listeners.values()];
  state.listeners.clear();
  for (let gone = connections.length + servers.length; gone > 0; gone--) lifetime.unuse();
  return { connections, servers };
}

module.exports = {
  bytesTaken,
  claim,
  depart,
  delivered,
  drain,
  enlist,
  forget,
  forgetAll,
  hold: lifetime.hold,
  place,
  release: lifetime.release,
  restore,
  start,
  state,
  strike,
  takeLarge,
};
