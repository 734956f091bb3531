'use strict';

/** @import { ReactorOptions } from '../native/binding' */

/** @typedef {import('../native/binding').Reactor} Native */

/** Gets records that concern no connection. @typedef {Pick<import('./table').Holder, '_onRecord' | '_onFailed'>} Receiver */

/** What this environment (the main thread or a worker) has in the reactors. Only this file writes to it. */
const state = {
  /** The reactors look like one; null before they have been made. */
  native: /** @type {Native} */ (/** @type {unknown} */ (null)),
  /** The calls of every turn; as long as there are no reactors, these few. */
  calls: /** @type {import('../native/binding').Calls} */ ({ bytesSettled: () => Infinity, callNext: () => false, loopTurn: () => 0 }),
  /** The records of the last batch, and after them arguments and results of calls. */
  words: new Uint32Array(0),
  /** Of a reactor that has died. @type {Error | null} */
  failure: null,
  /** The number of reactors that have sockets. */
  reactors: 1,
  /** The number of all reactors: also that for streams. With 1 it has the sockets too, on this thread. */
  links: 1,
  /** Whether the reactors of sockets have been started. */
  hasStarted: false,
  /** Those of the first server: until they have been started, of the first with a stream. @type {(Record<string, unknown> & ReactorOptions) | null} */
  settings: null,
  /** For topics. @type {Receiver | null} */
  topics: null,
};

/** @type {(native: Native, words: Uint32Array<ArrayBuffer>) => void} */
function attach(native, words) {
  Object.assign(state, { native, words, calls: native.calls() });
}

/** @param {ReactorOptions} settings With which the reactors of sockets have been started */
function started(settings) {
  const { links } = state.native;
  Object.assign(state, { reactors: Math.max(links - 1, 1), links, hasStarted: true, settings: { ...settings } });
}

/** @param {ReactorOptions} settings Those of streams, until those of sockets take their place */
function configured(settings) {
  state.settings = { ...settings };
}

/** @param {Error} error Why all reactors of sockets have ended */
function failed(error) {
  state.failure = error;
}

/** @param {Receiver} receiver Gets the records about topics from now on */
function receiveTopics(receiver) {
  state.topics = receiver;
}

module.exports = { attach, configured, failed, receiveTopics, started, state };
