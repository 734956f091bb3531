'use strict';

// NATS between the nodes: a subject for each topic, without a history.

const { createHash } = require('node:crypto');

const { checkOptions, checkValue, wrongType } = require('../base/checks');
const { encodeName } = require('./names');

/** @import { Adapter, AdapterNode } from '../../types/adapter' */

/** Before all subjects. */
const PREFIX = 'reactor-ws';

/** Names that are subjects as they are. */
const PLAIN = /^[\w-]{1,100}$/;

/** Subjects of which an error is kept. */
const MAX_DENIED = 4096;

/** Methods of a connection. */
const METHODS = ['publish', 'subscribe', 'flush', 'status'];

class NatsAdapter {
  /** @param {any} connection @param {string} prefix */
  constructor(connection, prefix) {
    this.connection = connection;
    this.prefix = prefix;
    /** @type {AdapterNode | null} */
    this.node = null;
    this.isClosed = false;
    /** By topic. @type {Map<string, { unsubscribe(): void }>} */
    this.subscriptions = new Map();
    /** When all messages of this tick have arrived. @type {Promise<void> | null} */
    this.flushing = null;
    /** Why the server has refused the last messages. @type {Map<string, Error>} */
    this.denied = new Map();
  }

  /** @param {AdapterNode} node */
  async start(node) {
    if (this.node !== null) throw new Error('The adapter has been started: each server needs its own');
    this.node = node;
    void this.watch();
  }

  /** @type {Adapter['publish']} */
  async publish(topic, bytes) {
    const subject = this.subjectOf(topic);
    this.denied.delete(subject);
    this.connection.publish(subject, bytes);
    await (this.flushing ??= this.flush());
    const error = this.denied.get(subject);
    if (error !== undefined) throw error;
  }

  /** One round trip for all of a tick. */
  async flush() {
    await new Promise((resolve) => process.nextTick(resolve));
    this.flushing = null;
    await this.connection.flush();
    // The errors that came before are seen in microtasks.
    await new Promise((resolve) => process.nextTick(resolve));
  }

  /** @param {string[]} topics */
  async subscribe(topics) {
    const denied = /** @type {string[]} */ ([]);
    for (const topic of topics) {
      if (this.subscriptions.has(topic)) continue;
      const callback = (/** @type {Error | null} */ error, /** @type {{ data: Uint8Array }} */ message) => {
        if (error === null || error === undefined) return void this.node?.deliver(topic, message.data);
        // The subscription is over; the server can also take a permission back later.
        this.subscriptions.delete(topic);
        denied.push(topic);
        this.node?.lost(topic);
      };
      this.subscriptions.set(topic, this.connection.subscribe(this.subjectOf(topic), { callback }));
    }
    await this.connection.flush();
    if (denied.length !== 0) throw Object.assign(new Error(`NATS denies ${denied.length} topics`), { topics: denied });
  }

  /** @param {string[]} topics */
  unsubscribe(topics) {
    for (const topic of topics) {
      this.subscriptions.get(topic)?.unsubscribe();
      this.subscriptions.delete(topic);
    }
  }

  close() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.unsubscribe([...this.subscriptions.keys()]);
    this.node = null;
  }

  /** The connection comes back by itself, with its subscriptions. */
  async watch() {
    for await (const { error, type } of this.connection.status()) {
      if (this.isClosed) return;
      if (type === 'disconnect') this.node?.report('away', error);
      else if (type === 'reconnect') void this.reconnected();
      else if (type === 'error' && error?.operation === 'publish' && this.denied.size < MAX_DENIED) this.denied.set(error.subject, error);
    }
    this.node?.report('away');
  }

  async reconnected() {
    try {
      // Its subscriptions are there when this returns.
      await this.connection.flush();
    } catch {
      // It is gone again, and will come back.
      return;
    }
    this.node?.report('connected');
    this.node?.lost();
  }

  /** Subjects are short, and have dots and wildcards. @param {string} topic */
  subjectOf(topic) {
    if (PLAIN.test(topic)) return `${this.prefix}.t.${topic}`;
    return `${this.prefix}.h.${createHash('sha256').update(encodeName(topic)).digest('base64url')}`;
  }
}

/** @type {(options: { connection: any, prefix?: string }) => Adapter} */
function natsAdapter(options) {
  checkOptions(options, ['connection', 'prefix']);
  const { connection, prefix = PREFIX } = options ?? {};
  if (typeof connection !== 'object' || connection === null) throw wrongType('options.connection', 'a connection of @nats-io/transport-node', connection);
  for (const name of METHODS) {
    if (typeof connection[name] !== 'function') throw wrongType(`options.connection.${name}`, 'a function, as of a connection of @nats-io/transport-node', connection[name]);
  }
  checkValue({ type: 'string' }, prefix, 'options.prefix');
  if (!/^[\w-]+(?:\.[\w-]+)*$/.test(prefix)) throw wrongType('options.prefix', 'of letters, digits, _, - and dots between them', prefix);
  return new NatsAdapter(connection, prefix);
}

module.exports = { natsAdapter };
