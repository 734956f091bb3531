'use strict';

// Redis between the nodes: a channel for each topic, and for its history a stream.

const { Backoff } = require('../base/backoff');
const { checkOptions, checkValue, wrongType } = require('../base/checks');
const { newEpoch } = require('../base/epoch');
const { encodeName } = require('./names');
const { Scripts, withTimeout } = require('./redis/calls');
const { clientOf } = require('./redis/clients');
const { Publishing } = require('./redis/publishing');
const { HISTORY, PLAIN, WITH_POSITION, checkOf } = require('./redis/scripts');

/** @import { Adapter, AdapterNode } from '../../types/adapter' */
/** @import { Position } from '../../types/topics' */
/** @import { Client, Events, Subscriber } from './redis/clients' */
/** @import { Script } from './redis/scripts' */

/** A message that was seen: how it begins, on which connection, and in which life of Redis. @typedef {Position & { check: string, era: number, life: string }} Seen */

/** @type {Seen} */
const NONE = { epoch: '', offset: 0, check: '', era: 0, life: '' };

/** Before the names of channels and keys. */
const PREFIX = 'reactor-ws:';

/** Milliseconds between messages of a node to itself, which show that its subscriptions work. */
const PROBE = 5000;

/** Milliseconds for which a new connection is waited for, until it is tried again. */
const RETRY = 1000;

/** Milliseconds after a connection in which other nodes come back, too (clients try every 2 s), and between checks for one, the first time and at most. */
const SETTLE = 3000;
const RETRY_DELAY = 50;
const MAX_RETRY_DELAY = 400;

/** Milliseconds for which topics of other shards wait for one that does not answer. */
const SHARD_TIMEOUT = 1000;

/** Topics that this node does not follow, and of which it remembers its last message. */
const MAX_SEEN = 4096;

class RedisAdapter {
  /** @param {Client} client @param {string} prefix @param {boolean} isSharded */
  constructor(client, prefix, isSharded) {
    this.client = client;
    this.prefix = prefix;
    this.isSharded = isSharded;
    this.scripts = new Scripts(client);
    /** @type {AdapterNode | null} */
    this.node = null;
    this.id = '';
    this.isClosed = false;
    /** @type {Subscriber | null} */
    this.subscriber = null;
    /** A client tries until it is closed. @type {Subscriber | null} */
    this.connecting = null;
    /** Topics by their channels. @type {Map<string, string>} */
    this.topics = new Map();
    /** The last message that this node has seen, by topic: of those that it follows, and of others, which can have later ones. @type {Map<string, Seen>} */
    this.tops = new Map();
    /** @type {Map<string, Seen>} */
    this.others = new Map();
    /** Connections until now. Redis can lose messages between two connections. */
    this.era = 0;
    /** When messages came again. */
    this.connectedAt = Infinity;
    /** The last change of subscriptions: one after the other, except on shards. @type {Promise<unknown>} */
    this.changing = Promise.resolve();
    /** By channel: subscriptions for which a shard has not answered. @type {Map<string, Promise<void>>} */
    this.late = new Map();
    this.publishing = new Publishing(this);
    this.probing = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    /** Probes that Redis has published and that have not come. */
    this.missedProbes = 0;
    this.isProbing = false;
  }

  /** @param {AdapterNode} node */
  async start(node) {
    if (this.node !== null) throw new Error('The adapter has been started: each server needs its own');
    this.node = node;
    this.id = node.id;
    try {
      this.subscriber = await this.connect();
    } catch (error) {
      this.node = null;
      throw error;
    }
    if (this.isClosed) return this.subscriber.close();
    this.connectedAt = performance.now();
    this.probing = setInterval(() => void this.probe(), PROBE).unref();
  }

  /** A connection with all subscriptions. */
  async connect() {
    let isAway = false;
    const isCurrent = () => this.subscriber === null || this.subscriber === subscriber;
    /** @type {Events} */
    const events = {
      message: (channel, bytes) => this.receive(channel, bytes),
      ready: () => {
        // In a cluster, connections to further nodes get ready at any time.
        if (!isAway || !isCurrent()) return;
        isAway = false;
        this.reconnected();
      },
      away: (error) => {
        isAway = true;
        this.era++;
        this.connectedAt = Infinity;
        if (isCurrent()) this.node?.report('away', error);
      },
    };
    /** @type {Subscriber} */
    const subscriber = this.client.subscriber(this.isSharded, events);
    this.connecting = subscriber;
    try {
      await subscriber.connect();
      await subscriber.change('subscribe', [...(this.isSharded ? [] : [this.probeChannel]), ...this.topics.keys()]);
    } catch (error) {
      subscriber.close();
      throw error;
    } finally {
      this.connecting = null;
    }
    return subscriber;
  }

  /** @type {Adapter['publish']} */
  publish(topic, bytes, { history }) {
    if (history !== undefined) return this.publishing.add(topic, bytes, history);
    const channel = this.channelOf(topic);
    const message = Buffer.concat([Buffer.from(PLAIN), bytes]);
    if (!this.isSharded && !this.client.isCluster) return this.publishing.addPlain(channel, message);
    return this.client.command(channel, [this.publishCommand, channel, message]).then(() => undefined);
  }

  /** @param {string[]} topics */
  subscribe(topics) {
    const channels = topics.map((topic) => this.channelOf(topic));
    return this.change(async (subscriber) => {
      for (const [index, channel] of channels.entries()) this.topics.set(channel, topics[index]);
      if (!this.isSharded) return subscriber.change('subscribe', channels);
      // A shard can be away while others are there.
      const refused = /** @type {string[]} */ ([]);
      let cause;
      await Promise.all(channels.map((channel, index) => this.subscribeOne(subscriber, channel).catch((error) => {
        cause = error;
        refused.push(topics[index]);
      })));
      if (refused.length !== 0) throw Object.assign(new Error(`Redis has not taken ${refused.length} subscriptions`, { cause }), { topics: refused });
    });
  }

  /** Repeats no call that is still pending: a client can wait for a shard for ever. @param {Subscriber} subscriber @param {string} channel */
  subscribeOne(subscriber, channel) {
    const { late } = this;
    const pending = late.get(channel) ?? subscriber.change('subscribe', [channel]).finally(() => late.get(channel) === pending && late.delete(channel));
    late.set(channel, pending);
    return withTimeout(pending, SHARD_TIMEOUT);
  }

  /** @param {string[]} topics */
  unsubscribe(topics) {
    const channels = topics.map((topic) => this.channelOf(topic));
    return this.change(async (subscriber) => {
      for (const [index, channel] of channels.entries()) {
        const seen = this.tops.get(topics[index]);
        this.topics.delete(channel);
        this.late.delete(channel);
        this.tops.delete(topics[index]);
        if (seen !== undefined) this.remember(topics[index], seen);
      }
      await subscriber.change('unsubscribe', channels);
    });
  }

  /** @param {(subscriber: Subscriber) => Promise<void>} apply @returns {Promise<void>} */
  change(apply) {
    const changed = this.changing.then(async () => {
      if (this.subscriber === null) throw new Error('The adapter is closed');
      await apply(this.subscriber);
    });
    if (!this.isSharded) this.changing = changed.catch(() => {});
    return changed;
  }

  /** @type {Required<Adapter>['history']} */
  async history(topic, since, limit, { positionTtl, size }) {
    const { era } = this;
    const [wanted, { epoch, offset }] = typeof since === 'string' ? [since, NONE] : ['since', since];
    const seen = this.seen(topic);
    // The last position of the node, also without the beginning of its message.
    const claim = typeof since === 'object' && (seen === NONE || (seen.epoch === epoch && seen.offset < offset)) ? { ...NONE, ...since } : seen;
    const words = [wanted, epoch, String(offset), String(limit), String(size), String(positionTtl)];
    const [now, top, isWhole, found, check, earlier, life] = await this.call(HISTORY, topic, claim, words);
    const position = { epoch: String(now), offset: Number(top) };
    const messages = found.map((/** @type {[Buffer, [Buffer, Buffer]]} */ [id, [, bytes]]) => ({
      bytes,
      position: { epoch: position.epoch, offset: Number.parseInt(String(id), 10) },
    }));
    this.noteSeen(topic, { ...position, check: checkOf(check), era, life: String(life) });
    return { recovered: Number(isWhole) === 1, position, messages, earlier: earlierOf(String(earlier)) };
  }

  /** A call of a script about a history. In a new life of Redis it waits for a node that follows the topic, unless this one does. @type {(script: Script, topic: string, seen: Seen, words: Array<string | Buffer>) => Promise<any>} */
  async call(script, topic, { check, epoch, life, offset }, words) {
    const again = new Backoff(RETRY_DELAY, MAX_RETRY_DELAY);
    for (const end = performance.now() + SETTLE; ; ) {
      const isToWait = !this.isClosed && performance.now() < Math.min(end, this.connectedAt + SETTLE);
      const right = this.tops.has(topic) ? '0' : isToWait ? '1' : '2';
      const own = [newEpoch(), epoch, String(offset), Buffer.from(check, 'latin1'), right, life];
      const answer = await this.scripts.run(script, this.keysOf(topic), [...own, ...words]);
      if (answer.length !== 0) return answer;
      await new Promise((resolve) => setTimeout(resolve, again.next()));
    }
  }

  async close() {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.probing);
    const { subscriber } = this;
    this.subscriber = null;
    this.node = null;
    subscriber?.close();
    this.connecting?.close();
    await this.publishing.close();
  }

  get publishCommand() {
    return this.isSharded ? 'SPUBLISH' : 'PUBLISH';
  }

  get probeChannel() {
    return `${this.prefix}${this.id}`;
  }

  /** All that is about a topic has the same slot of a cluster. @param {string} topic */
  channelOf(topic) {
    // The slot is a hash of the text before the first closing brace, which must not be empty.
    return `${this.prefix}{/${encodeName(topic)}}`;
  }

  /** The keys of scripts. @param {string} topic */
  keysOf(topic) {
    const channel = this.channelOf(topic);
    return [`${channel}:messages`, `${channel}:position`, `${channel}:${this.id}`];
  }

  /** @param {string} topic */
  seen(topic) {
    return this.tops.get(topic) ?? this.others.get(topic) ?? NONE;
  }

  /** Redis has compared the last message that was seen, on the connection of `seen`. @type {(topic: string, seen: Seen) => void} */
  noteSeen(topic, seen) {
    const known = this.seen(topic);
    const isOlder = known.epoch === seen.epoch && known.offset >= seen.offset;
    this.remember(topic, isOlder ? { ...known, era: Math.max(known.era, seen.era), life: seen.life } : seen);
  }

  /** @type {(topic: string, seen: Seen) => void} */
  remember(topic, seen) {
    const { others } = this;
    others.delete(topic);
    if (this.topics.has(this.channelOf(topic))) return void this.tops.set(topic, seen);
    others.set(topic, seen);
    if (others.size > MAX_SEEN) others.delete(others.keys().next().value ?? '');
  }

  /** @type {(channel: string, bytes: Buffer) => void} */
  receive(channel, bytes) {
    const { node } = this;
    if (node === null) return;
    const topic = this.topics.get(channel);
    if (topic === undefined) {
      if (channel === this.probeChannel) this.missedProbes = 0;
      return;
    }
    if (bytes[0] !== WITH_POSITION.charCodeAt(0)) return node.deliver(topic, bytes.subarray(1));
    const epochEnd = bytes.indexOf(':');
    const offsetEnd = bytes.indexOf(':', epochEnd + 1);
    const position = { epoch: bytes.toString('latin1', 1, epochEnd), offset: Number(bytes.toString('latin1', epochEnd + 1, offsetEnd)) };
    const message = bytes.subarray(offsetEnd + 1);
    // Find what a restart of Redis lost first.
    const { era, life } = this.seen(topic);
    if (era === this.era || era === NONE.era) {
      this.others.delete(topic);
      this.tops.set(topic, { ...position, check: checkOf(message), era: this.era, life });
    }
    node.deliver(topic, message, position);
  }

  /** Whether Redis answers, and whether its messages come: a connection can be open and dead. */
  async probe() {
    if (this.isProbing) return void this.node?.report('away');
    this.isProbing = true;
    try {
      const channel = this.probeChannel;
      await this.client.command(channel, this.isSharded ? ['EXISTS', channel] : ['PUBLISH', channel, '']);
      if (this.isSharded) this.node?.report('connected');
      else if (++this.missedProbes > 2) await this.replace();
      else if (this.missedProbes === 1) this.node?.report('connected');
    } catch (error) {
      this.node?.report('away', /** @type {Error} */ (error));
    } finally {
      this.isProbing = false;
    }
  }

  /** Another connection, in place of one on which nothing comes. */
  async replace() {
    const old = this.subscriber;
    this.subscriber = null;
    this.node?.report('away');
    // Changes that wait for the old connection fail now.
    old?.close();
    const replaced = this.changing.then(async () => {
      while (!this.isClosed) {
        try {
          const subscriber = await this.connect();
          if (this.isClosed) subscriber.close();
          else this.subscriber = subscriber;
          return;
        } catch (error) {
          this.node?.report('away', /** @type {Error} */ (error));
          await new Promise((resolve) => setTimeout(resolve, RETRY).unref());
        }
      }
    });
    this.changing = replaced;
    await replaced;
    this.missedProbes = 0;
    this.reconnected();
  }

  reconnected() {
    this.era++;
    this.connectedAt = performance.now();
    this.node?.report('connected');
    this.node?.lost();
  }
}

/** Epochs with their last offsets. @type {(text: string) => Position[]} */
function earlierOf(text) {
  return Array.from(text.matchAll(/ ([^ :]+):(\d+)/g), ([, epoch, offset]) => ({ epoch, offset: Number(offset) }));
}

/** @type {(options: { client: any, prefix?: string, sharded?: boolean }) => Adapter} */
function redisAdapter(options) {
  checkOptions(options, ['client', 'prefix', 'sharded']);
  const client = clientOf(options?.client);
  const { prefix = PREFIX, sharded = client.isCluster } = options;
  checkValue({ type: 'string' }, prefix, 'options.prefix');
  checkValue({ type: 'boolean' }, sharded, 'options.sharded');
  if (/[{}]/.test(prefix)) throw wrongType('options.prefix', 'without braces', prefix);
  return new RedisAdapter(client, prefix, sharded);
}

/** @typedef {RedisAdapter} Redis */

module.exports = { redisAdapter };
