'use strict';

// A server with an adapter is a node: it exchanges messages with the other servers of the adapter.

const { AsyncResource } = require('node:async_hooks');
const { randomBytes } = require('node:crypto');

const { Backoff } = require('../base/backoff');
const { warn } = require('../base/log');
const { BINARY } = require('../connection/arguments');
const { PASSED_ON, NODE_BYTES, PRESENCE, PRESENCE_CHANNEL, decode, decodeHanded, encode, encodeHanded } = require('./envelope');
const { SubscriptionSync, attempt } = require('./subscription-sync');
const { Semaphore } = require('./semaphore');
const { Outbound, errorOf } = require('./outbound');

/** @import { Adapter, AdapterEvent, AdapterPage, AdapterState, HistorySettings } from '../../types/adapter' */
/** @import { Position } from '../../types/topics' */
/** @import { Message, Target } from '../topics/publish' */
/** @import { History } from './shared-history' */
/** @import { Topics } from '../topics/registry' */
/** @import { AnyTopic } from '../topics/topic' */

/** The positions of all topics are compared with the broker's within this many seconds, for at most this many topics a second. */
const CHECK = 40;
const MAX_CHECKED = 200;
const SECOND = 1000;

/** Concurrent readings of histories. */
const MAX_READINGS = 32;

/** Milliseconds between reports of the same kind. */
const REPORT = 1000;

/** Milliseconds until a start that has failed is tried again, the first time and at most. */
const RETRY = 500;
const MAX_RETRY = 30_000;

/** The number of a message in place of others that could not be published, and most topics that wait for one. */
const LOSS = 0;
const MAX_LOSSES = 4096;

/** Milliseconds for which a callback of `subscribe()` waits for a broker that does not answer. */
const TIMEOUT = 10_000;

/** Other nodes of which a topic remembers the last message. */
const MAX_NODES = 1024;

/** Bytes of messages that wait while connections move. */
const MAX_HELD = 64 * 2 ** 20;

/** Milliseconds in which a message comes from other servers of the broker, for its answers to one process, and for the process before to hand on what came. */
const ON_ITS_WAY = 100;
const ANSWERING = 5000;
const HANDING = 10_000;

/** Between the numbers of two processes that are the same node. */
const LEAP = 2 ** 20;

class ClusterNode {
  /**
   * @param {Topics} topics Of the server
   * @param {{ adapter: Adapter, adapterLimit: number, adapterOverflow: string }} options
   * @param {typeof import('../topics/publish').receive} receive Takes messages of other nodes
   */
  constructor(topics, { adapter, adapterLimit, adapterOverflow }, receive) {
    this.receive = receive;
    this.topics = topics;
    this.adapter = adapter;
    this.id = '';
    this.number = 0;
    this.last = 0;
    this.rename();
    /** While connections move: messages that wait. @type {Array<[name: string, bytes: Buffer, position: Position | null | undefined]> | null} */
    this.held = null;
    this.heldBytes = 0;
    /** Those that came to the process before. @type {NonNullable<ClusterNode['held']>} */
    this.handed = [];
    /** Whether all of them were kept. */
    this.isWhole = true;
    /** The held messages are delivered after this many events: the end of the messages handed on, and the arrival of the connections. */
    this.awaited = 0;
    this.handing = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.onReleased = () => {};
    this.isClosed = false;
    /** @type {AdapterState} */
    this.state = 'starting';
    /** @type {Record<'sent' | 'received' | 'bytesSent' | 'bytesReceived' | 'dropped' | 'failed' | 'ignored' | 'reconnects' | 'gaps', number>} */
    this.counts = { sent: 0, received: 0, bytesSent: 0, bytesReceived: 0, dropped: 0, failed: 0, ignored: 0, reconnects: 0, gaps: 0 };
    this.outbound = new Outbound(adapter, { limit: adapterLimit, rejects: adapterOverflow === 'reject' }, this.counts, {
      failed: (error) => this.failed(error),
      dropped: () => this.reportLater('dropped', { type: 'dropped', count: 1 }),
    });
    this.readings = new Semaphore(MAX_READINGS);
    /** Bytes of messages that arrived while the histories of their topics are read. */
    this.arrivedBytes = 0;
    this.subscriptionSync = new SubscriptionSync(adapter, {
      on: (name) => this.onSubscribed(name),
      off: (name) => this.onUnsubscribed(name),
      failed: (error) => this.failed(error),
    });
    /** By kind: events that are collected before they are emitted. @type {Map<string, AdapterEvent>} */
    this.reports = new Map();
    this.checking = setInterval(() => this.check(), SECOND).unref();
    this.toCheck = this.topics.all.values();
    /** Topics without a shared history in which messages were not published. @type {Set<string>} */
    this.losses = new Set();
    this.backoff = new Backoff(RETRY, MAX_RETRY);
    this.retrying = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    topics.clusterNode = this;
    void this.start();
  }

  async start() {
    const node = {
      id: this.id,
      deliver: this.guarded((/** @type {string} */ topic, /** @type {Uint8Array} */ bytes, /** @type {Position | undefined} */ position) => this.deliver(topic, bytes, position)),
      lost: this.guarded((/** @type {string | undefined} */ topic) => this.lost(topic)),
      report: (/** @type {'connected' | 'away'} */ state, /** @type {unknown} */ error) => this.changed(state, error),
    };
    try {
      await attempt(() => this.adapter.start(node));
    } catch (error) {
      if (this.isClosed) return;
      this.failed(error);
      this.retrying = setTimeout(() => this.start(), this.backoff.next()).unref();
      return;
    }
    // Before, there might have been nothing to close.
    if (this.isClosed) return void attempt(() => this.adapter.close()).catch(() => {});
    if (this.state === 'starting') this.changed('connected');
    this.subscriptionSync.open();
    this.outbound.open();
  }

  /** Reports exceptions: adapters call this from callbacks of clients, which must not throw. @template {unknown[]} T @param {(...args: T) => void} act */
  guarded(act) {
    return (/** @type {T} */ ...args) => {
      try {
        act(...args);
      } catch (error) {
        this.failed(error);
      }
    };
  }

  /** Another node from now on: the next process goes on as this one, or the process before does. */
  rename() {
    this.become({ id: randomBytes(NODE_BYTES).toString('hex'), last: 0 });
    this.topics.presence?.abandon();
  }

  /** @param {{ id: string, last: number }} node */
  become({ id, last }) {
    this.id = id;
    this.number = Number.parseInt(id, 16);
    this.last = last + LEAP;
  }

  /** Messages wait from now on. */
  hold() {
    this.held ??= [];
    for (const { shared } of this.topics.all.values()) shared?.halt();
  }

  /** @type {(name: string, bytes: Buffer, position?: Position | null) => void} */
  keep(name, bytes, position) {
    this.heldBytes += bytes.length;
    if (this.heldBytes > MAX_HELD) this.isWhole = false;
    else this.held?.push([name, bytes, position]);
  }

  /** In the process that has given its connections away. Resolves when the next one can have what came meanwhile; it leaves unless it has members. */
  async hand() {
    const { adapter, id } = this;
    const channel = handedChannel(id);
    this.rename();
    await Promise.all([this.catchUp(), new Promise((resolve) => setTimeout(resolve, ON_ITS_WAY))]);
    /** @type {Promise<unknown>[]} */
    const results = [];
    const send = (/** @type {Buffer} */ bytes) => results.push(attempt(() => adapter.publish(channel, bytes, {})));
    for (const [name, bytes, position] of this.held ?? []) send(encodeHanded(name, position ?? null, bytes));
    send(encodeHanded(null, this.isWhole, Buffer.alloc(0)));
    await Promise.race([Promise.allSettled(results), new Promise((resolve) => setTimeout(resolve, ANSWERING).unref())]);
    this.release();
    if ([...this.topics.all.values()].every(({ size }) => size === 0)) this.close();
  }

  /** In the process that is about to have the connections of a node. Resolves when it has subscribed. @type {(node: { id: string, last: number }, names: string[]) => Promise<void>} */
  async succeed(node, names) {
    this.become(node);
    this.awaited = 2;
    const { subscriptionSync: sync } = this;
    const all = [...names, handedChannel(node.id)];
    for (const name of all) sync.subscribe(name);
    const active = all.map((name) => new Promise((resolve) => sync.whenActive(name, () => resolve(undefined))));
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('the broker of options.adapter does not answer')), TIMEOUT);
    });
    await Promise.race([Promise.all(active), late]);
    clearTimeout(timer);
  }

  /** Resolves after all messages that the broker sent before: its answer follows them. @returns {Promise<void>} */
  async catchUp() {
    const { subscriptionSync: sync } = this;
    // No process publishes there.
    const name = handedChannel(randomBytes(NODE_BYTES).toString('hex'));
    sync.subscribe(name);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, ANSWERING).unref();
      sync.whenActive(name, () => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
    sync.unsubscribe(name);
  }

  /** The connections are here, or none will be. Resolves when messages do not wait any more. @param {Promise<void>} left The process before has left, or has handed on all messages */
  async arrive(left) {
    if (this.awaited === 0) return;
    // What came only to the process before is lost.
    const giveUp = () => {
      this.isWhole = false;
      this.release();
    };
    this.handing = setTimeout(giveUp, HANDING);
    const released = new Promise((resolve) => (this.onReleased = () => resolve(undefined)));
    this.releaseIfDone();
    left.then(() => this.catchUp()).then(() => this.awaited !== 0 && giveUp());
    await released;
  }

  /** From the process before. @param {Buffer} buffer */
  onHanded(buffer) {
    if (this.held === null || this.awaited === 0) return;
    const [name, detail, bytes] = decodeHanded(buffer);
    if (name !== null) return void this.handed.push([name, bytes, detail]);
    this.isWhole &&= detail;
    this.releaseIfDone();
  }

  releaseIfDone() {
    if (--this.awaited === 0) this.release();
  }

  /** Messages do not wait any more. */
  release() {
    const { handed, held, isWhole } = this;
    if (held === null) return;
    clearTimeout(this.handing);
    this.subscriptionSync.unsubscribe(handedChannel(this.id));
    Object.assign(this, { awaited: 0, handed: [], held: null, heldBytes: 0, isWhole: true });
    const deliver = this.guarded(this.deliver.bind(this));
    for (const [name, bytes, position] of [...handed, ...held]) {
      // Both processes can have had it.
      if (!position || !this.topics.all.get(name)?.has(position)) deliver(name, bytes, position);
    }
    for (const { name, shared } of this.topics.all.values()) if (this.subscriptionSync.isActive(name)) shared?.goOn();
    for (const { peers } of this.topics.presence?.rooms.values() ?? []) peers?.sendChanges();
    if (!isWhole) this.lost();
    this.onReleased();
  }

  /** Whether messages of this node, which are not for all, have yet to come back. */
  get hasEchoes() {
    return [...this.topics.all.values()].some(({ shared }) => shared !== null && shared.sent.size !== 0);
  }

  get isConnected() {
    return this.state === 'connected';
  }

  /** Whether all nodes share the histories. */
  get hasHistory() {
    return typeof this.adapter.history === 'function';
  }

  /** The topic is about to have its first subscriber. @param {AnyTopic} topic */
  onFirstSubscriber(topic) {
    // Its own history lacks earlier messages of other nodes.
    if (topic.shared === null && topic.offset !== 0 && !this.subscriptionSync.has(topic.name)) topic.renew();
  }

  /** Whether this node receives the topic's messages of other nodes. @param {AnyTopic} topic */
  isActive(topic) {
    return topic.shared !== null || this.isClosed || this.subscriptionSync.isActive(topic.name);
  }

  /** Calls back when it receives them, or the broker does not answer in time; or when the result is called. @type {(topic: AnyTopic, callback: () => void) => () => void} */
  whenActive({ name }, callback) {
    const bound = AsyncResource.bind(callback);
    let isCalled = false;
    const call = () => {
      if (isCalled) return;
      isCalled = true;
      clearTimeout(patience);
      this.subscriptionSync.cancelWait(name, call);
      process.nextTick(bound);
    };
    const patience = setTimeout(call, TIMEOUT).unref();
    this.subscriptionSync.whenActive(name, call);
    return call;
  }

  nextNumber() {
    return ++this.last;
  }

  /**
   * To other nodes. With `shared`, the broker delivers it here, too: the position, or null without room for the message. Undefined: the
   * caller publishes it on this node.
   *
   * @type {(name: string, shared: History | null, message: Message, target: Target) => Promise<Position | null> | null | undefined}
   */
  publish(name, shared, message, target) {
    if (this.isClosed) return undefined;
    const number = this.nextNumber();
    const bytes = encode(this.number, number, message, target.key);
    const size = this.outbound.admit(bytes.length, shared?.unconfirmed === 0);
    if (shared !== null) return size === 0 ? null : shared.publish(number, bytes, size, target);
    if (size !== 0) this.outbound.send(name, bytes, size, {}, (error) => error !== null && this.unsent(name));
    else this.unsent(name);
    return undefined;
  }

  /** Other nodes have missed messages of the topic. @param {string} name */
  unsent(name) {
    if (this.losses.size < MAX_LOSSES) this.losses.add(name);
  }

  reportLosses() {
    const names = [...this.losses];
    this.losses.clear();
    const bytes = encode(this.number, LOSS, { tag: BINARY, data: '' }, '');
    for (const name of names) attempt(() => this.adapter.publish(name, bytes, {})).catch(() => this.unsent(name));
  }

  /** A message of some node. @type {(name: string, bytes: Uint8Array, position?: Position | null) => void} */
  deliver(name, bytes, position) {
    if (this.isClosed) return;
    const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (buffer[0] === PASSED_ON) return this.onHanded(buffer);
    if (this.held !== null) return this.keep(name, buffer, position);
    this.counts.received++;
    this.counts.bytesReceived += bytes.length;
    if (buffer[0] === PRESENCE) return this.topics.presence?.receive(name, buffer);
    const topic = this.topics.all.get(name);
    if (topic === undefined) return;
    if (topic.shared !== null && position) return topic.shared.receive(buffer, position);
    const envelope = decode(buffer);
    if (envelope === null) return this.ignored();
    const { key, message, node, number } = envelope;
    if (node === this.number) return;
    if (number === LOSS) return this.miss(topic);
    if (isRepeated(topic, node, number)) return;
    if (!this.receive(topic, message, key)) this.refused(topic);
  }

  /** A message of another version. */
  ignored() {
    this.counts.ignored++;
    warn('REACTOR_WS_FOREIGN_MESSAGE', 'Another version of this package publishes through the same broker; its messages are ignored');
  }

  /** A message of a node without `topicsProtocol()`. @param {AnyTopic} topic */
  refused(topic) {
    this.counts.ignored++;
    warn('REACTOR_WS_FOREIGN_BYTES', 'Another node publishes bytes, which topicsProtocol() does not take; they are ignored. Call topicsProtocol() on all nodes');
    if (topic.shared === null) this.miss(topic);
  }

  /** Subscribers of a topic might have missed messages. @param {AnyTopic} topic */
  miss(topic) {
    if (topic.size !== 0) this.counts.gaps++;
    topic.renew();
  }

  /** Messages of a topic, or of all, might be missing. @param {string} [name] */
  lost(name) {
    if (this.isClosed) return;
    if (this.held !== null) return void (this.isWhole = false);
    this.topics.presence?.resync(name);
    const topics = name === undefined ? [...this.topics.all.values()] : [this.topics.all.get(name)];
    for (const topic of topics) {
      if (topic === undefined || !this.subscriptionSync.isActive(topic.name)) continue;
      if (topic.shared !== null) topic.shared.lost();
      else this.miss(topic);
    }
  }

  /** Compares positions with the broker's: for some topics at a time, those without messages since the last time. */
  check() {
    const { all } = this.topics;
    if (this.isConnected) this.reportLosses();
    // An iterator that stands still keeps removed topics.
    if (!this.isConnected || all.size === 0) this.toCheck = all.values();
    let compared = 0;
    for (let left = Math.ceil(all.size / CHECK); left > 0 && compared < MAX_CHECKED && this.isConnected; left--) {
      const { done, value } = this.toCheck.next();
      if (done) return void (this.toCheck = all.values());
      const { shared } = value;
      if (shared === null || !shared.isLive) continue;
      if (!shared.hasReceived) {
        compared++;
        shared.compare();
      }
      shared.hasReceived = false;
    }
  }

  /** @param {string} name */
  onSubscribed(name) {
    this.topics.presence?.resync(name);
    const shared = this.topics.all.get(name)?.shared;
    if (shared?.isInactive) shared.read();
  }

  /** @param {string} name */
  onUnsubscribed(name) {
    const topic = this.topics.all.get(name);
    if (topic === undefined || topic.shared === null) return;
    topic.shared.deactivate();
    if (topic.size === 0) this.topics.forget(topic);
  }

  /** @type {(state: 'connected' | 'away', error?: unknown) => void} */
  changed(state, error) {
    if (this.isClosed || state === this.state) return;
    if (this.state === 'away') this.counts.reconnects++;
    this.state = state;
    if (state === 'connected') this.topics.presence?.connected();
    this.emit(error === undefined || error === null ? { type: state } : { type: state, error: errorOf(error) });
  }

  /** The broker, or the adapter, has refused something. @param {unknown} error */
  failed(error) {
    if (this.isClosed) return;
    this.counts.failed++;
    this.reportLater('failed', { type: 'failed', count: 1, error: errorOf(error) });
  }

  /** @type {(kind: string, event: AdapterEvent & { count: number }) => void} */
  reportLater(kind, event) {
    const waiting = /** @type {{ count: number } | undefined} */ (this.reports.get(kind));
    if (waiting !== undefined) return void (waiting.count += event.count);
    this.reports.set(kind, event);
    setTimeout(() => {
      this.reports.delete(kind);
      this.emit(event);
    }, REPORT).unref();
  }

  /** In a tick of its own: no listener runs inside a call of a client. @param {AdapterEvent} event */
  emit(event) {
    process.nextTick(() => this.topics.server.emit('adapter', event));
  }

  /** A page of a history. @type {(name: string, since: Position | 'oldest' | 'latest', limit: number, settings: HistorySettings) => Promise<AdapterPage>} */
  async page(name, since, limit, settings) {
    const page = await this.adapter.history?.(name, since, limit, settings);
    if (page === undefined) throw new TypeError('The history() of the adapter has returned undefined');
    return page;
  }

  /** For `metrics()`. */
  metrics() {
    const { bytesWaiting, lag } = this.outbound;
    return { state: this.state, lag, bytesWaiting, topics: this.subscriptionSync.all.size, ...this.counts };
  }

  close() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.state = 'closed';
    clearInterval(this.checking);
    clearTimeout(this.retrying);
    clearTimeout(this.handing);
    this.subscriptionSync.close();
    this.outbound.close();
    for (const { shared } of this.topics.all.values()) shared?.deactivate();
    // A start that is under way would go on until there is a broker.
    attempt(() => this.adapter.close()).catch(() => {});
  }
}

/** Where a process hands messages to the next one. @param {string} id */
function handedChannel(id) {
  return `${PRESENCE_CHANNEL}\0\0${id}`;
}

/** Clients can repeat a message that the broker had already. @type {(topic: AnyTopic, node: number, number: number) => boolean} */
function isRepeated(topic, node, number) {
  const latest = (topic.latest ??= new Map());
  const known = latest.get(node) ?? 0;
  if (number <= known) return true;
  if (known === 0 && latest.size >= MAX_NODES) latest.delete(latest.keys().next().value ?? 0);
  latest.set(node, number);
  return false;
}

/** @typedef {ClusterNode} ThisNode */

module.exports = { ClusterNode };
