'use strict';

// Requests about topics, with answers that belong to no connection.

const { HISTORY_REQUEST, IN_HISTORY, KIND_MASK } = require('../base/layout');
const { payload, peek } = require('../reactor/batch');
const lifetime = require('../reactor/lifetime');
const { set, state } = require('../reactor/reactors');
const records = require('./records');

const { WORD, wordOf } = records;

/**
 * `left`: answers to come. `take` gets each; its last result is the result of the request.
 *
 * @typedef {{ left: number, take: (bytes: Buffer) => any, resolve: (result: any) => void, reject: (error: Error) => void }} Waiting
 */

/** By number. @type {Map<number, Waiting>} */
const requests = new Map();

/** The last request. */
let last = 0;

/** Never 0. */
function nextRequest() {
  do last = (last + 1) % WORD;
  while (last === 0 || requests.has(last));
  return last;
}

/**
 * Expects `left` answers to a request that the caller makes. Rejected when the reactors die.
 *
 * @template T
 * @param {number} left
 * @param {(bytes: Buffer) => T} take
 * @returns {{ request: number, result: Promise<T> }}
 */
function expect(left, take) {
  const request = nextRequest();
  // Answers have a receiver from now on, until all have arrived.
  set({ topics: answers });
  lifetime.acquire();
  // A program can await the result with nothing else open.
  lifetime.ref();
  const result = new Promise((resolve, reject) => requests.set(request, { left, take, resolve, reject }));
  return { request, result };
}

/** The last answer has arrived, or never will. @param {number} request */
function settle(request) {
  requests.delete(request);
  lifetime.unref();
  lifetime.release();
}

/** Receives records for no connection. */
const answers = {
  /** @type {import('../reactor/reactors').OnRecord} */
  _onRecord(tag, offset, length) {
    const bytes = (tag & KIND_MASK) === IN_HISTORY ? payload(tag, offset, length) : peek(tag, offset, length);
    // The first word of every answer.
    const request = wordOf(bytes, HISTORY_REQUEST);
    const waiting = requests.get(request);
    if (waiting === undefined) return;
    const result = waiting.take(bytes);
    if (--waiting.left !== 0) return;
    settle(request);
    waiting.resolve(result);
  },

  _onFailed() {
    for (const [request, { reject }] of requests) {
      settle(request);
      reject(new Error('The reactor failed'));
    }
  },
};

/** Numbers of topics that the reactors were told to forget. Earlier reports of losses can be under way. @type {number[]} */
let ended = [];

/** @param {import('./topic').AnyTopic} topic Without members, and known to the reactors */
function endTopic(topic) {
  const { number } = topic;
  records.end(topic);
  if (topic.reports && ended.push(number) === 1) process.nextTick(awaitReports);
}

/** Awaits the last reports on topics that ended in one tick: each reactor's answer comes after them. */
function awaitReports() {
  const numbers = ended;
  ended = [];
  if (state.failure !== null) return;
  const { request, result } = expect(state.native.links, () => {});
  const forget = () => numbers.forEach(records.forgetReports);
  result.then(forget, forget);
  records.awaitEnd(numbers[0], request);
}

module.exports = { endTopic, expect, nextRequest };
