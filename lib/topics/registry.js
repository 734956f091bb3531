'use strict';

const { state } = require('../reactor/reactors');
const { start } = require('../reactor/start');
const records = require('./records');
const { endTopic } = require('./requests');
const { settingsOf } = require('./settings');
const { Topic } = require('./topic');

/** @import { Server } from '../connection/state' */
/** @import { AnyTopic } from './topic' */

/** Milliseconds between checks of idle topics, and most topics per check. */
const SWEEP_MILLISECONDS = 10_000;
const SWEEP_TOPICS = 4096;

/** The interval if a check finds this many expired topics: there can be more. */
const BUSY_MILLISECONDS = 50;
const BUSY_TOPICS = SWEEP_TOPICS / 4;

/** Topics without subscribers in which no message was published, but which are kept for their positions. Peers can choose the names. */
const MAX_UNUSED = 10_000;
const FORGOTTEN_AT_ONCE = 100;

/** Whether the reactors have the history budget: the first history decides. */
let isBudgetKnown = false;

/** @typedef {ServerTopics} Topics */

class ServerTopics {
  /** @param {Server} server */
  constructor(server) {
    this.server = server;
    const { historyBudget, presence, reactor, topicOptions } = server._settings;
    this.options = { historyBudget, presence, topicOptions, start: () => start(reactor) };
    /** By name. @type {Map<string, AnyTopic>} */
    this.all = new Map();
    /** All open connections: from the first broadcast on, until all have ended. @type {import('./publish').Anyone | null} */
    this.broadcastTopic = null;
    /** From the first use of presence on. @type {import('../presence/liveness').AllPresence | null} */
    this.presence = null;
    /** Kept for their history. @type {Set<AnyTopic>} */
    this.idle = new Set();
    /** Topics that had no message when they were added. @type {Set<AnyTopic>} */
    this.unused = new Set();
    this.sweeping = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    /** Null without an adapter. @type {import('../nodes/node').ThisNode | null} */
    this.clusterNode = null;
    this.isOver = false;
    /** Whether messages have a header, for clients of the protocol. */
    this.hasProtocol = false;
  }

  /** Undefined if the message would never reach a subscriber. @type {(name: string) => AnyTopic | undefined} */
  forPublish(name) {
    const topic = this.all.get(name);
    if (topic !== undefined || this.isOver || this.options.topicOptions === null) return topic;
    const settings = this.settings(name);
    // `topicOptions` might have subscribed to it.
    if (settings.history === 0) return this.all.get(name);
    const created = this.create(name, settings, false);
    // As above.
    if (created.size === 0) this.rest(created);
    return created;
  }

  /** @param {string} name */
  settings(name) {
    const { topicOptions } = this.options;
    const settings = settingsOf(topicOptions === null ? undefined : topicOptions(name));
    return this.hasProtocol ? { ...settings, header: JSON.stringify(name) } : settings;
  }

  /** @type {(name: string, settings: AnyTopic['settings'], isOnReactors: boolean) => AnyTopic} */
  create(name, settings, isOnReactors) {
    // As in `forPublish`.
    const known = this.all.get(name);
    if (known !== undefined) return known;
    // Its own text: a slice would keep a longer text in memory.
    const topic = new Topic(JSON.parse(JSON.stringify(name)), settings, this.clusterNode);
    // First, as it can throw.
    if ((topic.epoch !== null && topic.shared === null) || isOnReactors) this.register(topic);
    this.all.set(topic.name, topic);
    return topic;
  }

  /** Announces it to the reactors, once. @param {AnyTopic} topic */
  register(topic) {
    if (topic.number !== 0) return;
    // Reactors that start later would not know it.
    if (!state.hasStarted) this.options.start();
    const { historyBudget } = this.options;
    if (topic.epoch !== null && !isBudgetKnown) {
      isBudgetKnown = true;
      if (historyBudget !== null) records.historyBudget(historyBudget || Number.MAX_SAFE_INTEGER);
    }
    records.begin(topic);
  }

  /** It has its first subscriber. @param {AnyTopic} topic */
  onFirstSubscriber(topic) {
    this.idle.delete(topic);
    this.unused.delete(topic);
    if (topic.isRemote) this.clusterNode?.subscriptionSync.subscribe(topic.name);
  }

  /** It has lost its last subscriber. @param {AnyTopic} topic */
  emptied(topic) {
    if (topic.isRemote) this.clusterNode?.subscriptionSync.unsubscribe(topic.name);
    if (topic.epoch === null || this.isOver) this.forget(topic);
    else this.rest(topic);
  }

  /** It has a history, but no subscribers. @param {AnyTopic} topic */
  rest(topic) {
    this.idle.add(topic);
    if (isUnused(topic)) this.unused.add(topic);
    if (this.unused.size > MAX_UNUSED) {
      for (const first of this.unused) {
        this.unused.delete(first);
        if (isUnused(first)) this.forget(first);
        // A new iterator passes over all that are gone.
        if (this.unused.size <= MAX_UNUSED - FORGOTTEN_AT_ONCE) break;
      }
    }
    if (this.sweeping === undefined) this.sweepLater(SWEEP_MILLISECONDS);
  }

  /** @param {number} milliseconds */
  sweepLater(milliseconds) {
    this.sweeping = setTimeout(() => this.sweep(), milliseconds);
    this.sweeping.unref();
  }

  /** It has no members, and no history to keep. @param {AnyTopic} topic */
  forget(topic) {
    if (topic.onEmptied !== null) topic.onEmptied();
    else this.all.delete(topic.name);
    this.idle.delete(topic);
    this.unused.delete(topic);
    if (topic.number !== 0) endTopic(topic);
  }

  /** Forgets topics after their positions have expired. */
  sweep() {
    clearTimeout(this.sweeping);
    this.sweeping = undefined;
    const now = performance.now();
    let left = Math.min(SWEEP_TOPICS, this.idle.size);
    let forgotten = 0;
    for (const topic of this.idle) {
      if (left-- === 0) break;
      // Topics that stay are checked again after all others.
      this.idle.delete(topic);
      if (isToStay(topic, now)) this.idle.add(topic);
      else {
        this.forget(topic);
        forgotten++;
      }
    }
    if (this.idle.size !== 0) this.sweepLater(forgotten < BUSY_TOPICS ? SWEEP_MILLISECONDS : BUSY_MILLISECONDS);
  }

  end() {
    this.isOver = true;
    this.presence?.end();
    this.clusterNode?.close();
    for (const topic of this.idle) this.forget(topic);
    clearTimeout(this.sweeping);
  }
}

/** Whether it has no state to keep. @param {AnyTopic} topic */
function isUnused({ offset, shared }) {
  return offset === 0 && (shared === null || shared.isInactive);
}

/** @type {(topic: AnyTopic, now: number) => boolean} */
function isToStay({ publishedAt, settings, shared }, now) {
  // The broker has its history, and this node has only its settings.
  if (shared !== null) return !shared.isInactive || now - publishedAt < SWEEP_MILLISECONDS;
  return now - publishedAt < settings.positionTtl;
}

/** @param {Server} server */
function topicsOf(server) {
  return (server._topics ??= new ServerTopics(server));
}

module.exports = { topicsOf };
