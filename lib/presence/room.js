'use strict';

const { SLOW } = require('../base/layout');
const { TEXT } = require('../connection/arguments');
const { Peers } = require('./sync');
const { TO_ALL, publishTo } = require('../topics/publish');
const { Roster } = require('./roster');
const { DEFAULTS } = require('../topics/settings');
const { subscriptionsOf } = require('../topics/subscriptions');
const { Topic } = require('../topics/topic');

/** @import { WebSocket } from '../connection/state' */
/** @import { PresenceChange } from '../../types/presence' */
/** @import { AllPresence } from './liveness' */
/** @import { AnyTopic } from '../topics/topic' */

/** Share of `presenceLimit` below which keys are sent again, not only their number. */
const BACK = 0.9;

/** A watcher for which more bytes wait is closed: it cannot miss a change. */
const WATCHER_TOPIC = { ...DEFAULTS, slow: SLOW.close, limit: 16 * 2 ** 20 };

/** Presence in a topic, and its local watchers. */
class Room {
  /** `channel`: of announcements between nodes. @param {AllPresence} all @param {string} name @param {string} channel */
  constructor(all, name, channel) {
    const { clusterNode } = all.topics;
    this.all = all;
    this.name = name;
    this.channel = channel;
    this.roster = new Roster(all.settings.grace);
    /** Entries of connections of this server, by number. @type {Map<number, { key: string, meta: unknown }>} */
    this.own = new Map();
    this.last = 0;
    /** Subscribed by the connections that watch. @type {AnyTopic | null} */
    this.watcherTopic = null;
    /** Metas in JSON, by key, as watchers know them. Empty when they only know a number. @type {Map<string, string>} */
    this.announced = new Map();
    /** That number. @type {number | null} */
    this.announcedCount = null;
    /** A message with the whole list. @type {string | null} */
    this.text = null;
    /** Null without an adapter. */
    this.peers = clusterNode === null ? null : new Peers(this, clusterNode);
    this.usedAt = performance.now();
    this.toldAt = -Infinity;
    this.announceTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.leaving = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** @type {(number: number, key: string, meta: unknown) => void} */
  enter(number, key, meta) {
    this.own.set(number, { key, meta });
    this.put(key, `${number}`, meta);
    this.peers?.joined(number, key, meta);
  }

  /** `isCut`: the connection has ended. @type {(number: number, isCut: boolean) => void} */
  part(number, isCut) {
    const entry = this.own.get(number);
    if (entry === undefined) return;
    this.own.delete(number);
    this.remove(entry.key, `${number}`, isCut);
    this.peers?.parted(number, isCut);
  }

  /** An entry of any node. @type {(key: string, id: string, meta: unknown) => void} */
  put(key, id, meta) {
    this.roster.put(key, id, meta);
    this.announceLater();
  }

  /** @type {(key: string, id: string, isCut: boolean) => void} */
  remove(key, id, isCut) {
    this.roster.remove(key, id, isCut);
    if (this.roster.leaving.size !== 0) this.expireLater(this.all.settings.grace);
    this.announceLater();
  }

  /** @param {number} milliseconds */
  expireLater(milliseconds) {
    this.leaving ??= setTimeout(() => {
      this.leaving = undefined;
      const next = this.roster.expire();
      if (next !== null) this.expireLater(next);
      this.announceLater();
    }, milliseconds).unref();
  }

  /** Sends immediately, at most once per `presenceInterval`. */
  announceLater() {
    if (this.roster.changed.size !== 0) this.announceTimer ??= setTimeout(() => this.announce(), this.wait).unref();
  }

  /** Milliseconds until the next message to watchers. */
  get wait() {
    return Math.max(this.toldAt + this.all.settings.interval - performance.now(), 0);
  }

  /** Sends all changes to watchers and to the program. */
  announce() {
    clearTimeout(this.announceTimer);
    this.announceTimer = undefined;
    this.toldAt = performance.now();
    const change = this.change();
    this.all.forgetIdle(this);
    if (change === null) return;
    this.text = null;
    const { all, name, watcherTopic } = this;
    if (watcherTopic !== null) publishTo(watcherTopic, { tag: TEXT, data: JSON.stringify({ presence: name, ...change }) }, TO_ALL);
    // No listener runs inside `watch()`.
    process.nextTick(() => all.topics.server.emit('presence', name, change));
  }

  /** Changes since the last message to watchers. @returns {PresenceChange | null} */
  change() {
    const { roster, announced, announcedCount } = this;
    const { changed } = roster;
    roster.changed = new Set();
    const count = roster.keys.size;
    const { limit } = this.all.settings;
    if (count > (announcedCount === null ? limit : limit * BACK)) {
      announced.clear();
      this.announcedCount = count;
      return count === announcedCount ? null : { count };
    }
    this.announcedCount = null;
    /** @type {Array<[string, unknown[]]>} */
    const joins = [];
    const leaves = [];
    for (const key of announcedCount === null ? changed : roster.keys.keys()) {
      const metas = roster.metasOf(key);
      const text = JSON.stringify(metas);
      if (metas === undefined) {
        if (announced.delete(key)) leaves.push(key);
      } else if (announced.get(key) !== text) {
        announced.set(key, text);
        joins.push([key, metas]);
      }
    }
    if (announcedCount !== null) return { state: Object.fromEntries(joins), count };
    return joins.length + leaves.length === 0 ? null : { joins: Object.fromEntries(joins), leaves, count };
  }

  /** The whole list, as watchers have it. */
  state() {
    const name = JSON.stringify(this.name);
    if (this.announcedCount !== null) return `{"presence":${name},"count":${this.announcedCount}}`;
    const state = Array.from(this.announced, ([key, metas]) => `${JSON.stringify(key)}:${metas}`).join();
    return `{"presence":${name},"state":{${state}},"count":${this.announced.size}}`;
  }

  /** @param {WebSocket} ws */
  watch(ws) {
    this.watcherTopic ??= new Topic('', WATCHER_TOPIC, null, () => {
      this.watcherTopic = null;
      this.all.forgetIdle(this);
    });
    if (this.announceTimer !== undefined && this.wait === 0) this.announce();
    const subscriptions = subscriptionsOf(ws);
    if (subscriptions.joined.has(this.watcherTopic)) return;
    subscriptions.enter(this.watcherTopic);
    ws.send((this.text ??= this.state()));
  }

  /** @param {WebSocket} ws */
  unwatch(ws) {
    return this.watcherTopic !== null && subscriptionsOf(ws).part(this.watcherTopic);
  }

  /** For the next process. */
  export() {
    const { last, name, own, peers, roster } = this;
    return { name, last, own, leaving: roster.exportLeaving(), version: peers?.version ?? 0, nodes: peers?.export() ?? [] };
  }

  /** @param {MovedRoom} moved */
  import({ last, leaving, nodes, own, version }) {
    this.last = last;
    for (const [number, { key, meta }] of own) {
      this.own.set(number, { key, meta });
      this.put(key, `${number}`, meta);
    }
    this.peers?.import(version, nodes);
    this.roster.importLeaving(leaving);
    if (leaving.length !== 0) this.expireLater(0);
  }

  /** Entries without a connection here end as if theirs had been lost. @type {(numbers: Iterable<number>, present: Set<number | undefined>) => void} */
  partOthers(numbers, present) {
    for (const number of numbers) if (!present.has(number)) this.part(number, true);
  }

  end() {
    this.peers?.end();
    clearTimeout(this.announceTimer);
    clearTimeout(this.leaving);
  }
}

/** @typedef {Room} OneRoom */
/** @typedef {ReturnType<Room['export']>} MovedRoom */

module.exports = { Room };
