'use strict';

// Who is present in a topic: on this server, and with an adapter on all nodes.

const { checkValue, wrongType } = require('../base/checks');
const { TEXT } = require('../connection/arguments');
const { checkOptions } = require('./arguments');
const { Peers, packed, unpacked } = require('./presence-peers');
const { isWebSocket, publishTo } = require('./publish');
const { Roster } = require('./roster');
const { topicsOf } = require('./server-topics');
const { DEFAULTS } = require('./settings');
const { isOpen, subscriptionsOf } = require('./subscriptions');
const { Topic } = require('./topic');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { EnterOptions, PresenceChange } from '../../types/presence' */
/** @import { AnyTopic } from './topic' */

/** Where nodes say that they are alive. A topic's name after another NUL is where they tell of it. */
const CHANNEL = '\0presence';

/** Characters of a key, and of the JSON of a meta. */
const MOST_KEY = 256;
const MOST_META = 1024;

/** Milliseconds between looks at other nodes; every second time a node says that it is alive. */
const BEAT = 5000;

/** Milliseconds of silence after which another node is gone. Its entries stay for at most a beat more. */
const SILENCE = 22_000;

/** Milliseconds for which a node hears of a topic in which nobody of its own is, after the last question. */
const KEPT = 60_000;

/** Nodes that were silent, and may come back. */
const MOST_SILENT = 1024;

/** Share of `presenceLimit` below which keys are told again, not only their number. */
const BACK = 0.9;

const NOBODY = { except: new Set(), key: '', receipt: false };

/** A topic's presence here. */
class Room {
  /** @param {Presences} all @param {string} name */
  constructor(all, name) {
    const { remote } = all.topics;
    this.all = all;
    this.name = name;
    this.channel = `${CHANNEL}\0${name}`;
    this.roster = new Roster(all.settings.grace);
    /** Entries of connections of this server, by number. @type {Map<number, { key: string, meta: unknown }>} */
    this.own = new Map();
    this.last = 0;
    /** Connections that hear of it. @type {AnyTopic | null} */
    this.watchers = null;
    /** Metas in JSON, by key, as watchers know them. Empty when they only know a number. @type {Map<string, string>} */
    this.told = new Map();
    /** That number. @type {number | null} */
    this.toldCount = null;
    /** The message that tells all of it. @type {string | null} */
    this.text = null;
    /** Null without an adapter. */
    this.peers = remote === null ? null : new Peers(this, remote);
    this.usedAt = Date.now();
    this.toldAt = 0;
    this.telling = /** @type {NodeJS.Timeout | undefined} */ (undefined);
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
    this.tellLater();
  }

  /** @type {(key: string, id: string, isCut: boolean) => void} */
  remove(key, id, isCut) {
    this.roster.remove(key, id, isCut);
    if (this.roster.leaving.size !== 0) this.expireLater(this.all.settings.grace);
    this.tellLater();
  }

  /** @param {number} milliseconds */
  expireLater(milliseconds) {
    this.leaving ??= setTimeout(() => {
      this.leaving = undefined;
      const next = this.roster.expire();
      if (next !== null) this.expireLater(next);
      this.tellLater();
    }, milliseconds).unref();
  }

  /** At once, but so often only. */
  tellLater() {
    if (this.roster.changed.size !== 0) this.telling ??= setTimeout(() => this.tell(), this.wait).unref();
  }

  /** Milliseconds until it may tell again. */
  get wait() {
    return Math.max(this.toldAt + this.all.settings.interval - Date.now(), 0);
  }

  /** Tells what has changed. */
  tell() {
    clearTimeout(this.telling);
    this.telling = undefined;
    this.toldAt = Date.now();
    const change = this.change();
    this.all.forgetIdle(this);
    if (change === null) return;
    this.text = null;
    const { all, name, watchers } = this;
    if (watchers !== null) publishTo(watchers, { tag: TEXT, data: JSON.stringify({ presence: name, ...change }), prepared: null }, NOBODY);
    // No listener runs inside a call that watches.
    process.nextTick(() => all.topics.server.emit('presence', name, change));
  }

  /** What watchers do not know yet; null: nothing. @returns {PresenceChange | null} */
  change() {
    const { roster, told, toldCount } = this;
    const { changed } = roster;
    roster.changed = new Set();
    const count = roster.keys.size;
    const { limit } = this.all.settings;
    if (count > (toldCount === null ? limit : limit * BACK)) {
      told.clear();
      this.toldCount = count;
      return count === toldCount ? null : { count };
    }
    this.toldCount = null;
    /** @type {Array<[string, unknown[]]>} */
    const joins = [];
    const leaves = [];
    for (const key of toldCount === null ? changed : roster.keys.keys()) {
      const metas = roster.metasOf(key);
      const text = JSON.stringify(metas);
      if (metas === undefined) {
        if (told.delete(key)) leaves.push(key);
      } else if (told.get(key) !== text) {
        told.set(key, text);
        joins.push([key, metas]);
      }
    }
    if (toldCount !== null) return { state: Object.fromEntries(joins), count };
    return joins.length + leaves.length === 0 ? null : { joins: Object.fromEntries(joins), leaves, count };
  }

  /** All that watchers know. */
  state() {
    const name = JSON.stringify(this.name);
    if (this.toldCount !== null) return `{"presence":${name},"count":${this.toldCount}}`;
    const state = Array.from(this.told, ([key, metas]) => `${JSON.stringify(key)}:${metas}`).join();
    return `{"presence":${name},"state":{${state}},"count":${this.told.size}}`;
  }

  /** @param {WebSocket} ws */
  watch(ws) {
    this.watchers ??= new Watchers(this);
    if (this.telling !== undefined && this.wait === 0) this.tell();
    const subscriptions = subscriptionsOf(ws);
    if (subscriptions.joined.has(this.watchers)) return;
    subscriptions.enter(this.watchers);
    ws.send((this.text ??= this.state()));
  }

  /** @param {WebSocket} ws */
  unwatch(ws) {
    return this.watchers !== null && subscriptionsOf(ws).part(this.watchers);
  }

  end() {
    this.peers?.end();
    clearTimeout(this.telling);
    clearTimeout(this.leaving);
  }
}

class Watchers extends Topic {
  /** @param {Room} room */
  constructor(room) {
    super('', DEFAULTS);
    this.inner = {
      emptied() {
        room.watchers = null;
        room.all.forgetIdle(room);
      },
    };
  }
}

/** Of a server. */
class Presences {
  /** @param {import('./server-topics').Topics} topics */
  constructor(topics) {
    this.topics = topics;
    this.settings = topics.options.presence;
    /** By topic. @type {Map<string, Room>} */
    this.rooms = new Map();
    /** When other nodes were last heard of. @type {Map<string, number>} */
    this.seen = new Map();
    /** Those that were silent for too long. @type {Set<string>} */
    this.silent = new Set();
    this.beats = 0;
    this.beatAt = 0;
    this.beating = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** With an adapter, it is followed from now on. @param {string} name */
  room(name) {
    const known = this.rooms.get(name);
    if (known !== undefined) known.usedAt = Date.now();
    return known ?? this.create(name);
  }

  /** @param {string} name */
  create(name) {
    const room = new Room(this, name);
    if (this.topics.isOver) return room;
    this.rooms.set(name, room);
    this.follow(room);
    // Perhaps it was only looked at. With an adapter, others may be in it.
    process.nextTick(() => this.forgetIdle(room));
    return room;
  }

  /** @param {Room} room */
  follow({ channel }) {
    const { remote } = this.topics;
    if (remote === null) return;
    if (this.beating === undefined) {
      this.beatAt = Date.now();
      this.beating = setInterval(() => this.beat(), BEAT).unref();
      remote.interest.want(CHANNEL);
    }
    remote.interest.want(channel);
  }

  /** A topic in which nobody is, and of which nobody wants to hear. @param {Room} room */
  forgetIdle(room) {
    const { own, peers, roster, telling, watchers } = room;
    if (own.size !== 0 || watchers !== null || telling !== undefined) return;
    if (peers === null ? roster.keys.size !== 0 : Date.now() - room.usedAt < KEPT) return;
    room.end();
    this.rooms.delete(room.name);
    const { remote } = this.topics;
    remote?.interest.release(room.channel);
    if (this.rooms.size !== 0 || this.beating === undefined) return;
    clearInterval(this.beating);
    this.beating = undefined;
    this.seen.clear();
    remote?.interest.release(CHANNEL);
  }

  /** Says that this node is alive, and forgets those that are not. */
  beat() {
    const { remote } = this.topics;
    const now = Date.now();
    // This process has stood still, or cannot hear the others.
    const isDeaf = now - this.beatAt > 2 * BEAT || !remote?.isConnected;
    this.beatAt = now;
    for (const [node, at] of this.seen) {
      if (isDeaf) this.seen.set(node, now);
      else if (now - at > SILENCE) this.lose(node);
    }
    if (++this.beats % 2 === 0) this.say({ alive: 1 });
    for (const room of this.rooms.values()) this.forgetIdle(room);
  }

  /** @param {string} node */
  lose(node) {
    this.seen.delete(node);
    if (this.silent.size >= MOST_SILENT) this.silent.delete(this.silent.values().next().value ?? '');
    this.silent.add(node);
    for (const { peers } of this.rooms.values()) peers?.gone(node, false);
  }

  /** @param {{ alive?: number, bye?: number }} message */
  say(message) {
    const { remote } = this.topics;
    const hasSaid = ![...this.rooms.values()].every(({ peers }) => peers === null || peers.version === 0);
    if (hasSaid && remote?.isConnected) remote.tell(CHANNEL, packed({ n: remote.id, ...message }), () => {});
  }

  /** A message of a node. @type {(name: string, bytes: Buffer) => void} */
  take(name, bytes) {
    const { remote } = this.topics;
    const message = unpacked(bytes);
    if (message === null) return remote?.ignored();
    const { bye, n: node } = message;
    if (node === remote?.id) return;
    if (bye) {
      this.seen.delete(node);
      for (const { peers } of this.rooms.values()) peers?.gone(node, true);
      return;
    }
    this.seen.set(node, Date.now());
    // It was away, and what it had was forgotten.
    if (this.silent.delete(node)) for (const { peers } of this.rooms.values()) peers?.say({ q: 1, to: node });
    if (name !== CHANNEL) this.rooms.get(name.slice(CHANNEL.length + 1))?.peers?.take(message);
  }

  /** Messages may be missing: of a channel, or of all. @param {string} [name] */
  resync(name) {
    if (name === undefined) for (const { peers } of this.rooms.values()) peers?.resync();
    else if (name.startsWith(CHANNEL)) this.rooms.get(name.slice(CHANNEL.length + 1))?.peers?.resync();
  }

  /** The broker can be reached again. */
  connected() {
    for (const { peers } of this.rooms.values()) if (peers?.isStale) peers.resync();
  }

  end() {
    this.say({ bye: 1 });
    clearInterval(this.beating);
    for (const room of this.rooms.values()) room.end();
  }
}

/** @typedef {Presences} AllPresence */
/** @typedef {Room} OneRoom */

/** What a program sees of a topic's presence. */
class Presence {
  #server;
  #name;

  /** @param {Server} server @param {string} name */
  constructor(server, name) {
    this.#server = server;
    this.#name = name;
    this.#room();
  }

  #room() {
    return presencesOf(this.#server).room(this.#name);
  }

  get count() {
    return this.#room().roster.keys.size;
  }

  list() {
    const { roster } = this.#room();
    return Array.from(roster.keys.keys(), (key) => ({ key, metas: /** @type {unknown[]} */ (roster.metasOf(key)) }));
  }

  /** @param {string} key */
  get(key) {
    return this.#room().roster.metasOf(key);
  }

  /** @param {WebSocket} ws */
  watch(ws) {
    if (!isWebSocket(ws) || ws._owner !== this.#server) throw wrongType('socket', 'a connection of this server', ws);
    if (!isOpen(ws)) return false;
    this.#room().watch(ws);
    return true;
  }

  /** @param {WebSocket} ws */
  unwatch(ws) {
    if (!isWebSocket(ws)) throw wrongType('socket', 'a connection of this server', ws);
    return ws._owner === this.#server && this.#room().unwatch(ws);
  }
}

/** @param {Server} server */
function presencesOf(server) {
  const topics = topicsOf(server);
  return (topics.presence ??= new Presences(topics));
}

/** Arguments are not checked yet, but for the topic. @type {(ws: WebSocket, server: Server, name: string, options: EnterOptions) => boolean} */
function enter(ws, server, name, options) {
  const { key, meta } = entryOf(options);
  if (!isOpen(ws)) return false;
  const room = presencesOf(server).room(name);
  const present = (subscriptionsOf(ws).present ??= new Map());
  const known = present.get(room);
  const isSame = known !== undefined && room.own.get(known)?.key === key;
  if (known !== undefined && !isSame) room.part(known, false);
  const number = isSame ? known : ++room.last;
  present.set(room, number);
  room.enter(number, key, meta);
  return true;
}

/** @type {(ws: WebSocket, server: Server, name: string) => boolean} */
function leave(ws, server, name) {
  const room = server._topics?.presence?.rooms.get(name);
  if (room === undefined) return false;
  const present = ws._extra?.topics ? subscriptionsOf(ws).present : null;
  const number = present?.get(room);
  if (number === undefined) return false;
  present?.delete(room);
  room.part(number, false);
  return true;
}

/** @param {EnterOptions} options */
function entryOf(options) {
  if (options === undefined || options === null) throw wrongType('options', 'an object', options);
  checkOptions(options, ['key', 'meta']);
  const { key, meta } = options;
  checkValue({ type: 'string' }, key, 'options.key');
  if (key === '' || key.length > MOST_KEY) throw new RangeError(`options.key must have 1 to ${MOST_KEY} characters. Received ${key.length}`);
  const text = JSON.stringify(meta) ?? 'null';
  if (text.length > MOST_META) throw new RangeError(`options.meta must have at most ${MOST_META} characters in JSON. Received ${text.length}`);
  return { key, meta: JSON.parse(text) };
}

module.exports = { Presence, enter, leave };
