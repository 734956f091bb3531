'use strict';

// Requests to the reactors about topics, with answers that belong to no connection: receipts and
// histories.

const { HISTORY_COUNT, HISTORY_RECOVERED, HISTORY_REQUEST, HISTORY_TOP, HISTORY_WORDS } = require('../base/layout');
const { ENTRY_FLAGS, ENTRY_LENGTH, ENTRY_OFFSET, ENTRY_WORDS, PUBLISH_TEXT } = require('../base/layout');
const { IN_HISTORY, IN_RECEIPT, KIND_MASK } = require('../base/layout');
const {
  RECEIPT_BYTES,
  RECEIPT_DROPPED,
  RECEIPT_MATCHED,
  RECEIPT_QUEUED,
  RECEIPT_REQUEST,
  RECEIPT_SENT,
} = require('../base/layout');
const { payload, peek } = require('../reactor/batch');
const lifetime = require('../reactor/lifetime');
const { receiveTopics, state } = require('../reactor/table');
const records = require('./records');
const { forgetReports } = require('./topic');

const { WORD_BYTES, longOf, wordOf } = records;

/** @import { AnyTopic } from './topic' */

/**
 * A message of the past.
 *
 * @typedef {object} Entry
 * @property {number} offset
 * @property {boolean} isText
 * @property {Buffer} data
 */

/**
 * @typedef {object} Past
 * @property {boolean} recovered Whether nothing is missing after the requested position
 * @property {Entry[]} entries The oldest first
 * @property {number} top Offset of the topic's last message at the time of the answer
 */

/**
 * The outcomes of one message.
 *
 * @typedef {Omit<import('../../types/topics').Receipt, 'position'>} Counts
 */

const U32 = 2 ** 32;
/** Entries are padded to a multiple of this many bytes. */
const ENTRY_ALIGN = 4;

/** The number of the last request. */
let last = 0;

/** @type {Map<number, (answer: Past | null) => void>} */
const histories = new Map();

/**
 * Sums so far, and how many reactors have yet to answer.
 *
 * @type {Map<number, { left: number, sum: Counts, done: (sum: Counts | null) => void }>}
 */
const receipts = new Map();

/** @returns {number} Never 0 */
function nextRequest() {
  do last = (last + 1) % U32;
  while (last === 0 || histories.has(last) || receipts.has(last));
  return last;
}

/** From the first request on answers have a receiver, which must stay until all of them have come. */
function expectAnswer() {
  receiveTopics(answers);
  lifetime.use();
  // A program may await it with nothing else open.
  lifetime.hold();
}

/** The answer has come, or never will. */
function settled() {
  lifetime.release();
  lifetime.unuse();
}

/**
 * Messages of a topic with history. `done`: called later; null: the reactors have died.
 *
 * @type {(topic: AnyTopic, mode: number, since: number, limit: number, done: (answer: Past | null) => void) => void}
 */
function askHistory(topic, mode, since, limit, done) {
  askPiece(topic, mode, since, limit, (past) => askRest(topic, past, limit, done));
}

/**
 * A long answer comes in pieces.
 *
 * @type {(topic: AnyTopic, past: Past | null, limit: number, done: (answer: Past | null) => void) => void}
 */
function askRest(topic, past, limit, done) {
  const last = past?.entries.at(-1);
  if (past === null || last === undefined) return done(past);
  const { entries, top } = past;
  // Messages published since the first piece are not asked for.
  const left = Math.min(limit - entries.length, top - last.offset);
  if (left === 0) return done(past);
  askPiece(topic, records.FROM.OFFSET, last.offset, left, (rest) => {
    if (rest !== null && rest.entries.length === 0) return done({ recovered: false, entries: [], top });
    for (const entry of rest?.entries ?? []) entries.push(entry);
    askRest(topic, rest && past, limit, done);
  });
}

/** @type {(topic: AnyTopic, mode: number, since: number, limit: number, done: (answer: Past | null) => void) => void} */
function askPiece(topic, mode, since, limit, done) {
  if (state.failure !== null) {
    process.nextTick(done, null);
    return;
  }
  const request = nextRequest();
  expectAnswer();
  histories.set(request, done);
  records.history(topic, request, mode, since, limit);
}

/**
 * `done`: gets the sum over all reactors that know the topic; null: they have died.
 *
 * @type {(isForStreams: boolean, done: (sum: Counts | null) => void) => number}
 */
function askReceipt(isForStreams, done) {
  const request = nextRequest();
  expectAnswer();
  const sum = { matched: 0, sent: 0, queued: 0, dropped: 0, bytes: 0 };
  const { count, links } = state.native;
  receipts.set(request, { left: isForStreams ? links : count, sum, done });
  return request;
}

/**
 * Numbers of topics that the reactors have been told to forget: they may have reported before what
 * members did not get.
 *
 * @type {number[]}
 */
let ended = [];
let isEnding = false;

/** @param {AnyTopic} topic A topic without members that the reactors know */
function endTopic(topic) {
  const { number } = topic;
  records.end(topic);
  if (!topic.reports || state.failure !== null) return;
  ended.push(number);
  if (!isEnding) awaitReports();
}

/** Waits for the last reports on ended topics: a receipt of each reactor comes after them. */
function awaitReports() {
  const numbers = ended;
  ended = [];
  isEnding = true;
  const request = askReceipt(true, (sum) => {
    isEnding = false;
    for (const number of numbers) forgetReports(number);
    if (ended.length !== 0 && sum !== null) awaitReports();
  });
  records.ask(numbers[0], request);
}

/** The receiver of records that are for no connection. */
const answers = {
  /** @type {(tag: number, offset: number, length: number) => void} */
  _onRecord(tag, offset, length) {
    const kind = tag & KIND_MASK;
    if (kind === IN_RECEIPT) onReceipt(peek(tag, offset, length));
    else if (kind === IN_HISTORY) onHistory(payload(tag, offset, length));
  },

  /** The reactors have died. */
  _onFailed() {
    const failed = [...histories.values(), ...[...receipts.values()].map(({ done }) => done)];
    histories.clear();
    receipts.clear();
    for (const done of failed) {
      settled();
      done(null);
    }
  },
};

/** @param {Buffer} bytes The payload of the record */
function onReceipt(bytes) {
  const request = wordOf(bytes, RECEIPT_REQUEST);
  const receipt = receipts.get(request);
  if (receipt === undefined) return;
  const { sum } = receipt;
  sum.matched += wordOf(bytes, RECEIPT_MATCHED);
  sum.sent += wordOf(bytes, RECEIPT_SENT);
  sum.queued += wordOf(bytes, RECEIPT_QUEUED);
  sum.dropped += wordOf(bytes, RECEIPT_DROPPED);
  sum.bytes += longOf(bytes, RECEIPT_BYTES);
  if (--receipt.left !== 0) return;
  receipts.delete(request);
  settled();
  receipt.done(sum);
}

/** @param {Buffer} bytes The payload of the record */
function onHistory(bytes) {
  const request = wordOf(bytes, HISTORY_REQUEST);
  const done = histories.get(request);
  if (done === undefined) return;
  histories.delete(request);
  settled();
  const recovered = wordOf(bytes, HISTORY_RECOVERED) !== 0;
  done({ recovered, entries: entriesOf(bytes, wordOf(bytes, HISTORY_COUNT)), top: longOf(bytes, HISTORY_TOP) });
}

/** The messages, the oldest first. @type {(bytes: Buffer, count: number) => Entry[]} */
function entriesOf(bytes, count) {
  /** @type {Entry[]} */
  const entries = [];
  let start = HISTORY_WORDS * WORD_BYTES;
  for (let index = 0; index < count; index++) {
    const header = bytes.subarray(start);
    const length = wordOf(header, ENTRY_LENGTH);
    const data = header.subarray(ENTRY_WORDS * WORD_BYTES, ENTRY_WORDS * WORD_BYTES + length);
    entries.push({ offset: longOf(header, ENTRY_OFFSET), isText: (wordOf(header, ENTRY_FLAGS) & PUBLISH_TEXT) !== 0, data });
    start += ENTRY_WORDS * WORD_BYTES + Math.ceil(length / ENTRY_ALIGN) * ENTRY_ALIGN;
  }
  return entries;
}

module.exports = { askHistory, askReceipt, endTopic, nextRequest };
