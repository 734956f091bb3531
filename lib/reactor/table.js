'use strict';

const { TERMINATED } = require('../bits');
const { NO_GENERATION } = require('../constants');
const { loopTurn } = require('./crossing');
const { ADOPTED_SLOTS, IN_CLOSED, KIND_MASK } = require('./layout');
const lifetime = require('./lifetime');

/** @import { Server } from '../connection/state' */

/**
 * The native reactors, which look like one.
 *
 * @typedef {import('../native/binding').Reactor} Native
 */

/**
 * An entry of the table: a connection, a handshake before it, or what is left after it.
 *
 * @typedef {object} Holder
 * @property {number} _slot Chosen by the reactor; from ADOPTED_SLOTS on, by this side
 * @property {number} _bits See bits.js
 * @property {number} _turn Number of the event loop's turn in which it last had a record, but for
 *   its end
 * @property {(tag: number, offset: number, length: number) => void} _onRecord Gets a record that is
 *   not a plain message
 * @property {() => void} _onFailed Called when the reactor has died
 * @property {() => void} terminate Ends the connection at once
 */

/** All that this environment (the main thread or a worker) has in the reactors. */
const state = {
  /** The native reactors, which look like one; null before they have started. */
  native: /** @type {Native} */ (/** @type {unknown} */ (null)),
  /** The error of a reactor thread that has died. @type {Error | null} */
  failure: null,
  /** Connections that the reactors accepted, by slot. @type {Array<Holder | undefined>} */
  connections: [],
  /**
   * Connections that they adopted, by slot minus ADOPTED_SLOTS.
   *
   * @type {Array<Holder | undefined>}
   */
  adopted: [],
  /** The number of reactors. */
  reactors: 1,
  /** The settings with which they were started. @type {Record<string, unknown>} */
  settings: {},
  /**
   * Gets the records about topics that concern no connection; null before the program uses topics.
   *
   * @type {{ _onRecord: (tag: number, offset: number, length: number) => void, _onFailed: () =>
   *   void } | null}
   */
  topics: null,
  /** The servers by listener id. @type {Map<number, Server>} */
  listeners: new Map(),
};

/** Indexes of `state.adopted` that are free. @type {number[]} */
const freeAdopted = [];
let adoptedGeneration = 0;

/**
 * @param {Native} native The native reactors
 * @param {Record<string, unknown>} settings What they were started with
 */
function attach(native, settings) {
  state.native = native;
  state.settings = settings;
  state.reactors = native.count;
}

/**
 * @param {number} slot Slot of the connection in the table
 * @returns {Holder | undefined} A WebSocket, its handshake, or what is left of it; undefined for a
 *   free slot
 */
function connectionOf(slot) {
  return slot < ADOPTED_SLOTS ? state.connections[slot] : state.adopted[slot - ADOPTED_SLOTS];
}

/**
 * @param {number} slot Slot of the connection in the table
 * @param {Holder | undefined} holder The new holder of the slot; undefined: the slot is free
 */
function set(slot, holder) {
  if (slot < ADOPTED_SLOTS) state.connections[slot] = holder;
  else state.adopted[slot - ADOPTED_SLOTS] = holder;
}

/**
 * Gives a slot to a connection that is about to be adopted.
 *
 * @param {Holder} connection The WebSocket
 * @returns {{ generation: number, slot: number }} Its slot and generation, which records name
 */
function claim(connection) {
  const index = freeAdopted.pop() ?? nextAdopted();
  state.adopted[index] = connection;
  connection._turn = loopTurn();
  lifetime.use();
  adoptedGeneration = (adoptedGeneration + 1) >>> 0 || NO_GENERATION + 1;
  return { generation: adoptedGeneration, slot: ADOPTED_SLOTS + index };
}

/**
 * The lowest bits of a slot are the number of its reactor, so that new ones go to each in turn.
 *
 * @returns {number} Index in `state.adopted` of a new slot
 */
function nextAdopted() {
  let index = state.adopted.length;
  // Skips the numbers that no reactor has.
  while ((index & (2 ** Math.ceil(Math.log2(state.reactors)) - 1)) >= state.reactors) index = state.adopted.push(undefined);
  return index;
}

/**
 * The records of a slot are for this connection from now on.
 *
 * @param {number} slot Slot of the connection in the table
 * @param {Holder} connection The receiver of the records
 */
function place(slot, connection) {
  if (state.connections[slot] === undefined) lifetime.use();
  state.connections[slot] = connection;
  connection._turn = loopTurn();
}

/**
 * The connection of a slot is gone.
 *
 * @param {number} slot Slot of the connection in the table
 */
function forget(slot) {
  set(slot, undefined);
  if (slot >= ADOPTED_SLOTS) freeAdopted.push(slot - ADOPTED_SLOTS);
  lifetime.unuse();
}

/**
 * The rest of a connection whose 'close' was emitted before the reactor closed its socket: its
 * slot.
 */
class Departed {
  /** @param {number} slot Slot of the connection in the table */
  constructor(slot) {
    this._slot = slot;
    this._bits = TERMINATED;
    this._turn = 0;
  }

  /** @param {number} tag kind | flags | aux of the record */
  _onRecord(tag) {
    if ((tag & KIND_MASK) === IN_CLOSED) forget(this._slot);
  }

  _onFailed() {}

  terminate() {}
}

/**
 * Leaves a connection nothing but its slot, until the reactor reports the slot as free.
 *
 * @param {number} slot Slot of the connection in the table
 */
function depart(slot) {
  set(slot, new Departed(slot));
}

/**
 * The records of a listener are for this server from now on.
 *
 * @param {number} id Number of the listener
 * @param {Server} server The server that listens
 */
function enlist(id, server) {
  lifetime.use();
  state.listeners.set(id, server);
}

/**
 * A listener is closed.
 *
 * @param {number} id Number of the listener
 */
function strike(id) {
  state.listeners.delete(id);
  lifetime.unuse();
}

/**
 * Forgets all connections and listeners.
 *
 * @returns {{ connections: Holder[], servers: Server[] }} The holders and servers that there were
 */
function forgetAll() {
  freeAdopted.length = 0;
  const connections = /** @type {Holder[]} */ ([...state.connections.splice(0), ...state.adopted.splice(0)].filter(Boolean));
  const servers = [...state.listeners.values()];
  state.listeners.clear();
  for (let gone = connections.length + servers.length; gone > 0; gone--) lifetime.unuse();
  return { connections, servers };
}

module.exports = {
  attach,
  claim,
  connectionOf,
  depart,
  enlist,
  forget,
  forgetAll,
  place,
  state,
  strike,
};
