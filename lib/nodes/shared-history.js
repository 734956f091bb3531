'use strict';

// The history of a topic that all nodes share. The broker has it and gives the positions; this node keeps the same
// messages in its reactors while it has subscribers, so it reads each of them once, however many subscribers come back.

const { setImmediate: turn } = require('node:timers/promises');

const { Backoff } = require('../base/backoff');
const { decode } = require('./envelope');

/** @import { AdapterPage, HistorySettings } from '../../types/adapter' */
/** @import { Position, Subscribed } from '../../types/topics' */
/** @import { Target } from '../topics/publish' */
/** @import { AnyTopic } from '../topics/topic' */

/** Limits of a page in messages and, roughly, in bytes. */
const MAX_PAGE = 256;
const PAGE_BYTES = 2 ** 20;

/** Readings that start again because the history lost messages meanwhile; after that, only its end is taken. */
const MAX_RESTARTS = 8;

/** Bytes of messages that are kept while the history is read, of this topic and of all; more are read again afterwards. */
const MAX_BYTES = 4 * 2 ** 20;
const MAX_BYTES_OF_ALL = 64 * 2 ** 20;

/** Milliseconds for which callbacks wait for a broker that does not answer. */
const ANSWER_TIMEOUT = 10_000;

/** Milliseconds until a failed reading is repeated, the first time and at most. */
const RETRY = 250;
const MAX_RETRY = 10_000;

/** Milliseconds between requests about unknown positions, and most epochs that are remembered as unknown. */
const REQUEST_INTERVAL = 1000;
const MAX_DENIED = 64;

/**
 * A subscriber that waits for the history. `isAnswered`: its callback was called without it. `request`: the number of requests to the
 * broker when it came.
 *
 * @typedef {{ subscriptions: Subscriber, since: Position | 'oldest' | undefined, callback: ((result: Subscribed) => void) | undefined, isAnswered: boolean, request: number }} PendingSubscriber
 */

/** @typedef {{ ws: object, pendingHistories: Map<SharedHistory, Set<PendingSubscriber>> | null, request(topic: AnyTopic, since?: Position | 'oldest', callback?: (result: Subscribed) => void): void, passed(topic: AnyTopic, from: number, to: number): void }} Subscriber */

/** A message of this node that has not come back. @typedef {{ target: Target, settle: ((position: Position | null | Promise<never>) => void) | null, position: Position | null }} PendingEcho */

/** Without a receipt. @type {Promise<Position | null>} */
const NO_POSITION = Promise.resolve(null);

/** `INACTIVE`: this node does not follow the topic; `READING` its history; `LIVE`: all is here. */
const INACTIVE = 0;
const READING = 1;
const LIVE = 2;

class SharedHistory {
  /** @param {AnyTopic} topic @param {import('./node').ThisNode} clusterNode */
  constructor(topic, clusterNode) {
    this.topic = topic;
    this.clusterNode = clusterNode;
    this.state = INACTIVE;
    /** Number of the last reading: an earlier one stops. */
    this.reading = 0;
    /** Requests to the broker. */
    this.request = 0;
    this.isToCompare = false;
    this.isHalted = false;
    /** Whether a message arrived since the last check. */
    this.hasReceived = false;
    this.requestedAt = -Infinity;
    this.requestTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    /** Epochs that the broker does not know. @type {Set<string>} */
    this.denied = new Set();
    /** @type {Set<PendingSubscriber>} */
    this.waiting = new Set();
    /** Subscribers with a position, by its offset. A peer can make up thousands. @type {Map<number, Set<PendingSubscriber>>} */
    this.byOffset = new Map();
    /** Messages of this node for subscribers that wait without a position. @type {Array<() => void>} */
    this.deferredSends = [];
    this.isDeferring = false;
    /** Messages that came while the history was read. @type {Array<{ bytes: Buffer, position: Position }>} */
    this.arrived = [];
    this.arrivedBytes = 0;
    /** Whether all of them were kept. */
    this.isWhole = true;
    /** The broker can repeat messages up to here: they were read while they were under way. */
    this.overlap = 0;
    /** Sends that wait for their message to come back, by its number. @type {Map<number, PendingEcho>} */
    this.sent = new Map();
    /** Messages of this node that the broker has not confirmed. */
    this.unconfirmed = 0;
    this.backoff = new Backoff(RETRY, MAX_RETRY);
    this.timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.answerTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  get isLive() {
    return this.state === LIVE;
  }

  get isInactive() {
    return this.state === INACTIVE;
  }

  /** Whether a subscriber with this position can be a member now. @param {Position | 'oldest' | undefined} since */
  has(since) {
    return this.isLive && !this.isAhead(since);
  }

  /**
   * Whether a node that is faster than this one might have given the position, e.g. 3 while message 3 is on its way here.
   *
   * @param {Position | 'oldest' | undefined} since
   */
  isAhead(since) {
    return typeof since === 'object' && !this.topic.has(since) && !this.denied.has(since.epoch);
  }

  /** @type {(subscriptions: Subscriber, since: Position | 'oldest' | undefined, callback?: (result: Subscribed) => void) => void} */
  wait(subscriptions, since, callback) {
    const pendingHistories = (subscriptions.pendingHistories ??= new Map());
    const own = pendingHistories.get(this) ?? new Set();
    // Waiters that were already answered only need membership; this request provides it.
    for (const one of own) if (one.isAnswered && own.delete(one)) this.remove(one);
    const one = { subscriptions, since, callback, isAnswered: false, request: this.request };
    pendingHistories.set(this, own.add(one));
    this.waiting.add(one);
    if (typeof since === 'object') this.byOffset.set(since.offset, (this.byOffset.get(since.offset) ?? new Set()).add(one));
    this.answerTimer ??= setTimeout(() => this.answerWaiters(), ANSWER_TIMEOUT).unref();
    if (this.isLive) this.requestLater();
    // Others get it with the messages after their positions.
    else this.isDeferring ||= since === undefined;
  }

  /** Takes a subscriber out of the queue. @param {PendingSubscriber} one */
  remove(one) {
    this.waiting.delete(one);
    if (typeof one.since !== 'object') return;
    const { offset } = one.since;
    const same = this.byOffset.get(offset);
    if (same?.delete(one) && same.size === 0) this.byOffset.delete(offset);
  }

  /** Asks the broker about unknown positions. A peer can make them up. */
  requestLater() {
    if (this.requestTimer !== undefined) return;
    this.requestTimer = setTimeout(() => {
      this.requestTimer = undefined;
      this.requestedAt = performance.now();
      if (this.isLive && this.waiting.size !== 0) this.compare();
    }, Math.max(this.requestedAt + REQUEST_INTERVAL - performance.now(), 0)).unref();
  }

  /** The subscriber has left. @param {Subscriber} subscriptions */
  cancel(subscriptions) {
    const own = subscriptions.pendingHistories?.get(this) ?? [];
    subscriptions.pendingHistories?.delete(this);
    for (const one of own) {
      this.remove(one);
      if (!one.isAnswered && one.callback) process.nextTick(one.callback, { recovered: false, position: null, replayed: 0 });
    }
    if (this.waiting.size === 0) this.stopAnswerTimer();
  }

  stopAnswerTimer() {
    clearTimeout(this.answerTimer);
    this.answerTimer = undefined;
  }

  /** Answers waiting subscribers without the history, which takes too long. */
  answerWaiters() {
    this.answerTimer = undefined;
    for (const one of this.waiting) {
      if (one.isAnswered) continue;
      one.isAnswered = true;
      if (one.callback) process.nextTick(one.callback, { recovered: false, position: null, replayed: 0 });
    }
  }

  /** Messages of the topic come from now on, or some might be missing. */
  read() {
    if (this.clusterNode.held !== null) return void (this.isHalted = true);
    clearTimeout(this.timer);
    this.timer = undefined;
    this.state = READING;
    const reading = ++this.reading;
    const read = async () => {
      if (reading !== this.reading) return;
      // Peers can join and leave topics: a reading without a subscriber must not delay others.
      if (this.topic.size === 0) return this.deactivate();
      const request = ++this.request;
      await this.readAll(reading);
      if (reading === this.reading) this.goLive(request);
    };
    this.clusterNode.readings.run(read, true).catch((error) => this.retry(reading, error, () => this.read()));
  }

  /** Reads the history only if the broker's position differs. Delivery continues meanwhile; the next message reveals a missing one. */
  compare() {
    if (this.clusterNode.held !== null) return void (this.isHalted = true);
    if (this.isToCompare) return;
    this.isToCompare = true;
    const { reading, topic } = this;
    const compare = async () => {
      this.isToCompare = false;
      if (reading !== this.reading) return;
      const request = ++this.request;
      const before = topic.offset;
      const { position: { epoch, offset }, earlier = [] } = await this.clusterNode.page(topic.name, 'latest', 0, keptOf(topic.settings));
      if (reading !== this.reading) return;
      this.backoff.reset();
      if (epoch !== topic.epoch || offset < before || offset > topic.offset) return this.read();
      topic.earlier = earlier;
      this.admit(request);
    };
    this.clusterNode.readings.run(compare, false).catch((error) => this.retry(reading, error, () => this.compare()));
  }

  /** Nothing is read while connections move. */
  halt() {
    this.isHalted = this.state === READING || this.isToCompare;
    this.isToCompare = false;
    this.reading++;
  }

  /** Reads the history, if that was due when the connections moved. */
  goOn() {
    if (this.isHalted || this.isInactive) this.lost();
    this.isHalted = false;
  }

  /** The process before has handed over its messages. */
  adopt() {
    this.state = LIVE;
    this.overlap = this.topic.offset;
  }

  /** Messages might be missing. */
  lost() {
    if (this.isLive) this.compare();
    else this.read();
  }

  /** The broker, or a listener, has thrown. @type {(reading: number, error: unknown, act: () => void) => void} */
  retry(reading, error, act) {
    if (this.clusterNode.isClosed) return;
    this.clusterNode.failed(error);
    if (reading !== this.reading) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => reading === this.reading && act(), this.backoff.next()).unref();
  }

  /** This node no longer receives the topic. */
  deactivate() {
    clearTimeout(this.timer);
    clearTimeout(this.requestTimer);
    this.requestTimer = undefined;
    this.state = INACTIVE;
    this.reading++;
    this.denied.clear();
    this.takeArrived();
    this.sendDeferred();
    for (const [number, one] of this.sent) if (one.position !== null) this.settle(number, one);
  }

  /** @param {number} reading */
  async readAll(reading) {
    const { topic } = this;
    let restarts = 0;
    const size = new PageSize();
    /** @type {Position | 'oldest' | 'latest'} */
    let since = topic.position ?? 'oldest';
    for (;;) {
      const page = await this.clusterNode.page(topic.name, since, size.limit, keptOf(topic.settings));
      if (reading !== this.reading) return;
      const { earlier = [], messages, position, recovered } = page;
      const [first] = messages;
      const isEnd = since === 'latest';
      if (!recovered && (await this.bridge(reading))) {
        since = /** @type {Position} */ (topic.position);
        continue;
      }
      if (reading !== this.reading) return;
      if (typeof since === 'string') {
        this.restart(isEnd || first === undefined ? position : { epoch: position.epoch, offset: first.position.offset - 1 });
      }
      // The offsets are the same in the new epoch.
      if (recovered) topic.epoch = position.epoch;
      topic.earlier = earlier;
      if (!isEnd && !recovered) {
        since = ++restarts > MAX_RESTARTS ? 'latest' : 'oldest';
        continue;
      }
      if (isEnd) return;
      const before = topic.offset;
      for (const { bytes, position: at } of messages) this.apply(bytes, at);
      size.update(messages);
      if (topic.offset >= position.offset || first === undefined) return;
      // A page without the next message would be the same again.
      since = topic.offset === before ? 'latest' : { epoch: position.epoch, offset: topic.offset };
    }
  }

  /** Whether the next messages came meanwhile: in a short history others take their places soon. @param {number} reading */
  async bridge(reading) {
    // They can be in a socket that is read after the one with the page.
    await turn();
    if (reading !== this.reading) return false;
    const { topic } = this;
    const before = topic.offset;
    for (const { bytes, position } of this.arrived) this.apply(bytes, position);
    return topic.offset !== before;
  }

  /** The history begins after this position here; members are told how much they missed. @param {Position} position */
  restart({ epoch, offset }) {
    const { topic } = this;
    if (topic.epoch === epoch && offset <= topic.offset) return;
    const isNew = topic.epoch === '';
    topic.restart(epoch, offset);
    if (!isNew) this.clusterNode.counts.gaps++;
    this.sweep();
  }

  /** @param {number} request */
  goLive(request) {
    this.backoff.reset();
    this.state = LIVE;
    this.overlap = this.topic.offset;
    const { isWhole } = this;
    for (const { bytes, position } of this.takeArrived()) this.receive(bytes, position);
    if (!isWhole && this.state === LIVE) this.read();
    if (this.state !== LIVE) return;
    this.sweep();
    this.admit(request);
    if (this.state === LIVE) this.sendDeferred();
  }

  sendDeferred() {
    this.isDeferring = false;
    for (const send of this.deferredSends.splice(0)) send();
  }

  /** Takes the messages that arrived while the history was read. */
  takeArrived() {
    const { arrived } = this;
    this.clusterNode.arrivedBytes -= this.arrivedBytes;
    this.arrived = [];
    this.arrivedBytes = 0;
    this.isWhole = true;
    return arrived;
  }

  /** @type {(bytes: Buffer, position: Position) => void} */
  keep(bytes, position) {
    const { clusterNode } = this;
    if (this.arrivedBytes + bytes.length > MAX_BYTES || clusterNode.arrivedBytes + bytes.length > MAX_BYTES_OF_ALL) this.isWhole = false;
    // A later one is read again, with the missing ones.
    if (!this.isWhole) return;
    this.arrivedBytes += bytes.length;
    clusterNode.arrivedBytes += bytes.length;
    this.arrived.push({ bytes, position });
  }

  /**
   * Admits waiting subscribers among `some`, if their positions are known, or the broker has answered a request since they came.
   *
   * @type {(answered: number, some?: Set<PendingSubscriber>) => void}
   */
  admit(answered, some = this.waiting) {
    const { denied, topic, waiting } = this;
    for (const one of some) {
      const { request, callback, since, subscriptions, isAnswered } = one;
      const isAhead = this.isAhead(since);
      if (isAhead && request >= answered) continue;
      if (isAhead && typeof since === 'object' && since.epoch !== topic.epoch) denied.add(since.epoch);
      if (denied.size > MAX_DENIED) denied.delete([...denied][0]);
      this.remove(one);
      const own = subscriptions.pendingHistories?.get(this);
      if (own?.delete(one) && own.size === 0) subscriptions.pendingHistories?.delete(this);
      if (!isAnswered) subscriptions.request(topic, since, callback);
      else {
        subscriptions.request(topic);
        subscriptions.passed(topic, 0, topic.offset);
      }
    }
    if (waiting.size !== 0) return this.requestLater();
    this.stopAnswerTimer();
  }

  /** A message from the broker. @type {(bytes: Buffer, position: Position) => void} */
  receive(bytes, position) {
    const { topic } = this;
    this.hasReceived = true;
    if (this.state === READING) return this.keep(bytes, position);
    if (this.state !== LIVE) return;
    const { epoch, offset } = position;
    if (epoch === topic.epoch && offset === topic.offset + 1) {
      this.overlap = 0;
      this.apply(bytes, position);
      const known = this.byOffset.get(offset);
      if (known !== undefined) this.admit(0, known);
      return;
    }
    if (epoch === topic.epoch && offset <= this.overlap) return;
    // Something is missing; or the broker has lost messages that were here, and has given their positions to others.
    this.clusterNode.counts.gaps++;
    this.read();
  }

  /** The message after the last one. @type {(bytes: Buffer, position: Position) => void} */
  apply(bytes, position) {
    const { topic } = this;
    const envelope = decode(bytes);
    if (position.epoch !== topic.epoch || position.offset !== topic.offset + 1) return;
    if (envelope === null) {
      // The position counts, without a message.
      this.clusterNode.ignored();
      return this.skip();
    }
    const { key, message, node, number } = envelope;
    const own = node === this.clusterNode.number ? this.sent.get(number) : undefined;
    if (!this.clusterNode.receive(topic, message, key, own?.target.except)) {
      this.clusterNode.refused(topic);
      return this.skip();
    }
    if (own !== undefined) this.settle(number, { ...own, position });
  }

  /** There is no message at the next position. */
  skip() {
    const { topic } = this;
    topic.restart(topic.epoch, topic.offset + 1);
  }

  /** To all nodes, by way of the broker. Resolves with the position of a receipt. @type {(number: number, bytes: Buffer, size: number, target: Target) => Promise<Position | null>} */
  publish(number, bytes, size, target) {
    const { topic, clusterNode } = this;
    const sent = /** @type {PendingEcho} */ ({ target, settle: null, position: null });
    const isAwaited = target.receipt || target.except.size !== 0;
    if (isAwaited) this.sent.set(number, sent);
    const result = target.receipt ? new Promise((resolve) => (sent.settle = resolve)) : NO_POSITION;
    this.unconfirmed++;
    const send = () => {
      clusterNode.outbound.send(topic.name, bytes, size, { history: keptOf(topic.settings) }, (error, position) => {
        this.unconfirmed--;
        if (!isAwaited || this.sent.get(number) !== sent) return;
        if (error !== null) {
          this.sent.delete(number);
          sent.settle?.(Promise.reject(error));
          return;
        }
        sent.position = position ?? null;
        // It does not come back to a node that does not follow the topic, or it was among messages that were lost.
        if (this.isInactive || position === undefined || (this.isLive && this.isOver(position))) this.settle(number, sent);
      });
    };
    // A subscriber that came before the message gets it, so its place in the history is found first.
    if (this.isDeferring) this.deferredSends.push(send);
    else send();
    return result;
  }

  /** Settles sends at positions that were passed over: they will not come back. */
  sweep() {
    for (const [number, one] of this.sent) if (one.position !== null && this.isOver(one.position)) this.settle(number, one);
  }

  /** Whether the message at a position was delivered, or never will be. @param {Position} position */
  isOver({ epoch, offset }) {
    return epoch !== this.topic.epoch || offset <= this.topic.offset;
  }

  /** @type {(number: number, sent: PendingEcho) => void} */
  settle(number, { position, settle }) {
    this.sent.delete(number);
    settle?.(position);
  }
}

/** Settings of the broker's history. @param {AnyTopic['settings']} settings @returns {HistorySettings} */
function keptOf({ history, positionTtl, ttl }) {
  return { size: history, ttl, positionTtl };
}

/** Chooses the number of messages of the next page, by the lengths in earlier pages. */
class PageSize {
  limit = 16;

  /** @param {AdapterPage['messages']} messages */
  update(messages) {
    const length = messages.reduce((sum, { bytes }) => sum + bytes.length, 1);
    this.limit = Math.min(Math.max(Math.floor((PAGE_BYTES * messages.length) / length), 1), 2 * this.limit, MAX_PAGE);
  }
}

/** @typedef {SharedHistory} History */

module.exports = { PageSize, SharedHistory, keptOf };
