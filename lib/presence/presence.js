'use strict';

// `enter()`, `leave()` and `presence()`.

const { checkOptions, checkValue, wrongType } = require('../base/checks');
const { presencesOf } = require('./liveness');
const { isWebSocket } = require('../topics/publish');
const { isOpen, subscriptionsOf } = require('../topics/subscriptions');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { EnterOptions } from '../../types/presence' */

/** Characters of a key, and of the JSON of a meta. */
const MAX_KEY = 256;
const MAX_META = 1024;

/** The public object for a topic's presence. */
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
  if (key === '' || key.length > MAX_KEY) throw new RangeError(`options.key must have 1 to ${MAX_KEY} characters. Received ${key.length}`);
  const text = JSON.stringify(meta) ?? 'null';
  if (text.length > MAX_META) throw new RangeError(`options.meta must have at most ${MAX_META} characters in JSON. Received ${text.length}`);
  return { key, meta: JSON.parse(text) };
}

module.exports = { Presence, enter, leave };
