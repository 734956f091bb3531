'use strict';

// The topics of a server.

const { state } = require('../reactor/link');
const records = require('./records');
const { endTopic } = require('./requests');
const { settingsOf } = require('./settings');
const { Topic } = require('./topic');

/** @import { Server } from '../connection/state' */
/** @import { AnyTopic } from './topic' */

/** The interval in milliseconds at which idle topics are checked, and the most topics of one check. */
const SWEEP_MILLISECONDS = 10_000;
const SWEEP_TOPICS = 4096;

/** The interval while a check finds this many topics that have expired: there may be more. */
const BUSY_MILLISECONDS = 50;
const BUSY_TOPICS = SWEEP_TOPICS / 4;

/** Whether the reactors have the budget for histories: the first history decides. */
let isBudgetKnown = false;

/** @typedef {ServerTopics} Topics */

class ServerTopics {
  /** @param {Server} server The server of the topics */
  constructor(server) {
    this.server = server;
    this.options = server._forTopics();
    /** By name. @type {Map<string, AnyTopic>} */
    this.all = new Map();
    /**
     * The topic of all open connections, which has no name: it exists from the first broadcast on,
     * until all have gone.
     *
     * @type {import('./publish').Anyone | null}
     */
    this.everyone = null;
    /** Topics that are kept for their history. @type {Set<AnyTopic>} */
    this.idle = new Set();
    this.sweeping = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    /** Names and events that have not been emitted yet. @type {Array<[string, string]>} */
    this.news = [];
    /** The server has closed. */
    this.isOver = false;
  }

  /**
   * Undefined: the message would reach no subscriber, now or later.
   *
   * @type {(name: string) => AnyTopic | undefined}
   */
  forPublish(name) {
    const topic = this.all.get(name);
    if (topic !== undefined || this.isOver || this.options.topicOptions === null) return topic;
    const settings = this.settings(name);
    // `topicOptions` may have subscribed to it.
    if (settings.history === 0) return this.all.get(name);
    const created = this.create(name, settings, false);
    // `topicOptions` may have subscribed to it.
    if (created.size === 0) this.rest(created);
    return created;
  }

  /** @param {string} name Name of the topic */
  settings(name) {
    const { topicOptions } = this.options;
    return settingsOf(topicOptions === null ? undefined : topicOptions(name));
  }

  /** @type {(name: string, settings: AnyTopic['settings'], isOnReactors: boolean) => AnyTopic} */
  create(name, settings, isOnReactors) {
    // `topicOptions` may have subscribed to it.
    const known = this.all.get(name);
    if (known !== undefined) return known;
    // A text of its own: it may have been cut out of a longer one, which it would keep in memory.
    const topic = new Topic(JSON.parse(JSON.stringify(name)), settings);
    // It may throw.
    if (topic.epoch !== null || isOnReactors) this.register(topic);
    this.all.set(topic.name, topic);
    return topic;
  }

  /** @param {AnyTopic} topic A topic that the reactors must know from now on */
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

  /** @param {AnyTopic} topic A topic that has its first subscriber */
  woke(topic) {
    this.idle.delete(topic);
    this.report(topic, 'created');
  }

  /** @param {AnyTopic} topic A topic that has no subscribers any more */
  emptied(topic) {
    this.report(topic, 'empty');
    if (topic.epoch === null || this.isOver) this.forget(topic);
    else this.rest(topic);
  }

  /** @param {AnyTopic} topic A topic with a history and without subscribers */
  rest(topic) {
    this.idle.add(topic);
    if (this.sweeping === undefined) this.sweepLater(SWEEP_MILLISECONDS);
  }

  /** @param {number} milliseconds Time until idle topics are checked */
  sweepLater(milliseconds) {
    this.sweeping = setTimeout(() => this.sweep(), milliseconds);
    this.sweeping.unref();
  }

  /** @param {AnyTopic} topic A topic without members and history */
  forget(topic) {
    if (topic === this.everyone) this.everyone = null;
    else this.all.delete(topic.name);
    this.idle.delete(topic);
    if (topic.number !== 0) endTopic(topic);
  }

  /** Forgets topics whose positions have expired. */
  sweep() {
    clearTimeout(this.sweeping);
    this.sweeping = undefined;
    const now = Date.now();
    let left = Math.min(SWEEP_TOPICS, this.idle.size);
    let forgotten = 0;
    for (const topic of this.idle) {
      if (left-- === 0) break;
      // Topics that stay are checked again after all others.
      this.idle.delete(topic);
      if (now - topic.publishedAt < topic.settings.positionTtl) this.idle.add(topic);
      else {
        this.forget(topic);
        forgotten++;
      }
    }
    if (this.idle.size !== 0) this.sweepLater(forgotten < BUSY_TOPICS ? SWEEP_MILLISECONDS : BUSY_MILLISECONDS);
  }

  /** The server has closed: nothing is kept any more. */
  end() {
    this.isOver = true;
    for (const topic of this.idle) this.forget(topic);
    clearTimeout(this.sweeping);
  }

  /**
   * Events come in a tick of their own, so that no listener runs inside a call that subscribes or
   * closes.
   *
   * @type {(topic: AnyTopic, event: string) => void}
   */
  report(topic, event) {
    if (topic === this.everyone || this.server.listenerCount('topic') === 0) return;
    if (this.news.push([topic.name, event]) === 1) process.nextTick(emitNews, this);
  }
}

/** @param {ServerTopics} topics The topics of a server */
function emitNews(topics) {
  const { news, server } = topics;
  topics.news = [];
  let next = 0;
  try {
    while (next < news.length) server.emit('topic', ...news[next++]);
  } finally {
    // A listener has thrown; the remaining events come before new ones.
    if (next < news.length) {
      if (topics.news.length === 0) process.nextTick(emitNews, topics);
      topics.news.unshift(...news.slice(next));
    }
  }
}

/** Made on first use. @type {(server: Server) => ServerTopics} */
function topicsOf(server) {
  return (server._topics ??= new ServerTopics(server));
}

module.exports = { topicsOf };
