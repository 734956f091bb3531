'use strict';

// One interface to the clients of all supported packages.

const { wrongType } = require('../../base/checks');

/** `@redis/client` and `redis`: replies of this type are Buffers. */
const BLOB_STRING = 36;

/**
 * `ready`: again, after the connection was lost; subscriptions are as before. `away`: it is lost.
 *
 * @typedef {{ message(channel: string, bytes: Buffer): void, ready(): void, away(error?: Error): void }} Events
 */

/**
 * `command`: strings of the reply are Buffers; `key` decides where it goes. `subscriber`: of its own connection, which
 * `close` ends.
 *
 * @typedef {{ isCluster: boolean, command(key: string, words: Array<string | Buffer>): Promise<any>, subscriber(isSharded: boolean, events: Events): Subscriber }} Client
 */

/** @typedef {{ connect(): Promise<void>, change(name: 'subscribe' | 'unsubscribe', channels: string[]): Promise<void>, close(): void }} Subscriber */

/** @type {(client: any) => Client} @throws {TypeError} For anything that is no client */
function clientOf(client) {
  if (typeof client !== 'object' || client === null) throw wrongType('options.client', 'a client of redis or ioredis', client);
  const isIoredis = typeof client.callBuffer === 'function' || (typeof client.call === 'function' && typeof client.psubscribe === 'function');
  const needed = isIoredis ? ['call', 'duplicate', 'on'] : ['sendCommand', 'duplicate', 'on'];
  for (const name of needed) {
    if (typeof client[name] !== 'function') throw wrongType(`options.client.${name}`, 'a function, as of a client of redis or ioredis', client[name]);
  }
  if (!isIoredis) return new NodeRedis(client);
  // It would be before some names, and not before others.
  if (client.options?.keyPrefix) throw wrongType('options.client.options.keyPrefix', "'': options.prefix is for that", client.options.keyPrefix);
  return new Ioredis(client);
}

/** The packages `ioredis` and `iovalkey`. */
class Ioredis {
  /** @param {any} client */
  constructor(client) {
    this.client = client;
    this.isCluster = client.isCluster === true;
  }

  /** @type {Client['command']} */
  command(_key, [name, ...words]) {
    return this.client.callBuffer(name, ...words);
  }

  /** @type {Client['subscriber']} */
  subscriber(isSharded, events) {
    // Subscriptions are made again here, so that it is known when they are there.
    const own = { autoResubscribe: false, enableOfflineQueue: true, lazyConnect: false, maxRetriesPerRequest: null };
    const client = this.isCluster ? this.client.duplicate([], { shardedSubscribers: isSharded, redisOptions: { ...this.client.options.redisOptions } }) : this.client.duplicate(own);
    return new IoredisSubscriber(client, isSharded, this.isCluster, events);
  }
}

/** Most channels of one command. */
const BATCH = 512;

class IoredisSubscriber {
  /** @param {any} client @param {boolean} isSharded @param {boolean} isCluster @param {Events} events */
  constructor(client, isSharded, isCluster, events) {
    this.client = client;
    this.isSharded = isSharded;
    this.isCluster = isCluster;
    this.events = events;
    /** @type {Set<string>} */
    this.channels = new Set();
    this.wasReady = client.status === 'ready';
    this.isClosed = false;
    client.on(isSharded ? 'smessageBuffer' : 'messageBuffer', (/** @type {Buffer} */ channel, /** @type {Buffer} */ bytes) => events.message(channel.toString(), bytes));
    client.on('error', (/** @type {Error} */ error) => {
      if (!this.isClosed && client.status !== 'ready') events.away(error);
    });
    client.on('close', () => {
      if (!this.isClosed) events.away();
    });
    client.on('ready', () => void this.ready());
    // In a cluster, a single node can come back.
    if (!isCluster) return;
    client.on('-node', () => events.away());
    client.on('+node', () => void this.ready());
  }

  /** It connects by itself; commands wait. */
  async connect() {}

  async ready() {
    if (!this.wasReady) {
      this.wasReady = true;
      return;
    }
    try {
      if (!this.isCluster) await this.send('subscribe', [...this.channels]);
      if (!this.isClosed) this.events.ready();
    } catch (error) {
      if (!this.isClosed) this.events.away(/** @type {Error} */ (error));
    }
  }

  /** @type {(name: string, channels: string[]) => Promise<void>} */
  async send(name, channels) {
    const command = this.isSharded ? `s${name}` : name;
    // Channels of one command have the same slot.
    const size = this.isSharded ? 1 : BATCH;
    const all = [];
    for (let start = 0; start < channels.length; start += size) all.push(this.client[command](...channels.slice(start, start + size)));
    await Promise.all(all);
  }

  /** @type {Subscriber['change']} */
  async change(name, channels) {
    for (const channel of channels) this.channels[name === 'subscribe' ? 'add' : 'delete'](channel);
    await this.send(name, channels);
  }

  close() {
    this.isClosed = true;
    this.client.disconnect();
  }
}

/** The package `redis`. */
class NodeRedis {
  /** @param {any} client */
  constructor(client) {
    this.client = client;
    this.isCluster = typeof client.getSlotRandomNode === 'function';
    this.isSentinel = typeof client.getMasterNode === 'function';
  }

  /** @type {Client['command']} */
  command(key, words) {
    const options = { typeMapping: { [BLOB_STRING]: Buffer } };
    if (this.isCluster) return this.client.sendCommand(key, false, words, options);
    return this.isSentinel ? this.client.sendCommand(false, words, options) : this.client.sendCommand(words, options);
  }

  /** @type {Client['subscriber']} */
  subscriber(isSharded, events) {
    return new NodeRedisSubscriber(this.client.duplicate(), isSharded, this.isCluster, events);
  }
}

class NodeRedisSubscriber {
  /** @param {any} client @param {boolean} isSharded @param {boolean} isCluster @param {Events} events */
  constructor(client, isSharded, isCluster, events) {
    this.client = client;
    this.isSharded = isSharded;
    this.wasReady = false;
    this.isClosed = false;
    this.listener = (/** @type {Buffer} */ bytes, /** @type {Buffer} */ channel) => events.message(channel.toString(), bytes);
    const away = (/** @type {Error | undefined} */ error) => {
      if (!this.isClosed && this.wasReady) events.away(error instanceof Error ? error : undefined);
    };
    // It subscribes again before it is ready.
    const ready = () => {
      if (!this.isClosed && this.wasReady) events.ready();
    };
    client.on('error', away);
    if (isCluster) {
      for (const event of ['node-error', 'node-reconnecting', 'node-disconnect']) client.on(event, away);
      client.on('node-ready', ready);
    } else if (typeof client.getMasterNode === 'function') {
      client.on('client-error', away);
      client.on('topology-change', (/** @type {{ type?: string } | undefined} */ event) => {
        if (event?.type !== 'MASTER_CHANGE') return;
        away(undefined);
        ready();
      });
    } else {
      client.on('reconnecting', () => away(undefined));
      client.on('ready', ready);
    }
  }

  async connect() {
    await this.client.connect();
    this.wasReady = true;
  }

  /** @type {Subscriber['change']} */
  async change(name, channels) {
    const { client, isSharded, listener } = this;
    const command = !isSharded ? name : name === 'subscribe' ? 'sSubscribe' : 'sUnsubscribe';
    // Channels of one command have the same slot.
    const parts = isSharded ? channels : [channels];
    await Promise.all(parts.map((part) => client[command](part, listener, true)));
  }

  close() {
    this.isClosed = true;
    this.client.destroy();
  }
}

module.exports = { clientOf };
