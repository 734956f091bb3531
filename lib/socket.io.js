'use strict';

// Socket.IO's rooms on topics: a packet is encoded once, and the reactors send it to the members of a room. The adapter of
// Socket.IO keeps the rooms. Only the loop at the end of a broadcast is replaced, whichever adapter leads there.

const { wrongType } = require('./base/checks');
const { SLOW } = require('./base/layout');
const { tagOf, toBytes } = require('./connection/arguments');
const { TO_ALL, publishTo } = require('./topics/publish');
const { DEFAULTS } = require('./topics/settings');
const { isOpen, subscriptionsOf } = require('./topics/subscriptions');
const { Topic } = require('./topics/topic');
const WebSocket = require('./websocket');

/** @import { AnyTopic } from './topics/topic' */

/**
 * Parts of Socket.IO and Engine.IO, which need not be installed.
 *
 * @typedef {any} Adapter
 * @typedef {any} Client One connection, with a socket in each namespace that it has joined
 * @typedef {any} Socket
 * @typedef {{ rooms: Set<unknown>, except?: Set<unknown>, flags?: { compress?: boolean, volatile?: boolean } | null }} BroadcastOptions
 */

/** In place of a room: all sockets of the namespace. */
const ALL = Symbol('all');

const kRooms = Symbol('rooms');
const kUsual = Symbol('usual');
const kWatched = Symbol('watched');

/** A topic costs more than it saves in a smaller room, such as the one that each socket has for itself. */
const MIN_SOCKETS = 4;

/** The first character of a message, in the protocol of Engine.IO. */
const MESSAGE = '4';

/** As in Socket.IO, a volatile packet is dropped if anything waits that the kernel does not take. */
const VOLATILE = Object.freeze({ ...DEFAULTS, slow: SLOW.drop, limit: 0 });

/** Clients on WebSockets of ours with packets in Engine.IO's buffer, which leave before anything is published. @type {Set<Client>} */
const waiting = new Set();

/** The topics of one room, made on the first broadcast of their kind. */
class Channel {
  constructor() {
    /** @type {{ queued: AnyTopic | null, volatile: AnyTopic | null }} */
    this.topics = { queued: null, volatile: null };
    /** Ids of sockets that are on no topic: they get their packets one by one. */
    this.apart = new Set();
  }

  /** @type {(id: string, ws: WebSocket | null) => void} */
  add(id, ws) {
    if (ws === null) this.apart.add(id);
    else for (const topic of Object.values(this.topics)) enter(ws, topic);
  }

  /** @type {Channel['add']} */
  delete(id, ws) {
    if (ws === null) this.apart.delete(id);
    else for (const topic of Object.values(this.topics)) if (topic !== null) subscriptionsOf(ws).part(topic);
  }
}

/** @type {(ws: WebSocket, topic: AnyTopic | null) => void} */
function enter(ws, topic) {
  if (topic !== null && isOpen(ws)) subscriptionsOf(ws).enter(topic);
}

/** The rooms of one namespace. */
class Rooms {
  /** @param {Adapter} adapter */
  constructor(adapter) {
    this.adapter = adapter;
    this.namespace = adapter.nsp;
    /** Connected sockets by id; null: apart from the topics. @type {Map<string, WebSocket | null>} */
    this.sockets = new Map();
    /** By room. @type {Map<unknown, Channel>} */
    this.channels = new Map();
  }

  /** A socket has connected, or its way has changed. @param {Socket} socket */
  place(socket) {
    // Of two sockets with one id, as after a recovery that the first has not noticed, Socket.IO sends to the second.
    if (this.namespace.sockets.get(socket.id) !== socket) return;
    const before = this.sockets.get(socket.id);
    const ws = webSocketOf(socket);
    if (ws === before) return;
    if (before !== undefined) for (const channel of this.channelsOf(socket.id)) channel.delete(socket.id, before);
    this.sockets.set(socket.id, ws);
    for (const channel of this.channelsOf(socket.id)) channel.add(socket.id, ws);
  }

  /** A socket leaves the namespace. @param {string} id */
  remove(id) {
    const ws = this.sockets.get(id);
    if (ws === undefined) return;
    for (const channel of this.channelsOf(id)) channel.delete(id, ws);
    this.sockets.delete(id);
  }

  /** @type {(id: string) => Generator<Channel>} */
  *channelsOf(id) {
    for (const room of [ALL, ...(this.adapter.sids.get(id) ?? [])]) {
      const channel = this.channels.get(room);
      if (channel !== undefined) yield channel;
    }
  }

  /** A socket that has not connected yet joins when it does. @type {(room: unknown, id: string) => void} */
  join(room, id) {
    const ws = this.sockets.get(id);
    if (ws !== undefined) this.channels.get(room)?.add(id, ws);
  }

  /** @type {Rooms['join']} */
  leave(room, id) {
    const ws = this.sockets.get(id);
    if (ws !== undefined) this.channels.get(room)?.delete(id, ws);
  }

  /**
   * Returns false if the adapter has to do it: to several rooms, as a socket can be in two of them, and where a topic
   * saves nothing.
   *
   * @type {(packet: any, options: BroadcastOptions) => boolean}
   */
  broadcast(packet, { rooms, except, flags }) {
    if (rooms.size > 1) return false;
    // A program can name a room `undefined`.
    const [room] = rooms.size === 0 ? [ALL] : rooms;
    const ids = this.idsOf(room);
    const excepted = new Set(Array.from(except ?? [], (one) => [...this.idsOf(one).keys()]).flat());
    if (ids.size < MIN_SOCKETS || excepted.size > ids.size / 2) return false;
    const { compress, volatile } = flags ?? {};
    packet.nsp = this.namespace.name;
    const encoded = this.adapter.encoder.encode(packet);
    // If parts can be dropped, others would come without them.
    if (!Array.isArray(encoded) || (volatile && encoded.length > 1) || !encoded.every(isData)) return false;
    for (const { conn } of [...waiting]) {
      conn.transport.writable = true;
      conn.flush();
    }
    const { apart, topic } = this.topicOf(room, volatile ? 'volatile' : 'queued');
    const exceptions = new Set();
    for (const id of excepted) {
      const ws = this.sockets.get(id);
      if (ws) exceptions.add(ws);
    }
    for (const part of encoded) {
      const isText = typeof part === 'string';
      const message = { tag: tagOf({ compress: compress !== false }, !isText), data: isText ? MESSAGE + part : toBytes(part) };
      publishTo(topic, message, { ...TO_ALL, except: exceptions });
    }
    // Listeners can put other sockets apart, which have got it, or take sockets out of the room.
    for (const id of [...apart]) {
      const isDue = !excepted.has(id) && this.idsOf(room).has(id);
      const socket = isDue ? this.namespace.sockets.get(id) : undefined;
      socket?.notifyOutgoingListeners?.(packet);
      socket?.client.writeToEngine(encoded, { preEncoded: true, volatile, compress });
    }
    return true;
  }

  /** @type {(room: unknown) => Set<string> | Map<string, unknown>} */
  idsOf(room) {
    return (room === ALL ? this.adapter.sids : this.adapter.rooms.get(room)) ?? new Set();
  }

  /** @type {(room: unknown, kind: 'queued' | 'volatile') => { apart: Set<string>, topic: AnyTopic }} */
  topicOf(room, kind) {
    let channel = this.channels.get(room);
    if (channel === undefined) {
      channel = new Channel();
      this.channels.set(room, channel);
      for (const id of this.idsOf(room).keys()) if (this.sockets.get(id) === null) channel.apart.add(id);
    }
    let topic = channel.topics[kind];
    if (topic === null) {
      // In no list, so that it can have the name of a topic of the program.
      topic = channel.topics[kind] = new Topic('socket.io', kind === 'volatile' ? VOLATILE : DEFAULTS, null, () => {});
      for (const id of this.idsOf(room).keys()) {
        const ws = this.sockets.get(id);
        if (ws) enter(ws, topic);
      }
    }
    return { apart: channel.apart, topic };
  }
}

/** Null: a socket that gets its packets one by one. @param {Socket} socket @returns {WebSocket | null} */
function webSocketOf(socket) {
  const { protocol, transport } = socket.conn;
  // Packets of version 3 have another form.
  if (!isOurs(transport) || !transport.supportsBinary || protocol !== 4) return null;
  // A client that connects twice at once has two, and each gets every packet.
  const isSecond = [...socket.client.sockets.values()].some((one) => one !== socket && one.nsp === socket.nsp);
  return isSecond || socket.listenersAnyOutgoing?.().length ? null : transport.socket;
}

/** Engine.IO before 6.3, without this method, keeps packets back until the ones before have left. @param {any} transport */
function isOurs({ _canSendPreEncodedFrame, socket }) {
  return socket instanceof WebSocket && typeof _canSendPreEncodedFrame === 'function';
}

/** @param {unknown} part */
function isData(part) {
  return typeof part === 'string' || ArrayBuffer.isView(part) || part instanceof ArrayBuffer;
}

/** Follows the connection of a socket. @param {Client} client */
function watch(client) {
  if (client[kWatched]) return;
  client[kWatched] = true;
  const { conn } = client;
  if (conn.writeBuffer.length !== 0) hold(client);
  conn.on('packetCreate', () => {
    if (!conn.transport.writable) hold(client);
  });
  conn.on('drain', () => {
    if (conn.writeBuffer.length === 0) waiting.delete(client);
  });
  conn.on('upgrade', () => {
    if (conn.writeBuffer.length !== 0) hold(client);
    for (const socket of client.sockets.values()) socket.adapter[kRooms]?.place(socket);
  });
  conn.once('close', () => waiting.delete(client));
}

/** @param {Client} client */
function hold(client) {
  if (isOurs(client.conn.transport)) waiting.add(client);
}

/** The prototype that first defines a method: its subclasses call that as `super.broadcast()`. @type {(object: any, name: string) => any} */
function origin(object, name) {
  let found;
  for (let one = object; one !== null; one = Object.getPrototypeOf(one)) if (Object.hasOwn(one, name)) found = one;
  return found;
}

/** @type {(object: any, name: string, change: (method: Function) => (this: any, ...args: any[]) => unknown) => void} */
function replace(object, name, change) {
  const owner = origin(object, name);
  if (owner === undefined || owner[name][kWatched]) return;
  const method = owner[name];
  const changed = Object.assign(change(method), { [kWatched]: true });
  Object.defineProperty(owner, name, {
    configurable: true,
    get: () => changed,
    // The close() of any server of Socket.IO puts the methods of adapters back.
    set(value) {
      if (this === owner && value === method) return;
      Object.defineProperty(this, name, { value, configurable: true, enumerable: true, writable: true });
    },
  });
}

/** @param {Adapter} adapter */
function accelerate(adapter) {
  const rooms = (adapter[kRooms] = new Rooms(adapter));
  const { addAll, delAll, nsp } = adapter;
  adapter.on('join-room', (/** @type {unknown} */ room, /** @type {string} */ id) => rooms.join(room, id));
  adapter.on('leave-room', (/** @type {unknown} */ room, /** @type {string} */ id) => rooms.leave(room, id));
  adapter.on('delete-room', (/** @type {unknown} */ room) => rooms.channels.delete(room));
  adapter.addAll = (/** @type {string} */ id, /** @type {Set<unknown>} */ joined) => {
    const socket = nsp.sockets.get(id);
    // Called when it has connected, for its own room.
    if (socket !== undefined && (!socket[kWatched] || !rooms.sockets.has(id))) {
      socket[kWatched] = true;
      watch(socket.client);
      for (const name of ['onAnyOutgoing', 'prependAnyOutgoing', 'offAnyOutgoing']) replace(socket, name, thenPlace);
      rooms.place(socket);
    }
    return addAll.call(adapter, id, joined);
  };
  adapter.delAll = (/** @type {string} */ id) => {
    delAll.call(adapter, id);
    rooms.remove(id);
  };
  replace(adapter, 'broadcast', orBroadcast);
  return adapter;
}

/** @param {Function} method */
function thenPlace(method) {
  /** @this {Socket} @param {any[]} args */
  return function (...args) {
    const result = method.apply(this, args);
    const rooms = this.adapter[kRooms];
    if (rooms?.sockets.has(this.id)) rooms.place(this);
    return result;
  };
}

/** @param {Function} method */
function orBroadcast(method) {
  /** @this {Adapter} @param {any} packet @param {BroadcastOptions} options */
  return function (packet, options) {
    if (!this[kRooms]?.broadcast(packet, options)) method.call(this, packet, options);
  };
}

/**
 * For the option `adapter` of Socket.IO. `inner`: an adapter that it goes over, such as one for Redis.
 *
 * @type {(inner?: any) => (nsp: any) => any}
 */
function reactorAdapter(inner) {
  if (inner !== undefined && typeof inner !== 'function') throw wrongType('inner', 'an adapter of Socket.IO', inner);
  return function (nsp) {
    const Inner = inner ?? usualAdapter(nsp.server);
    return accelerate(new Inner(nsp));
  };
}

/** The adapter of a server without the option: its package is not always to be found from here. @param {any} server */
function usualAdapter(server) {
  const { connectionStateRecovery } = server.opts;
  const { constructor: Server } = origin(server, 'adapter');
  return (server[kUsual] ??= new Server({ connectionStateRecovery, serveClient: false }).adapter());
}

module.exports = { reactorAdapter };
