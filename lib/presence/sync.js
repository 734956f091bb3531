'use strict';

// What nodes tell each other of a topic's presence. Each has entries of its own, counts their versions up, and says what has changed;
// a node that misses a version requests the whole.

const { PRESENCE } = require('../nodes/envelope');

/** @import { OneRoom } from './room' */
/** @import { Remote } from '../nodes/node' */

/** UTF-16 code units of entries in a message, above which another one begins: NATS allows 1 MB. */
const MOST_TEXT = 64 * 1024;

/** Milliseconds after which it answers those who have asked meanwhile. */
const ANSWER = 20;

/** Milliseconds between questions to a node, and after a message that the adapter has refused. */
const AGAIN = 1000;

/** Questions after which a node that has not answered has no entries any more. */
const MOST_QUESTIONS = 30;

/** @typedef {[number, string, unknown]} Entry A number, key and meta */

/**
 * `n`: the node that says it. `j`, `l` and `d`: who has come, has left, and whose connection has ended. `s`: part `p` of `of` of all
 * that it has. `q`: a question for the whole, for all nodes or for `to`.
 *
 * @typedef {{ n: string, v?: number, j?: Entry[], l?: number[], d?: number[], s?: Entry[], p?: number, of?: number, q?: number, to?: string, alive?: number, bye?: number }} Said
 */

/**
 * `isBehind`: something is missing. `questions`: for what is missing, without an answer. `coming`: the parts until now.
 *
 * @typedef {{ version: number, entries: Map<number, { key: string, meta: unknown }>, isKnown: boolean, isBehind: boolean, questions: number, asking: NodeJS.Timeout | undefined, coming: { version: number, parts: number, entries: Peer['entries'] } | null }} Peer
 */

class Peers {
  /** @param {OneRoom} room @param {Remote} remote */
  constructor(room, remote) {
    this.room = room;
    this.remote = remote;
    /** @type {Map<string, Peer>} */
    this.nodes = new Map();
    /** Of what this node has last said. It goes on where an earlier room of the topic has ended. */
    this.version = room.all.lastVersion;
    /** Of this tick. */
    this.joins = /** @type {Entry[]} */ ([]);
    this.left = /** @type {number[]} */ ([]);
    this.cut = /** @type {number[]} */ ([]);
    /** Whether other nodes can lack messages, because the broker was away. */
    this.isStale = false;
    this.retrying = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.answering = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** @type {(number: number, key: string, meta: unknown) => void} */
  joined(number, key, meta) {
    this.soon();
    this.joins.push([number, key, meta]);
  }

  /** @type {(number: number, isCut: boolean) => void} */
  parted(number, isCut) {
    this.soon();
    (isCut ? this.cut : this.left).push(number);
  }

  /** Schedules this tick's announcement. Call it before a change is queued. */
  soon() {
    if (this.joins.length + this.left.length + this.cut.length === 0) process.nextTick(() => this.sayChanges());
  }

  sayChanges() {
    const { cut, joins, left } = this;
    [this.joins, this.left, this.cut] = [[], [], []];
    // An entry can have come, left and come again.
    const [first = [], ...others] = partsOf(joins.filter(([number]) => this.room.own.has(number)));
    this.say({ v: ++this.version, j: first, l: left, d: cut });
    for (const part of others) this.say({ v: ++this.version, j: part });
  }

  /** All that this node has, and a question for what others have: when messages come, and when some may be missing. */
  resync() {
    if (!this.remote.isConnected) return void (this.isStale = true);
    this.isStale = false;
    this.sayAll();
    this.say({ q: 1 });
    // One without entries answers if it has some now.
    for (const [node, peer] of this.nodes) if (peer.entries.size !== 0) this.expect(node, peer);
  }

  sayAll() {
    clearTimeout(this.answering);
    this.answering = undefined;
    if (!this.hasSaid) return;
    const parts = partsOf([...this.room.own].map(([number, { key, meta }]) => /** @type {Entry} */ ([number, key, meta])));
    parts.forEach((part, index) => this.say({ v: this.version, s: part, p: index, of: parts.length }));
  }

  /** Whether there is something that other nodes have yet to hear. */
  get isBusy() {
    return this.isStale || this.retrying !== undefined || this.joins.length + this.left.length + this.cut.length !== 0;
  }

  /** Whether other nodes can have entries of this one. */
  get hasSaid() {
    return this.version !== 0;
  }

  /** @param {Omit<Said, 'n'>} message */
  say(message) {
    // A snapshot can exceed the limit, and must arrive nevertheless.
    const isWhole = message.s !== undefined;
    if (!this.remote.isConnected) this.isStale = true;
    else this.remote.outbound.tell(this.room.channel, packed({ n: this.remote.id, ...message }), isWhole, () => this.again());
  }

  /** A message did not go. */
  again() {
    this.retrying ??= setTimeout(() => {
      this.retrying = undefined;
      this.resync();
    }, AGAIN).unref();
  }

  /** @param {Said} message */
  take(message) {
    const { n: node, q, s, to } = message;
    if (q !== undefined) {
      if (to === undefined || to === this.remote.id) this.answering ??= setTimeout(() => this.sayAll(), ANSWER).unref();
      return;
    }
    let peer = this.nodes.get(node);
    if (peer === undefined) {
      const isKnown = message.v === 1 && s === undefined;
      this.nodes.set(node, (peer = { version: 0, entries: new Map(), isKnown, isBehind: false, questions: 0, asking: undefined, coming: null }));
    }
    if (s !== undefined) this.takeAll(node, peer, message, s);
    else this.takeChanges(node, peer, message);
  }

  /** @type {(node: string, peer: Peer, message: Said, part: Entry[]) => void} */
  takeAll(node, peer, { v = 0, p = 0, of = 1 }, part) {
    // The snapshot is not newer than the known version; the request was unnecessary.
    if (peer.isKnown && v <= peer.version) return void Object.assign(peer, { isBehind: false, questions: 0 });
    if (p === 0) peer.coming = { version: v, parts: 0, entries: new Map() };
    const { coming } = peer;
    if (coming === null || coming.version !== v || coming.parts !== p) return this.ask(node, peer);
    coming.parts++;
    for (const [number, key, meta] of part) coming.entries.set(number, { key, meta });
    if (p + 1 !== of) return;
    Object.assign(peer, { version: v, isKnown: true, isBehind: false, questions: 0, coming: null });
    for (const number of [...peer.entries.keys()]) if (!coming.entries.has(number)) this.drop(node, peer, number, true);
    for (const [number, { key, meta }] of coming.entries) this.put(node, peer, number, key, meta);
  }

  /** @type {(node: string, peer: Peer, message: Said) => void} */
  takeChanges(node, peer, { v = 0, j = [], l = [], d = [] }) {
    if (peer.isKnown && v <= peer.version) return;
    if (!peer.isKnown || v !== peer.version + 1) return this.ask(node, peer);
    Object.assign(peer, { version: v, isBehind: false, questions: 0 });
    for (const number of l) this.drop(node, peer, number, false);
    for (const number of d) this.drop(node, peer, number, true);
    for (const [number, key, meta] of j) this.put(node, peer, number, key, meta);
  }

  /** Until it has answered. Without entries of its own it forgets the topic, and does not. @type {(node: string, peer: Peer) => void} */
  ask(node, peer) {
    if (peer.asking === undefined) {
      if (this.remote.isConnected && ++peer.questions > MOST_QUESTIONS) return this.gone(node, true);
      this.say({ q: 1, to: node });
    }
    this.expect(node, peer);
  }

  /** @type {(node: string, peer: Peer) => void} */
  expect(node, peer) {
    peer.isBehind = true;
    peer.asking ??= setTimeout(() => {
      peer.asking = undefined;
      if (peer.isBehind) this.ask(node, peer);
    }, AGAIN).unref();
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

  /** Nothing more comes of a node. @type {(node: string, isCut: boolean) => void} */
  gone(node, isCut) {
    const peer = this.nodes.get(node);
    if (peer === undefined) return;
    this.nodes.delete(node);
    clearTimeout(peer.asking);
    for (const number of [...peer.entries.keys()]) this.drop(node, peer, number, isCut);
  }

  end() {
    for (const { asking } of this.nodes.values()) clearTimeout(asking);
    clearTimeout(this.answering);
    clearTimeout(this.retrying);
  }
}

/** At least one part, of so many entries that a broker takes. @param {Entry[]} entries */
function partsOf(entries) {
  /** @type {Entry[][]} */
  const parts = [[]];
  let length = 0;
  for (const entry of entries) {
    length += JSON.stringify(entry).length;
    if (length > MOST_TEXT) {
      parts.push([]);
      length = 0;
    }
    parts[parts.length - 1].push(entry);
  }
  return parts;
}

/** @param {Said} message */
function packed(message) {
  const text = JSON.stringify(message);
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  bytes[0] = PRESENCE;
  bytes.write(text, 1);
  return bytes;
}

/** Null for what no node says. @type {(bytes: Buffer) => Said | null} */
function unpacked(bytes) {
  try {
    const message = JSON.parse(bytes.toString('utf8', 1));
    return typeof message?.n === 'string' ? message : null;
  } catch {
    return null;
  }
}

module.exports = { Peers, packed, unpacked };
