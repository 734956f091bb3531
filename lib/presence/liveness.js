'use strict';

// The presence of all topics of a server, and the other nodes.

const { PRESENCE_CHANNEL: CHANNEL } = require('../nodes/envelope');
const { decode, encode } = require('./sync');
const { Room } = require('./room');
const { topicsOf } = require('../topics/registry');

/** @import { Server } from '../connection/state' */
/** @import { MovedRoom, OneRoom } from './room' */

/** @typedef {{ lastVersion: number, rooms: MovedRoom[] }} MovedPresence */

/** Milliseconds between checks of other nodes; every second time this node announces itself. */
const HEARTBEAT = 5000;

/** Milliseconds of silence after which another node is gone. Its entries stay for at most a heartbeat more. */
const NODE_TIMEOUT = 22_000;

/** Milliseconds for which a node follows a topic without own members, after its last use. */
const KEPT = 60_000;

/** Silent nodes to remember: they can come back. */
const MAX_SILENT = 1024;

class Presences {
  /** @param {import('../topics/registry').Topics} topics */
  constructor(topics) {
    this.topics = topics;
    this.settings = topics.options.presence;
    /** By topic. @type {Map<string, OneRoom>} */
    this.rooms = new Map();
    /** When the last message of each other node arrived. @type {Map<string, number>} */
    this.seen = new Map();
    /** Nodes that were removed after NODE_TIMEOUT. @type {Set<string>} */
    this.silent = new Set();
    /** The highest version of rooms that were forgotten: other nodes ignore versions up to it. */
    this.lastVersion = 0;
    this.heartbeats = 0;
    this.heartbeatAt = 0;
    this.heartbeatTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** With an adapter, it is followed from now on. @param {string} name */
  room(name) {
    const known = this.rooms.get(name);
    if (known !== undefined) known.usedAt = performance.now();
    return known ?? this.create(name);
  }

  /** @param {string} name */
  create(name) {
    const room = new Room(this, name, `${CHANNEL}\0${name}`);
    if (this.topics.isOver) return room;
    this.rooms.set(name, room);
    this.follow(room);
    // The program might have used it only once. With an adapter, entries of other nodes can follow.
    process.nextTick(() => this.forgetIdle(room));
    return room;
  }

  /** @param {OneRoom} room */
  follow({ channel }) {
    const { clusterNode } = this.topics;
    if (clusterNode === null) return;
    if (this.heartbeatTimer === undefined) {
      this.heartbeatAt = performance.now();
      this.heartbeatTimer = setInterval(() => this.heartbeat(), HEARTBEAT).unref();
      clusterNode.subscriptionSync.subscribe(CHANNEL);
    }
    clusterNode.subscriptionSync.subscribe(channel);
  }

  /** Forgets a topic without members and without watchers. @param {OneRoom} room */
  forgetIdle(room) {
    const { own, peers, roster, announceTimer, watcherTopic } = room;
    if (own.size !== 0 || watcherTopic !== null || announceTimer !== undefined) return;
    if (peers === null ? roster.keys.size !== 0 : peers.isBusy || roster.leaving.size !== 0 || performance.now() - room.usedAt < KEPT) return;
    this.lastVersion = Math.max(this.lastVersion, peers?.version ?? 0);
    room.end();
    this.rooms.delete(room.name);
    const { clusterNode } = this.topics;
    clusterNode?.subscriptionSync.unsubscribe(room.channel);
    if (this.rooms.size !== 0 || this.heartbeatTimer === undefined) return;
    clearInterval(this.heartbeatTimer);
    this.heartbeatTimer = undefined;
    this.seen.clear();
    clusterNode?.subscriptionSync.unsubscribe(CHANNEL);
  }

  /** Announces that this node is alive, and forgets silent nodes. */
  heartbeat() {
    const { clusterNode } = this.topics;
    const now = performance.now();
    // This process stood still, or receives nothing.
    const isDeaf = now - this.heartbeatAt > 2 * HEARTBEAT || !clusterNode?.isConnected;
    this.heartbeatAt = now;
    for (const [node, at] of this.seen) {
      if (isDeaf) this.seen.set(node, now);
      else if (now - at > NODE_TIMEOUT) this.removePeer(node);
    }
    if (++this.heartbeats % 2 === 0) this.announce({ alive: 1 });
    for (const room of this.rooms.values()) this.forgetIdle(room);
  }

  /** @param {string} node */
  removePeer(node) {
    this.seen.delete(node);
    if (this.silent.size >= MAX_SILENT) this.silent.delete(this.silent.values().next().value ?? '');
    this.silent.add(node);
    for (const { peers } of this.rooms.values()) peers?.removeNode(node, false);
  }

  /** @param {{ alive?: number, bye?: number }} message */
  announce(message) {
    const { clusterNode } = this.topics;
    const hasAnnounced = [...this.rooms.values()].some(({ peers }) => peers?.hasAnnounced);
    if (hasAnnounced && clusterNode?.isConnected) clusterNode.outbound.announce(CHANNEL, encode({ node: clusterNode.id, ...message }), true, () => {});
  }

  /** A message of a node. @type {(name: string, bytes: Buffer) => void} */
  receive(name, bytes) {
    const { clusterNode } = this.topics;
    const message = decode(bytes);
    if (message === null) return clusterNode?.ignored();
    const { bye, node } = message;
    if (node === clusterNode?.id) return;
    if (bye) {
      this.seen.delete(node);
      for (const { peers } of this.rooms.values()) peers?.removeNode(node, true);
      return;
    }
    this.seen.set(node, performance.now());
    // This node has forgotten the entries of a node that was away.
    if (this.silent.delete(node)) for (const { peers } of this.rooms.values()) peers?.send({ request: 1, to: node });
    if (name !== CHANNEL) this.rooms.get(name.slice(CHANNEL.length + 1))?.peers?.receive(message);
  }

  /** Messages of a channel, or of all channels, can be missing. @param {string} [name] */
  resync(name) {
    if (name === undefined) for (const { peers } of this.rooms.values()) peers?.resync();
    else if (name.startsWith(CHANNEL)) this.rooms.get(name.slice(CHANNEL.length + 1))?.peers?.resync();
  }

  /** The broker can be reached again. */
  connected() {
    for (const { peers } of this.rooms.values()) if (peers?.isStale) peers.resync();
  }

  /** For the next process. @returns {MovedPresence} */
  export() {
    const rooms = Array.from(this.rooms.values(), (room) => room.export());
    return { lastVersion: Math.max(this.lastVersion, ...rooms.map(({ version }) => version)), rooms };
  }

  /** @param {MovedPresence} moved */
  import({ lastVersion, rooms }) {
    this.lastVersion = lastVersion;
    for (const moved of rooms) this.room(moved.name).import(moved);
  }

  /** Another process has its entries: other nodes hear nothing more about them from this one. */
  abandon() {
    clearInterval(this.heartbeatTimer);
    for (const room of this.rooms.values()) {
      room.peers?.end();
      room.peers = null;
    }
  }

  end() {
    this.announce({ bye: 1 });
    clearInterval(this.heartbeatTimer);
    for (const room of this.rooms.values()) room.end();
  }
}

/** @param {Server} server */
function presencesOf(server) {
  const topics = topicsOf(server);
  return (topics.presence ??= new Presences(topics));
}

/** @typedef {Presences} AllPresence */

module.exports = { presencesOf };
