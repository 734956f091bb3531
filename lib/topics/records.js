'use strict';

// Records about topics for the reactors. A record for all of them has TOPIC_SLOT in the place of a
// connection, and the number of the topic in that of its generation.

const { PreparedMessage } = require('../connection/prepared');
const { EMPTY_BUFFER } = require('../constants');
const outbox = require('../reactor/outbox');
const { SAME_BYTES } = require('../reactor/last-sent');
const {
  AUX_SHIFT,
  KIND_MASK,
  OUT_FLAG_COMPRESS,
  OUT_FLAG_FIN,
  OUT_HISTORY,
  OUT_HISTORY_BUDGET,
  OUT_PUBLISH,
  OUT_PUBLISH_PREPARED,
  OUT_SUBSCRIBE,
  OUT_TARGET,
  OUT_TEXT,
  OUT_TOPIC,
  OUT_TOPIC_END,
  OUT_UNSUBSCRIBE,
  PUBLISH_TEXT,
  SINCE_NOW,
  SINCE_OFFSET,
  SINCE_OLDEST,
  TARGET_WORDS,
  TOPIC_SLOT,
} = require('../reactor/layout');

/** @import { WebSocket } from '../connection/state' */
/** @import { Message } from './message' */
/** @import { AnyTopic } from './topic' */

/** Where a replay begins. */
const FROM = { NOW: SINCE_NOW, OFFSET: SINCE_OFFSET, OLDEST: SINCE_OLDEST };

/** The number of values of a word. */
const WORD = 2 ** 32;

/** Bytes of a word. */
const WORD_BYTES = Uint32Array.BYTES_PER_ELEMENT;

/** @param {AnyTopic} topic A topic that the reactors know from now on */
function begin(topic) {
  topic.enlist();
  const { history, limit, maxBytes, slow, ttl } = topic.settings;
  outbox.pushWords(TOPIC_SLOT, topic.number, OUT_TOPIC, [slow, limit, history, ttl, maxBytes]);
}

/** @param {AnyTopic} topic The reactors forget it, with its messages and its members */
function end(topic) {
  outbox.pushWords(TOPIC_SLOT, topic.number, OUT_TOPIC_END, []);
  outbox.handOver();
  topic.strike();
}

/**
 * @param {WebSocket} ws A connection of the reactor
 * @param {AnyTopic} topic The topic
 * @param {number} request Number of the answer; 0: none is wanted
 * @param {number} mode One of FROM
 * @param {number} since Offset after which it begins
 */
function subscribe(ws, topic, request, mode, since) {
  const words = [topic.number, request, mode, since % WORD, Math.floor(since / WORD)];
  outbox.pushWords(ws._slot, ws._generation, OUT_SUBSCRIBE, words);
  outbox.handOver();
}

/**
 * @param {WebSocket} ws A connection of the reactor
 * @param {number} number Number of a topic; 0: all topics, for good
 */
function unsubscribe(ws, number) {
  outbox.pushWords(ws._slot, ws._generation, OUT_UNSUBSCRIBE, [number]);
  outbox.handOver();
}

/**
 * Makes the publish that follows differ from a plain message for all.
 *
 * @param {Pick<AnyTopic, 'number'>} topic The topic
 * @param {number} receipt Its number; 0: none is wanted
 * @param {WebSocket[]} excepted Connections of the reactors
 * @param {string} key The message replaces an earlier one of the same key; '' for none
 */
function target(topic, receipt, excepted, key) {
  // In UTF-8 all lone surrogates would be the same key.
  const name = key === '' ? EMPTY_BUFFER : Buffer.from(key, 'utf16le');
  const words = new Uint32Array(TARGET_WORDS + 2 * excepted.length);
  words.set([receipt, excepted.length, name.length]);
  for (const [index, { _generation, _slot }] of excepted.entries()) {
    words.set([_slot, _generation], TARGET_WORDS + 2 * index);
  }
  const bytes = Buffer.from(words.buffer);
  outbox.pushBytes(TOPIC_SLOT, topic.number, OUT_TARGET, name.length === 0 ? bytes : Buffer.concat([bytes, name]));
}

/**
 * Asks for a receipt of nothing, which each reactor sends behind all of its earlier reports.
 *
 * @param {number} number Number of a topic that has ended
 * @param {number} receipt Number of the receipt
 */
function ask(number, receipt) {
  target({ number }, receipt, [], '');
  outbox.pushBytes(TOPIC_SLOT, number, OUT_PUBLISH | OUT_FLAG_FIN, EMPTY_BUFFER);
  outbox.handOver();
}

/**
 * @param {AnyTopic} topic The topic
 * @param {Message} message The message
 */
function publish(topic, message) {
  const { data, prepared, tag } = message;
  if (prepared !== null) {
    outbox.pushPrepared(TOPIC_SLOT, topic.number, OUT_PUBLISH_PREPARED, PreparedMessage.numberOf(prepared));
    outbox.handOver();
    return;
  }
  const isText = (tag & KIND_MASK) === OUT_TEXT ? PUBLISH_TEXT : 0;
  const kind = OUT_PUBLISH | OUT_FLAG_FIN | (tag & OUT_FLAG_COMPRESS) | (isText << AUX_SHIFT);
  const length =
    typeof data === 'string'
      ? outbox.pushText(TOPIC_SLOT, topic.number, kind, data)
      : outbox.pushBytes(TOPIC_SLOT, topic.number, kind, data);
  if (length < SAME_BYTES) outbox.handOver();
}

/**
 * Asks for messages of the past.
 *
 * @param {AnyTopic} topic The topic
 * @param {number} request Number of the answer
 * @param {number} mode One of FROM
 * @param {number} since Offset after which it begins
 * @param {number} limit Most messages
 */
function history(topic, request, mode, since, limit) {
  const words = [request, mode, since % WORD, Math.floor(since / WORD), limit];
  outbox.pushWords(TOPIC_SLOT, topic.number, OUT_HISTORY, words);
  outbox.handOver();
}

/** @param {number} bytes Budget for the histories of all topics, on all reactors together */
function historyBudget(bytes) {
  outbox.pushWords(TOPIC_SLOT, 0, OUT_HISTORY_BUDGET, [bytes % WORD, Math.floor(bytes / WORD)]);
}

/**
 * @param {Buffer} bytes The payload of a record that came
 * @param {number} index Index of the word
 * @returns {number} The word, little-endian
 */
function wordOf(bytes, index) {
  return bytes.readUInt32LE(WORD_BYTES * index);
}

/**
 * @param {Buffer} bytes The payload of a record that came
 * @param {number} index Index of the lower one of two words
 * @returns {number} Both words as one number
 */
function longOf(bytes, index) {
  return wordOf(bytes, index) + WORD * wordOf(bytes, index + 1);
}

module.exports = {
  FROM,
  WORD_BYTES,
  ask,
  begin,
  end,
  history,
  historyBudget,
  longOf,
  publish,
  subscribe,
  target,
  unsubscribe,
  wordOf,
};
