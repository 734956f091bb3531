'use strict';

// Presence of a topic between nodes. Each node numbers the versions of its own entries, and announces changes; a node that
// misses a version requests a snapshot.

const { PRESENCE } = require('../nodes/envelope');

/** @import { OneRoom } from './room' */
/** @import { ThisNode } from '../nodes/node' */

/** UTF-16 code units of entries in a message, above which another one begins: NATS allows 1 MB. */
const MAX_TEXT = 64 * 1024;

/** Milliseconds for which requests are collected before they are answered. */
const ANSWER = 20;

/** Milliseconds between requests to a node, and until a message is sent again that the adapter refused. */
const RETRY_DELAY = 1000;

/** A node that does not answer this many requests has no entries any more. */
const MAX_REQUESTS = 30;

/** @typedef {[number: number, key: string, meta: unknown]} Entry */

/**
 * `cut`: entries that a lost connection removed. `snapshot`: one of `parts` parts of all entries, at index `part`.
 * `request`: for a snapshot, from all nodes or from `to`.
 *
 * @typedef {{ node: string, version?: number, joined?: Entry[], left?: number[], cut?: number[], snapshot?: Entry[], part?: number, parts?: number, request?: number, to?: string, alive?: number, bye?: number }} Announcement
 */

/** Names of the fields on the wire. @type {Array<[name: keyof Announcement, short: string]>} */
const FIELDS = [['node', 'n'], ['version', 'v'], ['joined', 'j'], ['left', 'l'], ['cut', 'd'], ['snapshot', 's'], ['part', 'p'], ['parts', 'of'], ['request', 'q'], ['to', 'to'], ['alive', 'alive'], ['bye', 'bye']];

/**
 * `isBehind`: changes are missing. `requests`: those without an answer. `partial`: the snapshot so far.
 *
 * @typedef {{ version: number, entries: Map<number, { key: string, meta: unknown }>, isKnown: boolean, isBehind: boolean, requests: number, requestTimer: NodeJS.Timeout | undefined, partial: { version: number, parts: number, entries: Peer['entries'] } | null }} Peer
 */

class Peers {
  /** @param {OneRoom} room @param {ThisNode} clusterNode */
  constructor(room, clusterNode) {
    this.room = room;
    this.clusterNode = clusterNode;
    /** @type {Map<string, Peer>} */
    this.nodes = new Map();
    /** Version of the last announcement; continues from an earlier room of the topic. */
    this.version = room.all.lastVersion;
    // Changes of this tick.
    this.joins = /** @type {Entry[]} */ ([]);
    this.left = /** @type {number[]} */ ([]);
    this.cut = /** @type {number[]} */ ([]);
    /** Whether other nodes can have missed messages, because the broker was away. */
    this.isStale = false;
    this.retryTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.answerTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** @type {(number: number, key: string, meta: unknown) => void} */
  joined(number, key, meta) {
    this.scheduleChanges();
    this.joins.push([number, key, meta]);
  }

  /** @type {(number: number, isCut: boolean) => void} */
  parted(number, isCut) {
    this.scheduleChanges();
    (isCut ? this.cut : this.left).push(number);
  }

  /** Schedules this tick's announcement. Call it before a change is queued. */
  scheduleChanges() {
    if (!this.hasChanges) process.nextTick(() => this.sendChanges());
  }

  sendChanges() {
    const { cut, joins, left } = this;
    // While connections move, it is not known in which process they are.
    if (this.clusterNode.held !== null || !this.hasChanges) return;
    [this.joins, this.left, this.cut] = [[], [], []];
    // An entry can join, leave and join again in one tick.
    const [first = [], ...others] = partsOf(joins.filter(([number]) => this.room.own.has(number)));
    this.send({ version: ++this.version, joined: first, left, cut });
    for (const part of others) this.send({ version: ++this.version, joined: part });
  }

  /** Exchanges snapshots with all nodes: after a connect, and when messages can be missing. */
  resync() {
    if (!this.clusterNode.isConnected) return void (this.isStale = true);
    this.isStale = false;
    this.sendSnapshot();
    this.send({ request: 1 });
    // A node without known entries answers if it has some now.
    for (const [node, peer] of this.nodes) if (peer.entries.size !== 0) this.expect(node, peer);
  }

  sendSnapshot() {
    clearTimeout(this.answerTimer);
    this.answerTimer = undefined;
    if (!this.hasAnnounced) return;
    const parts = partsOf([...this.room.own].map(([number, { key, meta }]) => /** @type {Entry} */ ([number, key, meta])));
    parts.forEach((part, index) => this.send({ version: this.version, snapshot: part, part: index, parts: parts.length }));
  }

  /** Whether announcements are pending. */
  get isBusy() {
    return this.isStale || this.retryTimer !== undefined || this.hasChanges;
  }

  get hasChanges() {
    return this.joins.length + this.left.length + this.cut.length !== 0;
  }

  /** Whether other nodes can have entries of this one. */
  get hasAnnounced() {
    return this.version !== 0;
  }

  /** @param {Omit<Announcement, 'node'>} message */
  send(message) {
    // A snapshot can exceed the limit, and must arrive nevertheless.
    const isUrgent = message.snapshot !== undefined;
    if (!this.clusterNode.isConnected) this.isStale = true;
    else this.clusterNode.outbound.announce(this.room.channel, encode({ node: this.clusterNode.id, ...message }), isUrgent, () => this.retryLater());
  }

  /** The broker refused an announcement. */
  retryLater() {
    this.retryTimer ??= setTimeout(() => {
      this.retryTimer = undefined;
      this.resync();
    }, RETRY_DELAY).unref();
  }

  /** @param {Announcement} message */
  receive(message) {
    const { node, request, snapshot, to, version } = message;
    if (request !== undefined) {
      if (to === undefined || to === this.clusterNode.id) this.answerTimer ??= setTimeout(() => this.sendSnapshot(), ANSWER).unref();
      return;
    }
    let peer = this.nodes.get(node);
    if (peer === undefined) {
      const isKnown = version === 1 && snapshot === undefined;
      this.nodes.set(node, (peer = { version: 0, entries: new Map(), isKnown, isBehind: false, requests: 0, requestTimer: undefined, partial: null }));
    }
    if (snapshot !== undefined) this.receiveSnapshot(node, peer, message, snapshot);
    else this.receiveChanges(node, peer, message);
  }

  /** @type {(node: string, peer: Peer, message: Announcement, entries: Entry[]) => void} */
  receiveSnapshot(node, peer, { version = 0, part = 0, parts = 1 }, entries) {
    // The snapshot is not newer than the known version; the request was unnecessary.
    if (peer.isKnown && version <= peer.version) return void Object.assign(peer, { isBehind: false, requests: 0 });
    if (part === 0) peer.partial = { version, parts: 0, entries: new Map() };
    const { partial } = peer;
    if (partial === null || partial.version !== version || partial.parts !== part) return this.request(node, peer);
    partial.parts++;
    for (const [number, key, meta] of entries) partial.entries.set(number, { key, meta });
    if (part + 1 !== parts) return;
    Object.assign(peer, { version, isKnown: true, isBehind: false, requests: 0, partial: null });
    for (const number of [...peer.entries.keys()]) if (!partial.entries.has(number)) this.drop(node, peer, number, true);
    for (const [number, { key, meta }] of partial.entries) this.put(node, peer, number, key, meta);
  }

  /** @type {(node: string, peer: Peer, message: Announcement) => void} */
  receiveChanges(node, peer, { version = 0, joined = [], left = [], cut = [] }) {
    if (peer.isKnown && version <= peer.version) return;
    if (!peer.isKnown || version !== peer.version + 1) return this.request(node, peer);
    Object.assign(peer, { version, isBehind: false, requests: 0 });
    for (const number of left) this.drop(node, peer, number, false);
    for (const number of cut) this.drop(node, peer, number, true);
    for (const [number, key, meta] of joined) this.put(node, peer, number, key, meta);
  }

  /** Requests a snapshot until it comes; a node without entries never answers. @type {(node: string, peer: Peer) => void} */
  request(node, peer) {
    if (peer.requestTimer === undefined) {
      if (this.clusterNode.isConnected && ++peer.requests > MAX_REQUESTS) return this.removeNode(node, true);
      this.send({ request: 1, to: node });
    }
    this.expect(node, peer);
  }

  /** @type {(node: string, peer: Peer) => void} */
  expect(node, peer) {
    peer.isBehind = true;
    peer.requestTimer ??= setTimeout(() => {
      peer.requestTimer = undefined;
      if (peer.isBehind) this.request(node, peer);
    }, RETRY_DELAY).unref();
  }

  /** @type {(node: string, peer: Peer, number: number, key: string, meta: unknown) => void} */
  put(node, peer, number, key, meta) {
    const known = peer.entries.get(number);
    if (known !== undefined && known.key !== key) this.drop(node, peer, number, false);
    peer.entries.set(number, { key, meta });
    this.room.put(key, `${node} ${number}`, meta);
  }

  /** @type {(node: string, peer: Peer, number: number, isCut: boolean) => void} */
  drop(node, peer, number, isCut) {
    const entry = peer.entries.get(number);
    if (entry === undefined) return;
    peer.entries.delete(number);
    this.room.remove(entry.key, `${node} ${number}`, isCut);
  }

  /** Removes a node with its entries. @type {(node: string, isCut: boolean) => void} */
  removeNode(node, isCut) {
    const peer = this.nodes.get(node);
    if (peer === undefined) return;
    this.nodes.delete(node);
    clearTimeout(peer.requestTimer);
    for (const number of [...peer.entries.keys()]) this.drop(node, peer, number, isCut);
  }

  /** The other nodes, for the next process. */
  export() {
    return Array.from(this.nodes, ([node, { entries, isKnown, version }]) => ({ node, entries, isKnown, version }));
  }

  /** @type {(version: number, nodes: ReturnType<Peers['export']>) => void} */
  import(version, nodes) {
    this.version = version;
    // The process before, which this one has become.
    this.removeNode(this.clusterNode.id, false);
    for (const { entries, isKnown, node, version } of nodes) {
      const peer = { version, entries: new Map(), isKnown, isBehind: false, requests: 0, requestTimer: undefined, partial: null };
      this.nodes.set(node, peer);
      this.room.all.seen.set(node, performance.now());
      for (const [number, { key, meta }] of entries) this.put(node, peer, number, key, meta);
    }
  }

  end() {
    for (const { requestTimer } of this.nodes.values()) clearTimeout(requestTimer);
    clearTimeout(this.answerTimer);
    clearTimeout(this.retryTimer);
  }
}

/** Splits entries into parts that a broker accepts; at least one. @param {Entry[]} entries */
function partsOf(entries) {
  /** @type {Entry[][]} */
  const parts = [[]];
  let length = 0;
  for (const entry of entries) {
    length += JSON.stringify(entry).length;
    if (length > MAX_TEXT) {
      parts.push([]);
      length = 0;
    }
    parts[parts.length - 1].push(entry);
  }
  return parts;
}

/** @param {Announcement} message */
function encode(message) {
  const text = JSON.stringify(Object.fromEntries(FIELDS.map(([name, short]) => [short, message[name]])));
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  bytes[0] = PRESENCE;
  bytes.write(text, 1);
  return bytes;
}

/** Null for bytes that no node of this version sends. @type {(bytes: Buffer) => Announcement | null} */
function decode(bytes) {
  try {
    const message = JSON.parse(bytes.toString('utf8', 1));
    if (typeof message?.n !== 'string') return null;
    return /** @type {any} */ (Object.fromEntries(FIELDS.map(([name, short]) => [name, message[short]])));
  } catch {
    return null;
  }
}

module.exports = { Peers, decode, encode };
