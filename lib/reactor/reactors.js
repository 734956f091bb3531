'use strict';

/** @import { Options } from './start' */

/** @typedef {import('../native/binding').Reactor} Native */

/** For anything but a plain message. @typedef {(tag: number, offset: number, length: number) => void} OnRecord */

/** Gets records that concern no connection. @typedef {{ _onRecord: OnRecord, _onFailed(): void }} Receiver */

/** The reactors of this environment (main thread or worker). Only `set` writes here. */
const state = {
  /** All reactors, which look like one; null before they exist. @type {Native} */
  native: /** @type {any} */ (null),
  /** The calls of every turn; before there are reactors, these few. @type {import('../native/binding').Calls} */
  calls: /** @type {any} */ ({ bytesSettled: () => Infinity, callNext: () => false, loopTurn: () => 0 }),
  /** The records of the last batch, then arguments and results of calls. */
  words: new Uint32Array(0),
  /** Why the reactors of sockets have ended. @type {Error | null} */
  failure: null,
  /** Reactors with sockets. */
  reactors: 1,
  /** All reactors, including the one for streams. If 1, it also has the sockets, on this thread. */
  links: 1,
  hasStarted: false,
  /** Settings of the first server; before that, of the first server with a stream. @type {(Record<string, unknown> & Options) | null} */
  settings: null,
  /** Receives records about topics. @type {Receiver | null} */
  topics: null,
};

/** @param {Partial<typeof state>} changes */
function set(changes) {
  Object.assign(state, changes);
}

module.exports = { set, state };
