'use strict';

const { ENTRY_AGE, ENTRY_FLAGS, ENTRY_LENGTH, ENTRY_OFFSET, ENTRY_WORDS, KIND_MASK, OUT_TEXT, PUBLISH_TEXT, SINCE_NOW, SINCE_OFFSET } = require('../base/layout');
const { HISTORY_COUNT, HISTORY_RECOVERED, HISTORY_TOP, HISTORY_WORDS } = require('../base/layout');
const { checkOptions, checkValue } = require('../base/checks');
const { checkTopic, sinceOf } = require('./arguments');
const { decode } = require('../nodes/envelope');
const { headed } = require('./publish');
const records = require('./records');
const { expect } = require('./requests');
const { topicsOf } = require('./registry');
const { PageSize, keptOf } = require('../nodes/shared-history');
const { state } = require('../reactor/reactors');

const { WORD_BYTES, longOf, wordOf } = records;

/** @import { History, HistoryOptions, Position } from '../../types/topics' */
/** @import { AnyTopic } from './topic' */

/** Entries of an answer. */
const LIMIT = { type: /** @type {const} */ ('number'), min: 1, max: 2 ** 32 - 1 };

/** Bytes; entries are padded to a multiple. */
const ENTRY_ALIGN = 4;

/**
 * The messages that a topic has kept, from `since` on. Arguments are not checked yet.
 *
 * @type {(server: import('../connection/state').Server, name: string, options: HistoryOptions | null | undefined) => Promise<History>}
 */
function history(server, name, options) {
  checkTopic(name);
  checkOptions(options, ['since', 'limit']);
  const since = sinceOf(options) ?? 'oldest';
  const limit = /** @type {number} */ (checkValue(LIMIT, options?.limit ?? LIMIT.max, 'options.limit'));
  const topic = server._topics?.all.get(name);
  const clusterNode = server._topics?.clusterNode;
  if (!clusterNode?.hasHistory || topic?.shared?.has(since)) return collect(topic, since, limit);
  const settings = topic?.settings ?? topicsOf(server).settings(name);
  return settings.history === 0 ? collect(topic, since, limit) : collectRemotely(clusterNode, name, since, limit, settings);
}

/**
 * Reads a history from the broker, for a topic that this node does not follow.
 *
 * @type {(clusterNode: import('../nodes/node').ThisNode, name: string, since: Position | 'oldest', limit: number, settings: AnyTopic['settings']) => Promise<History>}
 */
async function collectRemotely(clusterNode, name, since, limit, settings) {
  /** @type {History['messages']} */
  const messages = [];
  const kept = keptOf(settings);
  const pageSize = new PageSize();
  let top = /** @type {Position | null} */ (null);
  // To the adapter, a position above the last one means that the broker has lost messages. A peer can have made up this one.
  if (typeof since === 'object') {
    const { position } = await clusterNode.page(name, 'latest', 0, kept);
    if (since.epoch === position.epoch && since.offset > position.offset) return { recovered: false, position, messages: [] };
  }
  for (let from = since; messages.length < limit; ) {
    const page = await clusterNode.page(name, from, Math.min(limit - messages.length, pageSize.limit), kept);
    pageSize.update(page.messages);
    if (!page.recovered) return { recovered: false, position: page.position, messages: [] };
    top ??= page.position;
    for (const { bytes, position } of page.messages) {
      const message = decode(bytes)?.message;
      if (message === undefined || position.offset > top.offset) continue;
      const { data } = headed(message, settings, position.epoch, position.offset);
      messages.push({ data: Buffer.from(/** @type {Uint8Array} */ (data)), isBinary: (message.tag & KIND_MASK) !== OUT_TEXT, position });
    }
    const last = page.messages.at(-1);
    const before = typeof from === 'string' ? 0 : from.offset;
    if (last === undefined || last.position.offset >= top.offset || last.position.offset <= before) break;
    from = last.position;
  }
  return { recovered: true, position: top, messages };
}

/** A long answer comes in pieces. `ages`: gets the milliseconds for which each message has been kept. @type {(topic: AnyTopic | undefined, since: Position | 'oldest', limit: number, ages?: number[]) => Promise<History>} */
async function collect(topic, since, limit, ages = []) {
  const position = topic?.position ?? null;
  /** @type {History['messages']} */
  const messages = [];
  if (topic === undefined || position === null) return { recovered: false, position, messages };
  let { mode, offset } = records.startOf(topic, since);
  if (mode === SINCE_NOW) return { recovered: false, position, messages };
  const { epoch } = position;
  let isWhole = false;
  let top = 0;
  for (let left = limit; left !== 0; left = Math.min(limit - messages.length, top - offset)) {
    const bytes = await askPiece(topic, mode, offset, left);
    const isFirst = messages.length === 0;
    if (isFirst) isWhole = wordOf(bytes, HISTORY_RECOVERED) !== 0;
    // Messages published since the first piece are not requested.
    if (isFirst) top = longOf(bytes, HISTORY_TOP);
    const count = wordOf(bytes, HISTORY_COUNT);
    // What follows the earlier pieces is no longer in the history.
    if (count === 0) return { recovered: isFirst && isWhole, position, messages: [] };
    for (const entry of entriesOf(bytes, count)) {
      mode = SINCE_OFFSET;
      offset = longOf(entry, ENTRY_OFFSET);
      ages.push(wordOf(entry, ENTRY_AGE));
      const isBinary = (wordOf(entry, ENTRY_FLAGS) & PUBLISH_TEXT) === 0;
      messages.push({ data: entry.subarray(ENTRY_WORDS * WORD_BYTES), isBinary, position: { epoch, offset } });
    }
  }
  return { recovered: isWhole, position, messages };
}

/** @type {(topic: AnyTopic, mode: number, since: number, limit: number) => Promise<Buffer>} */
function askPiece(topic, mode, since, limit) {
  // A reactor of sockets has the histories.
  if (state.failure !== null) throw new Error('The reactor failed');
  const { request, result } = expect(1, (bytes) => bytes);
  records.history(topic, request, mode, since, limit);
  return result;
}

/** With their headers, oldest first. @type {(bytes: Buffer, count: number) => Generator<Buffer>} */
function* entriesOf(bytes, count) {
  let start = HISTORY_WORDS * WORD_BYTES;
  for (; count > 0; count--) {
    const header = bytes.subarray(start);
    const length = ENTRY_WORDS * WORD_BYTES + wordOf(header, ENTRY_LENGTH);
    yield header.subarray(0, length);
    start += Math.ceil(length / ENTRY_ALIGN) * ENTRY_ALIGN;
  }
}

module.exports = { collect, history };
