'use strict';

const { NO_GENERATION } = require('../base/constants');
const { ADOPTED_SLOTS, PIPE_SLOTS, TOPIC_SLOT } = require('../base/layout');
const lifetime = require('./lifetime');
const { set: setState, state } = require('./reactors');

/** @import { Connection, Server } from '../connection/state' */

/** Accepted connections, by slot. @type {Array<Connection | undefined>} */
const accepted = [];
/** Adopted ones, by slot minus ADOPTED_SLOTS. @type {Array<Connection | undefined>} */
const adopted = [];
/** Those over streams, by slot minus PIPE_SLOTS. @type {Array<Connection | undefined>} */
const streams = [];
/** Free indexes. @type {number[]} */
const freeAdopted = [];
/** @type {number[]} */
const freeStreams = [];
/** By listener id. @type {Map<number, Server>} */
const listeners = new Map();
/** The last generation that JavaScript has assigned. */
let generation = 0;

/** Undefined for a free slot. @type {(slot: number) => Connection | undefined} */
function connectionOf(slot) {
  if (slot < ADOPTED_SLOTS) return accepted[slot];
  if (slot < PIPE_SLOTS) return adopted[slot - ADOPTED_SLOTS];
  // An index outside of the array would make V8 recompile the callers repeatedly.
  return slot === TOPIC_SLOT ? undefined : streams[slot - PIPE_SLOTS];
}

/** Connections and handshakes. @type {() => Connection[]} */
function connections() {
  return /** @type {Connection[]} */ ([...accepted, ...adopted, ...streams].filter(Boolean));
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

/** @type {(slot: number, owner: Connection | undefined) => void} */
function set(slot, owner) {
  if (slot < ADOPTED_SLOTS) accepted[slot] = owner;
  else if (slot < PIPE_SLOTS) adopted[slot - ADOPTED_SLOTS] = owner;
  else streams[slot - PIPE_SLOTS] = owner;
}

/** For a connection about to be adopted. @type {(connection: Connection) => { generation: number, slot: number }} */
function claim(connection) {
  let index = freeAdopted.pop() ?? adopted.length;
  // The low bits of a slot are its reactor's number, so new slots alternate between reactors. Skips numbers without one.
  while ((index & (2 ** Math.ceil(Math.log2(state.reactors)) - 1)) >= state.reactors) index = adopted.push(undefined);
  adopted[index] = connection;
  return claimed(connection, ADOPTED_SLOTS + index);
}

/** For a connection over a stream. @type {(connection: Connection) => { generation: number, slot: number }} */
function claimStream(connection) {
  const index = freeStreams.pop() ?? streams.length;
  streams[index] = connection;
  return claimed(connection, PIPE_SLOTS + index);
}

/** @type {(connection: Connection, slot: number) => { generation: number, slot: number }} */
function claimed(connection, slot) {
  lifetime.acquire();
  generation = (generation + 1) >>> 0 || NO_GENERATION + 1;
  connection._turn = state.calls.loopTurn();
  connection._slot = slot;
  connection._generation = generation;
  return { generation, slot };
}

/** Records of the slot go to this connection from now on. The first one keeps the process alive, the last one lets it end. @type {(slot: number, connection: Connection) => void} */
function place(slot, connection) {
  if (connectionOf(slot) === undefined) {
    lifetime.acquire();
    lifetime.ref();
  }
  set(slot, connection);
  connection._turn = state.calls.loopTurn();
}

/** The connection has ended. @param {number} slot */
function forget(slot) {
  set(slot, undefined);
  if (slot >= PIPE_SLOTS) freeStreams.push(slot - PIPE_SLOTS);
  else if (slot >= ADOPTED_SLOTS) freeAdopted.push(slot - ADOPTED_SLOTS);
  lifetime.release();
}

/** Records of the listener go to this server from now on. @type {(id: number, server: Server) => void} */
function addServer(id, server) {
  lifetime.acquire();
  listeners.set(id, server);
}

/** @param {number} id */
function removeServer(id) {
  listeners.delete(id);
  lifetime.release();
}

/**
 * A reactor has died: forgets all listeners and all connections, except streams unless it was theirs.
 *
 * @type {(error: Error, isOfStreams: boolean) => { connections: Connection[], servers: Server[] }}
 */
function fail(error, isOfStreams) {
  setState({ failure: error });
  freeAdopted.length = 0;
  if (isOfStreams) freeStreams.length = 0;
  const lost = [...accepted.splice(0), ...adopted.splice(0), ...(isOfStreams ? streams.splice(0) : [])];
  const gone = { connections: /** @type {Connection[]} */ (lost.filter(Boolean)), servers: servers() };
  listeners.clear();
  for (let left = gone.connections.length + gone.servers.length; left > 0; left--) lifetime.release();
  return gone;
}

module.exports = {
  claim,
  claimStream,
  connectionOf,
  connections,
  addServer,
  forget,
  fail,
  hasStreams,
  place,
  serverOf,
  servers,
  removeServer,
};
