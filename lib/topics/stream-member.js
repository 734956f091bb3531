'use strict';

// A subscriber whose connection is a stream of Node. It follows the same rules that the reactor has
// for its own connections.

const { inContext } = require('../async-context');
const { SENDS_WAIT, TERMINATED } = require('../bits');
const { OPEN } = require('../constants');
const { endsBy } = require('../connection/cause');
const { streamOf } = require('../connection/state');
const { CAUSE } = require('../reactor/layout');
const { sendLater } = require('../connection/waiting');
const { ofEntry, owned, postTo } = require('./post');
const { FROM } = require('./records');
const { askHistory } = require('./requests');
const { SLOW } = require('./settings');

/** @import { SentCallback, WebSocket } from '../connection/state' */
/** @import { Message } from './message' */
/** @import { Past } from './requests' */
/** @import { AnyTopic } from './topic' */

/** "Try Again Later", which IANA has added to the codes of RFC 6455, section 7.4.1. */
const TRY_AGAIN_LATER = 1013;

/** The most messages that a member that catches up asks for at once. */
const PIECE = 64;

/** The outcomes of a message. */
const OUTCOME = { POSTED: 0, KEPT: 1, DROPPED: 2 };

/** @typedef {StreamMember} AnyMember */

class StreamMember {
  /**
   * @param {WebSocket} ws A connection over a stream
   * @param {AnyTopic} topic The topic that it has subscribed to
   */
  constructor(ws, topic) {
    this.ws = ws;
    this.topic = topic;
    /**
     * The last message of each key, in the order in which they came.
     *
     * @type {Map<string, Message>}
     */
    this.kept = new Map();
    /**
     * Offset of the message after which the member has got none, while it catches up.
     *
     * @type {number | null}
     */
    this.has = null;
    /** Offsets of later messages that it is excepted from. @type {Set<number> | null} */
    this.skips = null;
    this.isAsking = false;
    /** Whether its sends wait for messages of the past, see `await`. */
    this.isStarting = false;
    /** Messages that have their place among the sends that wait. */
    this.following = 0;
    /** How many messages it asks for: about as many as it had room for the last time. */
    this.piece = 1;
    /** Dropped messages that have not been reported to it. */
    this.unreported = 0;
  }

  /**
   * @param {boolean} [isTurn] Whether the sends that wait are behind the message in question
   * @returns {boolean} Whether more bytes wait for it than the topic allows
   */
  isSlow(isTurn = false) {
    const { job, socket } = streamOf(this.ws);
    // A call of `drained` follows when the stream has room, or all is compressed.
    if (!socket.writableNeedDrain && job === null) return false;
    const behind = isTurn ? this.ws._ensureExtra().lateBytes : 0;
    return this.ws.bufferedAmount - behind > Math.max(this.topic.settings.limit, socket.writableHighWaterMark);
  }

  /**
   * @param {Message} message What is published
   * @param {number} offset 0 without history
   * @param {string} key The message replaces an earlier one of the same key; '' for none
   * @param {SentCallback} [written] Called when the stream has written it, or with an error when it
   *   never will
   * @returns {number} One of OUTCOME
   */
  publish(message, offset, key, written) {
    if (this.isStarting) return this.later(offset, owned(message));
    if (this.has !== null) return OUTCOME.KEPT;
    if (this.mayBeSlow() && this.isBlocked()) return this.postpone(message, offset, key);
    return this.give(message, offset, key, false, written);
  }

  /**
   * @param {Message} message As for `publish`
   * @param {number} offset As for `publish`
   * @param {string} key As for `publish`
   * @param {boolean} isTurn Whether it has waited for its turn among the sends
   * @param {SentCallback} [written] As for `publish`
   * @returns {number} One of OUTCOME
   */
  give(message, offset, key, isTurn, written) {
    if (this.has !== null) return OUTCOME.KEPT;
    if (this.kept.size !== 0) return this.keep(message, key);
    if (!this.mayBeSlow() || !this.isSlow(isTurn)) {
      postTo(this.ws, message, written);
      return OUTCOME.POSTED;
    }
    const { slow } = this.topic.settings;
    if (slow === SLOW.latest) return this.keep(message, key);
    if (slow === SLOW['catch-up']) {
      this.has = offset - 1;
      this.ws._extra?.topics?.wait(this);
      return OUTCOME.KEPT;
    }
    // Not in the middle of sends that have waited.
    if (slow === SLOW.close) process.nextTick(close, this.ws);
    else this.drop(1);
    return OUTCOME.DROPPED;
  }

  /** @param {number} offset Offset of a message that it never gets, not even when it catches up */
  skip(offset) {
    if (this.isStarting) this.later(offset, null);
    if (this.has === null && (this.following === 0 || this.topic.settings.slow !== SLOW['catch-up'])) return;
    this.skips ??= new Set();
    for (const first of this.skips) {
      // It will be a gap, unless it is in an answer that is on its way.
      if (this.isAsking || first > offset - this.topic.settings.history) break;
      this.skips.delete(first);
    }
    this.skips.add(offset);
  }

  mayBeSlow() {
    return this.topic.settings.slow !== SLOW.queue;
  }

  /** @returns {boolean} Whether its sends wait for a Blob: how much waits is only known later */
  isBlocked() {
    if (this.following !== 0) return true;
    return (this.ws._bits & SENDS_WAIT) !== 0 && streamOf(this.ws).job === null && this.kept.size === 0;
  }

  /**
   * A message takes its place among the sends that wait, and is given then.
   *
   * @param {Message} message As for `publish`
   * @param {number} offset As for `publish`
   * @param {string} key As for `publish`
   * @returns {number} One of OUTCOME
   */
  postpone(message, offset, key) {
    const kept = owned(message);
    this.place(kept.data.length, () => {
      this.give(kept, offset, key, true);
      if (this.following !== 0) return;
      if (this.has === null) this.skips = null;
      if (!this.isSlow()) this.drained();
    });
    return OUTCOME.KEPT;
  }

  /**
   * @param {number} size Bytes of a message that has a place among the sends that wait
   * @param {() => void} give Called when its turn has come
   */
  place(size, give) {
    this.following++;
    sendLater(this.ws, size, (error) => {
      this.following--;
      if (error === undefined) give();
    });
  }

  /**
   * @param {Message} message What is published
   * @param {string} key The message replaces an earlier one of the same key; '' for none
   */
  keep(message, key) {
    if (this.kept.delete(key)) this.drop(1);
    this.kept.set(key, owned(message));
    this.ws._extra?.topics?.wait(this);
    return OUTCOME.KEPT;
  }

  /** @param {number} count Messages that it does not get */
  drop(count) {
    if (this.unreported === 0) process.nextTick(report, this);
    this.unreported += count;
  }

  /** It is no longer a member, and never gets the messages that it missed while it was slow. */
  quit() {
    const top = this.topic.ring?.offset ?? 0;
    // Its messages that have a place among the sends that wait are sent.
    if (this.isStarting || this.following !== 0) sendLater(this.ws, 0, (error) => error === undefined && this.part(top));
    else this.part(top);
  }

  /** @param {number} top Offset of the last message when it left; 0 without history */
  part(top) {
    const { has, kept, skips } = this;
    const behind = has === null || top <= has ? 0 : top - has - countAbove(skips, has);
    if (kept.size + behind > 0) this.drop(kept.size + behind);
  }

  /** @returns {boolean} Whether it has yet to be sent messages that came while it was slow */
  isBehind() {
    return (this.kept.size !== 0 || this.has !== null) && this.isIn();
  }

  /** The bytes that waited for it have left. */
  drained() {
    // What it would get goes behind them, and the last of them asks.
    if (this.following !== 0) return;
    for (const [key, message] of this.kept) {
      if (this.isSlow()) return;
      this.kept.delete(key);
      postTo(this.ws, message);
    }
    if (this.has !== null) this.catchUp(FROM.OFFSET);
  }

  /**
   * It has subscribed with messages of the past, and gets them like those that it misses while
   * slow. Its sends wait for the first of them, and so do messages that are published meanwhile.
   *
   * @param {number} offset Offset after which the messages begin
   */
  await(offset) {
    this.has = offset;
    this.isStarting = true;
    this.ws._extra?.topics?.wait(this);
  }

  /** @param {Past} past The answer about these messages */
  start({ entries, recovered, top }) {
    this.isStarting = false;
    // What is older is no gap.
    this.has = recovered && entries.length !== 0 ? entries[0].offset - 1 : top;
    this.onPast({ entries: recovered ? entries : [], recovered: true, top }, FROM.OFFSET);
  }

  /**
   * A message takes its place among the sends that wait.
   *
   * @param {number} offset Offset of the message
   * @param {Message | null} message null: the member is excepted from it
   * @returns {number} One of OUTCOME
   */
  later(offset, message) {
    this.place(message === null ? 0 : message.data.length, () => this.follow(offset, message));
    return OUTCOME.KEPT;
  }

  /**
   * @param {number} offset As for `later`
   * @param {Message | null} message As for `later`
   */
  follow(offset, message) {
    // Otherwise it comes from the history, where `skips` has those that are not for this member.
    if (this.has === offset - 1 && (message === null || !this.isSlow())) {
      this.has = offset;
      if (message !== null) postTo(this.ws, message);
    }
    if (this.has !== null) this.goOn();
  }

  /** @param {number} mode One of FROM */
  catchUp(mode) {
    const { has, topic } = this;
    if (this.isAsking || this.isStarting || has === null || topic.number === 0 || this.following !== 0) return;
    this.isAsking = true;
    askHistory(topic, mode, has, this.piece, (past) => {
      this.isAsking = false;
      if (!this.isIn()) return;
      if (past !== null) this.onPast(past, mode);
      else this.onPast({ entries: [], recovered: false, top: topic.ring?.offset ?? 0 }, FROM.OLDEST);
    });
  }

  /** @returns {boolean} Whether it is still a member */
  isIn() {
    return this.topic.streams?.get(this.ws) === this && this.ws._readyState === OPEN;
  }

  /**
   * @param {Past} past The messages that the topic has kept
   * @param {number} mode One of FROM
   */
  onPast({ entries, recovered, top }, mode) {
    // It has got all from elsewhere meanwhile.
    if (this.has === null) return;
    if (!recovered && mode === FROM.OFFSET) {
      // The ring has moved on: it has lost the rest.
      this.catchUp(FROM.OLDEST);
      return;
    }
    let given = 0;
    for (const entry of entries) {
      if (entry.offset <= this.has) continue;
      // It asks again when it has room.
      if (given++ !== 0 && this.isSlow()) break;
      this.miss(entry.offset - 1);
      this.has = entry.offset;
      // A copy: the whole answer would stay in memory as long as one of its messages waits.
      if (!this.skips?.has(entry.offset)) postTo(this.ws, ofEntry({ ...entry, data: Buffer.from(entry.data) }));
    }
    this.piece = Math.min(PIECE, 2 * Math.max(given, 1));
    // Messages published since it asked are not missing.
    if (entries.length === 0) this.miss(top);
    this.goOn();
  }

  /** It gets the messages that it still lacks, if it has room. */
  goOn() {
    const { ring } = this.topic;
    if (ring === null || this.has === ring.offset) this.has = this.skips = null;
    else if (!this.isSlow()) this.catchUp(FROM.OFFSET);
  }

  /** @param {number} to Offset of the last message that it lacks and that is lost */
  miss(to) {
    const { has, topic, ws } = this;
    if (has === null || to <= has) return;
    this.has = to;
    process.nextTick(inContext, ws, reportGap, topic, { from: has + 1, to });
  }
}

/**
 * @param {Set<number> | null} offsets Offsets, or none
 * @param {number} least An offset
 * @returns {number} How many of them are greater
 */
function countAbove(offsets, least) {
  let count = 0;
  for (const offset of offsets ?? []) if (offset > least) count++;
  return count;
}

/** @param {WebSocket} ws A connection that is slow */
function close(ws) {
  endsBy(ws, CAUSE.SLOW);
  ws.close(TRY_AGAIN_LATER);
}

/** @param {StreamMember} member A member that has missed messages */
function report(member) {
  const { topic, unreported, ws } = member;
  member.unreported = 0;
  reportLost(ws, topic, unreported);
}

/**
 * @param {WebSocket} ws A connection
 * @param {AnyTopic} topic The topic
 * @param {number} count How many messages it did not get
 */
function reportLost(ws, topic, count) {
  if ((ws._bits & TERMINATED) === 0) inContext(ws, lose, topic, count);
}

/**
 * @param {WebSocket} ws As for `reportLost`
 * @param {AnyTopic} topic As for `reportLost`
 * @param {number} count As for `reportLost`
 */
function lose(ws, topic, count) {
  ws._extra?.topics?.lost(topic, count);
}

/**
 * @param {WebSocket} ws A connection
 * @param {AnyTopic} topic The topic, which has a history
 * @param {{ from: number, to: number }} offsets Offset of the first message that it did not get,
 *   and of the one after the last
 */
function reportGap(ws, topic, { from, to }) {
  if ((ws._bits & TERMINATED) === 0) ws._extra?.topics?.passed(topic, from, to);
}

module.exports = { OUTCOME, PIECE, StreamMember };
