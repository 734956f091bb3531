'use strict';

const { TERMINATED } = require('../base/bits');
const { NO_GENERATION } = require('../base/constants');
const { ADOPTED_SLOTS, IN_CLOSED, KIND_MASK, PIPE_SLOTS, TOPIC_SLOT } = require('../base/layout');
const lifetime = require('./lifetime');
const { failed, state } = require('./link');

/** @import { Server } from '../connection/state' */

/**
 * A connection, the handshake before it, or what is left after it.
 *
 * @typedef {object} Holder
 * @property {number} _slot Assigned by the reactor; from ADOPTED_SLOTS on, by this side
 * @property {number} _bits See bits.js
 * @property {number} _turn The event loop's turn of its last record except its end
 * @property {(tag: number, offset: number, length: number) => void} _onRecord For anything but a plain message
 * @property {() => void} _onFailed The reactor has died
 * @property {() => void} terminate
 */

/** Accepted connections, by slot. @type {Array<Holder | undefined>} */
const accepted = [];
/** Adopted ones, by slot minus ADOPTED_SLOTS. @type {Array<Holder | undefined>} */
const adopted = [];
/** Those over streams, by slot minus PIPE_SLOTS. @type {Array<Holder | undefined>} */
const streams = [];
/** Free indexes. @type {number[]} */
const freeAdopted = [];
/** @type {number[]} */
const freeStreams = [];
/** By listener id. @type {Map<number, Server>} */
const listeners = new Map();
let adoptedGeneration = 0;

/** Undefined for a free slot. @type {(slot: number) => Holder | undefined} */
function connectionOf(slot) {
  if (slot < ADOPTED_SLOTS) return accepted[slot];
  if (slot < PIPE_SLOTS) return adopted[slot - ADOPTED_SLOTS];
  // An index that no array has would make V8 compile the callers again and again.
  return slot === TOPIC_SLOT ? undefined : streams[slot - PIPE_SLOTS];
}

/** Connections and handshakes. @type {() => Holder[]} */
function connections() {
  return /** @type {Holder[]} */ ([...accepted, ...adopted, ...streams].filter(Boolean));
}

function hasStreams() {
  return streams.length !== freeStreams.length;
}

/** @param {number} id */
function serverOf(id) {
  return listeners.get(id);
}

/** Servers that listen by themselves. */
function servers() {
  return [...listeners.values()];
}

/** @type {(slot: number, holder: Holder | undefined) => void} */
function set(slot, holder) {
  if (slot < ADOPTED_SLOTS) accepted[slot] = holder;
  else if (slot < PIPE_SLOTS) adopted[slot - ADOPTED_SLOTS] = holder;
  else streams[slot - PIPE_SLOTS] = holder;
}

/** For a connection about to be adopted. @type {(connection: Holder) => { generation: number, slot: number }} */
function claim(connection) {
  const index = freeAdopted.pop() ?? nextAdopted();
  adopted[index] = connection;
  return { generation: claimed(connection), slot: ADOPTED_SLOTS + index };
}

/** For a connection over a stream. @type {(connection: Holder) => { generation: number, slot: number }} */
function claimStream(connection) {
  const index = freeStreams.pop() ?? streams.length;
  streams[index] = connection;
  return { generation: claimed(connection), slot: PIPE_SLOTS + index };
}

/** @param {Holder} connection */
function claimed(connection) {
  connection._turn = state.calls.loopTurn();
  lifetime.use();
  adoptedGeneration = (adoptedGeneration + 1) >>> 0 || NO_GENERATION + 1;
  return adoptedGeneration;
}

/** The low bits of a slot are its reactor's number, so new slots alternate between reactors. */
function nextAdopted() {
  let index = adopted.length;
  // Skips numbers without a reactor.
  while ((index & (2 ** Math.ceil(Math.log2(state.reactors)) - 1)) >= state.reactors) index = adopted.push(undefined);
  return index;
}

/** Records of the slot go to this connection from now on. @type {(slot: number, connection: Holder) => void} */
function place(slot, connection) {
  if (accepted[slot] === undefined) lifetime.use();
  accepted[slot] = connection;
  connection._turn = state.calls.loopTurn();
}

/** The connection has ended. @param {number} slot */
function forget(slot) {
  set(slot, undefined);
  if (slot >= PIPE_SLOTS) freeStreams.push(slot - PIPE_SLOTS);
  else if (slot >= ADOPTED_SLOTS) freeAdopted.push(slot - ADOPTED_SLOTS);
  lifetime.unuse();
}

/** What is left of a connection that emitted 'close' before the reactor closed its socket. */
class Departed {
  /** @param {number} slot */
  constructor(slot) {
    this._slot = slot;
    this._bits = TERMINATED;
    this._turn = 0;
  }

  /** @param {number} tag */
  _onRecord(tag) {
    if ((tag & KIND_MASK) === IN_CLOSED) forget(this._slot);
  }

  _onFailed() {}

  terminate() {}
}

/** Keeps only the slot, until the reactor reports it as free. @param {number} slot */
function depart(slot) {
  set(slot, new Departed(slot));
}

/** Records of the listener go to this server from now on. @type {(id: number, server: Server) => void} */
function enlist(id, server) {
  lifetime.use();
  listeners.set(id, server);
}

/** @param {number} id */
function strike(id) {
  listeners.delete(id);
  lifetime.unuse();
}

/**
 * A reactor has died: forgets all listeners and all connections, except streams unless it was theirs.
 *
 * @type {(error: Error, isOfStreams: boolean) => { connections: Holder[], servers: Server[] }}
 */
function fail(error, isOfStreams) {
  failed(error);
  freeAdopted.length = 0;
  if (isOfStreams) freeStreams.length = 0;
  const lost = [...accepted.splice(0), ...adopted.splice(0), ...(isOfStreams ? streams.splice(0) : [])];
  const gone = { connections: /** @type {Holder[]} */ (lost.filter(Boolean)), servers: servers() };
  listeners.clear();
  for (let left = gone.connections.length + gone.servers.length; left > 0; left--) lifetime.unuse();
  return gone;
}

module.exports = {
  claim,
  claimStream,
  connectionOf,
  connections,
  depart,
  enlist,
  forget,
  fail,
  hasStreams,
  place,
  serverOf,
  servers,
  strike,
};
