'use strict';

// Nodes of one machine and one user, without a broker: processes of node:cluster and of PM2, threads, and any others.
//
// Each node listens on a socket in a folder that all know, and connects to all others. The connection from A to B
// carries A's subscriptions to B, and B's messages to A.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs/promises');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const { checkOptions, checkValue } = require('../base/checks');
const { ACK, BYE, HELLO, LOST, MESSAGE, READY, SUBSCRIBE, UNSUBSCRIBE, Frames, frame, numbersIn, numbersOf } = require('./cluster/frames');

/** @import { Socket, Server } from 'node:net' */
/** @import { Adapter, AdapterNode } from '../../types/adapter' */

/** Bytes that can wait for another node. */
const LIMIT = { type: /** @type {const} */ ('number'), min: 0, max: Number.MAX_SAFE_INTEGER };
const DEFAULT_LIMIT = 16 * 2 ** 20;

/** Only the user can enter the folder. */
const OWNER_ONLY = 0o700;
const OTHERS = 0o077;

/** The name of a node's socket. */
const ID = /^[0-9a-f]{12}$/;

/** Milliseconds between looks at the folder, and for which a start and a subscription wait for other nodes. */
const DISCOVER_INTERVAL = 5000;
const TIMEOUT = 1000;
const TICK = 100;

/** Age in milliseconds from which a socket file without a listener is stale: it exists before its node listens. */
const GRACE = 10_000;

/** Bytes of names that can wait for a node that stands still: peers choose topics, and leave them. */
const MAX_NAMES = 64 * 2 ** 20;

/** Topics that a connection names one by one when it has lost messages of them. */
const MAX_LOST = 1024;

class ClusterAdapter {
  /** @param {string} name @param {number} limit */
  constructor(name, limit) {
    const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
    this.folder = path.join(os.tmpdir(), `reactor-ws-${userId()}-${hash}`);
    this.limit = limit;
    /** @type {AdapterNode | null} */
    this.node = null;
    /** @type {Server | null} */
    this.server = null;
    /** Connections to other nodes, by their ids. @type {Map<string, Outgoing>} */
    this.others = new Map();
    /** Connections from other nodes. @type {Set<Incoming>} */
    this.incoming = new Set();
    /** Nodes that have named their topics. @type {Set<string>} */
    this.ready = new Set();
    /** Numbers of the topics that this node wants. @type {Map<string, number>} */
    this.numbers = new Map();
    /** @type {Map<number, string>} */
    this.names = new Map();
    this.lastNumber = 0;
    /** Other nodes can lack something. */
    this.hasPublished = false;
    /** Connections that want a topic, and its number there. @type {Map<string, Map<Incoming, number>>} */
    this.wanted = new Map();
    this.discoverTimer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  }

  /** @param {AdapterNode} node */
  async start(node) {
    if (this.node !== null) throw new Error('The adapter has been started: each server needs its own');
    if (process.platform === 'win32') throw new Error('clusterAdapter() needs sockets in the file system, which Windows lacks');
    this.node = node;
    try {
      const links = await this.discover();
      await within(Promise.all(links.map((link) => link.mutual)));
    } catch (error) {
      await this.close();
      throw error;
    }
    this.discoverTimer = setInterval(() => void this.discover().catch(() => {}), DISCOVER_INTERVAL).unref();
  }

  /** @type {Adapter['publish']} */
  publish(topic, bytes) {
    this.hasPublished = true;
    const members = this.wanted.get(topic);
    if (members === undefined) return;
    for (const [link, number] of members) link.send(number, bytes);
  }

  /** @param {string[]} topics */
  async subscribe(topics) {
    const added = topics.filter((topic) => !this.numbers.has(topic));
    for (const topic of added) {
      const number = ++this.lastNumber;
      this.numbers.set(topic, number);
      this.names.set(number, topic);
    }
    if (added.length === 0) return;
    await Promise.all([...this.others.values()].map((link) => link.subscribe(added)));
  }

  /** @param {string[]} topics */
  unsubscribe(topics) {
    const numbers = topics.map((topic) => this.numbers.get(topic)).filter((number) => number !== undefined);
    for (const topic of topics) this.numbers.delete(topic);
    for (const number of numbers) this.names.delete(number);
    for (const link of this.others.values()) link.unsubscribe(numbers);
  }

  async close() {
    clearInterval(this.discoverTimer);
    const { node, server } = this;
    this.node = null;
    this.server = null;
    for (const { socket } of this.incoming) leave(socket);
    for (const link of this.others.values()) link.close();
    this.others.clear();
    this.numbers.clear();
    this.names.clear();
    this.wanted.clear();
    if (node === null || server === null) return;
    server.close();
    await fs.rm(this.pathOf(node.id), { force: true }).catch(() => {});
  }

  /** @param {string} id */
  pathOf(id) {
    return path.join(this.folder, id);
  }

  async listen() {
    const { id } = /** @type {AdapterNode} */ (this.node);
    const server = net.createServer((socket) => this.incoming.add(new Incoming(this, socket)));
    // Its end removes the file at its path.
    this.server?.close();
    this.server = server;
    // In a worker of node:cluster, by itself.
    server.listen({ path: this.pathOf(id), exclusive: true });
    await once(server, 'listening');
    server.unref();
    server.on('error', () => {});
  }

  /** Connects to nodes that are not known. @returns {Promise<Outgoing[]>} */
  async discover() {
    await prepareFolder(this.folder);
    let ids = await fs.readdir(this.folder);
    // At first, and when some program has cleared the folder for temporary files.
    if (this.node !== null && !ids.includes(this.node.id)) {
      await this.listen();
      ids = await fs.readdir(this.folder);
    }
    const { node } = this;
    if (node === null) return [];
    return ids.filter((id) => ID.test(id) && id !== node.id).map((id) => this.connectTo(id));
  }

  /** @param {string} id */
  connectTo(id) {
    const known = this.others.get(id);
    if (known !== undefined) return known;
    const link = new Outgoing(this, id);
    this.others.set(id, link);
    if (this.ready.has(id)) link.onMutual();
    return link;
  }

  /** A connection to another node has ended. @param {Outgoing} link */
  onDisconnected(link) {
    if (this.others.get(link.id) !== link) return;
    this.others.delete(link.id);
    if (link.isRefused) void removeStale(this.pathOf(link.id));
    // The node can be alive without the connection.
    if ((link.isKnown || link.isFull) && !link.isBye) this.connectTo(link.id).isAgain = true;
    else if (link.isAgain && !link.isKnown) this.node?.lost();
  }
}

/** A connection to another node, which delivers its messages here. */
class Outgoing {
  /** @param {ClusterAdapter} adapter @param {string} id */
  constructor(adapter, id) {
    this.adapter = adapter;
    this.id = id;
    this.isBye = false;
    /** No process listens. Other errors can be errors of this process, such as too many open files. */
    this.isRefused = false;
    /** The other node has answered. */
    this.isKnown = false;
    /** Messages since an earlier connection can be missing. */
    this.isAgain = false;
    /** By request. `isLate`: its topics are not waited for any more. @type {Map<number, { topics: string[], isLate: boolean, resolve(): void }>} */
    this.pending = new Map();
    this.lastRequest = 0;
    /** The other node stands still. */
    this.isLate = false;
    /** It needs all names again, on another connection, once it reads. */
    this.isFull = false;
    /** The other node has connected here and has named its topics. @type {() => void} */
    this.onMutual = () => {};
    this.mutual = new Promise((resolve) => (this.onMutual = () => resolve(undefined)));
    const socket = net.connect(adapter.pathOf(id));
    this.socket = socket;
    socket.unref();
    const frames = new Frames((kind, body) => this.receive(kind, body));
    socket.on('connect', () => {
      const { node } = adapter;
      if (node === null) return void socket.destroy();
      socket.write(frame(HELLO, Buffer.from(node.id)));
      void this.subscribe([...adapter.numbers.keys()]);
      socket.write(frame(READY));
    });
    socket.on('data', (chunk) => frames.push(/** @type {Buffer} */ (chunk)));
    socket.on('error', (/** @type {NodeJS.ErrnoException} */ { code }) => (this.isRefused = code === 'ECONNREFUSED'));
    socket.on('close', () => this.ended());
  }

  /** @param {string[]} topics @returns {Promise<void>} When the other node knows, or stands still */
  subscribe(topics) {
    if (!this.hasRoom()) return Promise.resolve();
    const request = ++this.lastRequest;
    // Otherwise with all others, once it is open.
    if (!this.socket.connecting) this.socket.write(frame(SUBSCRIBE, this.bodyOf(request, topics)));
    const { isLate } = this;
    /** @type {Promise<void>} */
    const known = new Promise((resolve) => this.pending.set(request, { topics, isLate, resolve }));
    return isLate ? Promise.resolve() : this.wait(request, known);
  }

  /** @type {(request: number, known: Promise<void>) => Promise<void>} */
  async wait(request, known) {
    await within(known);
    const one = this.pending.get(request);
    if (one !== undefined) one.isLate = this.isLate = true;
  }

  /** @type {(request: number, topics: string[]) => Buffer} */
  bodyOf(request, topics) {
    const { numbers } = this.adapter;
    const named = topics.map((topic) => ({ number: /** @type {number} */ (numbers.get(topic)), name: Buffer.from(topic, 'utf16le') }));
    const body = Buffer.alloc(4 + named.reduce((sum, { name }) => sum + 8 + name.length, 0));
    body.writeUInt32LE(request, 0);
    let at = 4;
    for (const { name, number } of named) {
      body.writeUInt32LE(number, at);
      body.writeUInt32LE(name.length, at + 4);
      name.copy(body, at + 8);
      at += 8 + name.length;
    }
    return body;
  }

  /** @param {number[]} numbers */
  unsubscribe(numbers) {
    if (numbers.length !== 0 && !this.socket.connecting && this.hasRoom()) this.socket.write(frame(UNSUBSCRIBE, numbersOf(numbers)));
  }

  hasRoom() {
    const { socket } = this;
    if (!this.isFull && socket.writableLength > MAX_NAMES) {
      this.isFull = true;
      socket.write('', () => socket.destroy());
    }
    return !this.isFull;
  }

  /** @type {(kind: number, body: Buffer) => void} */
  receive(kind, body) {
    const { names, node } = this.adapter;
    if (node === null) return;
    if (kind === MESSAGE) {
      const topic = names.get(body.readUInt32LE(0));
      if (topic !== undefined) node.deliver(topic, body.subarray(4));
    } else if (kind === ACK) {
      const [request] = numbersIn(body);
      this.isKnown = true;
      this.answered(request, node);
    } else if (kind === LOST) {
      const numbers = numbersIn(body);
      if (numbers.length === 0) node.lost();
      for (const number of numbers) if (names.has(number)) node.lost(names.get(number));
    } else if (kind === BYE) this.isBye = true;
  }

  /** @type {(request: number, node: AdapterNode) => void} */
  answered(request, node) {
    for (const [number, { isLate, resolve, topics }] of this.pending) {
      // Those before it went with it, or were answered.
      if (number > request) break;
      this.pending.delete(number);
      resolve();
      // The other node can have published in them before it knew.
      if (isLate && topics.length > MAX_LOST) node.lost();
      else if (isLate) for (const topic of topics) node.lost(topic);
    }
    if (this.pending.size === 0) this.isLate = false;
  }

  close() {
    this.isBye = true;
    leave(this.socket);
  }

  ended() {
    for (const { resolve } of this.pending.values()) resolve();
    this.pending.clear();
    this.onMutual();
    this.adapter.onDisconnected(this);
  }
}

/** From another node, which gets messages. */
class Incoming {
  /** @param {ClusterAdapter} adapter @param {Socket} socket */
  constructor(adapter, socket) {
    this.adapter = adapter;
    this.socket = socket;
    this.id = '';
    /** By their numbers there. @type {Map<number, string>} */
    this.topics = new Map();
    /** Topics that lost messages; null: none. @type {Set<number> | null} */
    this.lost = null;
    this.isCorked = false;
    socket.unref();
    const frames = new Frames((kind, body) => this.receive(kind, body));
    socket.on('data', (chunk) => frames.push(/** @type {Buffer} */ (chunk)));
    socket.on('error', () => {});
    socket.on('close', () => this.ended());
  }

  /** @type {(number: number, bytes: Buffer) => void} */
  send(number, bytes) {
    if (this.lost !== null || this.socket.writableLength > this.adapter.limit) {
      // 'drain' comes only above a limit of the socket's own.
      if (this.lost === null) this.socket.write('', () => this.reportLoss());
      this.lost ??= new Set();
      if (this.lost.size <= MAX_LOST) this.lost.add(number);
      return;
    }
    if (!this.isCorked) {
      this.isCorked = true;
      this.socket.cork();
      process.nextTick(() => {
        this.isCorked = false;
        this.socket.uncork();
      });
    }
    const head = Buffer.allocUnsafe(9);
    head.writeUInt32LE(5 + bytes.length, 0);
    head[4] = MESSAGE;
    head.writeUInt32LE(number, 5);
    this.socket.write(head);
    this.socket.write(bytes);
  }

  /** After the backlog drains, reports the topics that lost messages. */
  reportLoss() {
    if (this.lost === null) return;
    const numbers = this.lost.size > MAX_LOST ? [] : [...this.lost];
    this.lost = null;
    this.socket.write(frame(LOST, numbersOf(numbers)));
  }

  /** @type {(kind: number, body: Buffer) => void} */
  receive(kind, body) {
    const { adapter } = this;
    if (adapter.node === null) return;
    if (kind === HELLO) {
      this.id = body.toString();
      if (ID.test(this.id) && this.id !== adapter.node.id) adapter.connectTo(this.id);
    } else if (kind === READY) {
      adapter.ready.add(this.id);
      adapter.others.get(this.id)?.onMutual();
      // This node has not waited for them, or they come again after a connection that was lost.
      if (adapter.hasPublished && this.topics.size !== 0) this.socket.write(frame(LOST));
    } else if (kind === SUBSCRIBE) this.subscribe(body);
    else if (kind === UNSUBSCRIBE) for (const number of numbersIn(body)) this.unsubscribe(number);
  }

  /** @param {Buffer} body */
  subscribe(body) {
    const { wanted } = this.adapter;
    for (let at = 4; at < body.length; ) {
      const number = body.readUInt32LE(at);
      const length = body.readUInt32LE(at + 4);
      const topic = body.toString('utf16le', at + 8, at + 8 + length);
      at += 8 + length;
      this.topics.set(number, topic);
      const members = wanted.get(topic) ?? new Map();
      wanted.set(topic, members.set(this, number));
    }
    this.socket.write(frame(ACK, body.subarray(0, 4)));
  }

  /** @param {number} number */
  unsubscribe(number) {
    const topic = this.topics.get(number);
    if (topic === undefined) return;
    this.topics.delete(number);
    const { wanted } = this.adapter;
    const members = wanted.get(topic);
    if (members === undefined || members.get(this) !== number) return;
    members.delete(this);
    if (members.size === 0) wanted.delete(topic);
  }

  ended() {
    for (const number of [...this.topics.keys()]) this.unsubscribe(number);
    const { incoming, ready } = this.adapter;
    incoming.delete(this);
    // Another connection of the node can exist already.
    if (![...incoming].some(({ id }) => id === this.id)) ready.delete(this.id);
  }
}

/** Another node that does not read must not keep it open. @param {Socket} socket */
function leave(socket) {
  socket.end(frame(BYE));
  setTimeout(() => socket.destroy(), TIMEOUT).unref();
}

/** Makes a folder into which only this user can write. @param {string} folder */
async function prepareFolder(folder) {
  await fs.mkdir(folder, { mode: OWNER_ONLY }).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await fs.lstat(folder);
  if (!found.isDirectory() || found.uid !== userId() || (found.mode & OTHERS) !== 0) throw new Error(`${folder} must be a folder of this user that no other can enter`);
}

function userId() {
  return process.getuid?.() ?? 0;
}

/** Removes the file of a socket without a listener. @param {string} socket */
async function removeStale(socket) {
  try {
    const { birthtimeMs, mtimeMs } = await fs.stat(socket);
    if (Date.now() - Math.max(birthtimeMs, mtimeMs) > GRACE) await fs.rm(socket, { force: true });
  } catch {
    // It is gone already.
  }
}

/** Resolves with the promise, or after `TIMEOUT` without it. @param {Promise<unknown>} promise @returns {Promise<void>} */
async function within(promise) {
  let timer;
  let left = TIMEOUT / TICK;
  // Not one timeout: it would be over when this process has stood still itself.
  const end = new Promise((resolve) => (timer = setInterval(() => --left > 0 || resolve(undefined), TICK)));
  await Promise.race([promise, end]);
  clearInterval(timer);
}

/** @type {(options?: { name?: string, limit?: number } | null) => Adapter} */
function clusterAdapter(options) {
  checkOptions(options, ['name', 'limit']);
  const { limit = DEFAULT_LIMIT, name = 'reactor-ws' } = options ?? {};
  checkValue({ type: 'string' }, name, 'options.name');
  checkValue(LIMIT, limit, 'options.limit');
  return new ClusterAdapter(name, limit);
}

module.exports = { clusterAdapter };
