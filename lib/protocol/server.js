'use strict';

// The server's side of the protocol of `reactor-ws/client`: a page of docs/ describes it.

const { createHash } = require('node:crypto');

const { checkOptions, checkValue } = require('../base/checks');
const { OPEN } = require('../base/constants');
const { MESSAGE_TOO_BIG, POLICY_VIOLATION, UNSUPPORTED_DATA } = require('../base/layout');
const { log, warn } = require('../base/log');
const { isReserved } = require('../topics/arguments');
const { publishFrom } = require('../topics/publish');
const { topicsOf } = require('../topics/registry');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { Position, TopicsProtocolOptions } from '../../types/topics' */

/** The end of a publish, as clients write it, and most bytes of that end. */
const NUMBER = /,"number":(\d{1,15})\}$/;
const NUMBER_BYTES = 32;

/** The name of the subprotocol. */
const NAME = 'topics.reactor-ws.v1';

const DEFAULTS = { maxTopics: 100, maxTopicLength: 256, maxBytes: 64 * 1024 };

const COUNT = { type: /** @type {const} */ ('number'), min: 1, max: 2 ** 31 - 1 };

/** Publishes and subscriptions of a connection that are not answered, above which it is not read. */
const MAX_UNANSWERED = 64;

/** Milliseconds between answers to the pings of a connection that is not read. */
const ALIVE = 1000;

/** Characters of the name that a client gives itself, and of the hash that others see. */
const NAME_LENGTH = 64;
const AUTHOR_LENGTH = 16;

/** Whether a warning has named an exception of the program. */
let hasFailed = false;

/** @typedef {typeof DEFAULTS & Pick<TopicsProtocolOptions, 'authorize'>} Settings */

/** By author, number and topic: publishes that are not answered. @typedef {Map<string, ReturnType<typeof publishFrom>>} Waiting */

/** A message of a client. @typedef {{ subscribe?: string, since?: Position | 'oldest', unsubscribe?: string, publish?: string, data?: string, client?: string, number?: number, ping?: boolean }} Command */

/** @type {(server: Server, options: TopicsProtocolOptions) => void} */
function topicsProtocol(server, options) {
  const settings = settingsOf(options);
  const topics = topicsOf(server);
  if (topics.hasProtocol || topics.all.size !== 0) throw new Error('topicsProtocol() must be called once, before the server has topics');
  topics.hasProtocol = true;
  const waiting = /** @type {Waiting} */ (new Map());
  server.on('connection', (/** @type {WebSocket} */ ws) => {
    if (ws.protocol === NAME) new Session(server, ws, settings, waiting);
  });
}

/** @type {(options: TopicsProtocolOptions) => Settings} */
function settingsOf(options) {
  checkOptions(options, ['authorize', ...Object.keys(DEFAULTS)]);
  checkValue({ type: 'function' }, options?.authorize, 'options.authorize');
  const settings = { ...DEFAULTS, authorize: options.authorize };
  for (const name of /** @type {Array<keyof typeof DEFAULTS>} */ (Object.keys(DEFAULTS))) {
    const value = options[name];
    if (value !== undefined) settings[name] = /** @type {number} */ (checkValue(COUNT, value, `options.${name}`));
  }
  return settings;
}

/** A connection that speaks the protocol. */
class Session {
  /** @param {Server} server @param {WebSocket} ws @param {Settings} settings @param {Waiting} waiting */
  constructor(server, ws, settings, waiting) {
    this.server = server;
    this.ws = ws;
    this.settings = settings;
    this.waiting = waiting;
    /** By topic: whether 'dropped' is on its way, and subscriptions without an answer. @type {Map<string, { isReported: boolean, pending: number }>} */
    this.topics = new Map();
    /** Topics of subscriptions with `since` that have no answer. @type {Set<string>} */
    this.replaying = new Set();
    this.unanswered = 0;
    /** Why the connection is not read. @type {Set<string>} */
    this.reasons = new Set();
    /** Messages of the batch in which reading stopped. @type {string[]} */
    this.queue = [];
    this.client = '';
    this.author = '';
    this.alive = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    // From the process before. Elsewhere the program has made them, and they are none of the peer's.
    if (ws.resumed) for (const name of ws.subscriptions) this.topics.set(name, { isReported: false, pending: 0 });
    ws.on('message', (data, isBinary) => this.receive(data, isBinary));
    ws.on('gap', (topic, from, to) => this.topics.has(topic) && this.send({ gap: topic, from, to }));
    ws.on('dropped', (topic) => this.reportDropped(topic));
    ws.on('drain', () => this.goOn('room'));
    ws.on('close', () => clearInterval(this.alive));
    // A mistake of the peer closes its connection, and concerns no other one.
    ws.on('error', () => {});
  }

  /** @type {(data: any, isBinary: boolean) => void} */
  receive(data, isBinary) {
    const { maxBytes } = this.settings;
    if (isBinary) return this.ws.close(UNSUPPORTED_DATA, 'Text is wanted');
    if (data.length > maxBytes) return this.refuseLong(data);
    if (this.reasons.size === 0) this.handle(String(data));
    else this.queue.push(String(data));
  }

  /** Unread, as it can be very long. @param {Buffer} data */
  refuseLong(data) {
    const number = NUMBER.exec(data.toString('latin1', data.length - NUMBER_BYTES))?.[1];
    if (number !== undefined && data.toString('latin1', 0, 11) === '{"publish":') this.send({ refused: Number(number), reason: 'too long' });
    else this.ws.close(MESSAGE_TOO_BIG, `At most ${this.settings.maxBytes} bytes`);
  }

  /** @param {string} text */
  handle(text) {
    if (this.ws.readyState !== OPEN) return;
    const command = commandOf(text);
    if (command === null) return this.ws.close(POLICY_VIOLATION, `No message of ${NAME}`);
    const { ping, publish, since, subscribe = '', unsubscribe } = command;
    if (ping) return this.send({ pong: true });
    if (unsubscribe !== undefined) return this.unsubscribe(unsubscribe);
    // The history is queued for it once at a time.
    if (since !== undefined && this.replaying.has(subscribe)) {
      this.queue.unshift(text);
      return this.wait('replay');
    }
    const topic = publish ?? subscribe;
    const action = publish === undefined ? 'subscribe' : 'publish';
    const refused = action === 'publish' ? command.number : topic;
    const refuse = (/** @type {string} */ reason) => this.send({ refused, reason });
    if (topic.length > this.settings.maxTopicLength) return refuse('too long');
    if (isReserved(topic)) return refuse('forbidden');
    this.authorize(action, topic, (isAllowed) => {
      if (!isAllowed) refuse('forbidden');
      else if (action === 'publish') this.publish(topic, command, refuse);
      else this.subscribe(topic, since, refuse);
    });
  }

  /** Stops reading until the program has decided, to keep the order. @type {(action: 'publish' | 'subscribe', topic: string, then: (isAllowed: boolean) => void) => void} */
  authorize(action, topic, then) {
    const answer = attempt(false, () => this.settings.authorize(/** @type {any} */ (this.ws), action, topic));
    if (typeof answer === 'boolean') return then(answer);
    this.wait('authorize');
    Promise.resolve(answer).catch(failed).then((isAllowed) => {
      if (this.ws.readyState === OPEN) then(isAllowed === true);
      this.goOn('authorize');
    });
  }

  /** @type {(topic: string, since: Position | 'oldest' | undefined, refuse: (reason: string) => void) => void} */
  subscribe(topic, since, refuse) {
    if (this.topics.size >= this.settings.maxTopics && !this.topics.has(topic)) return refuse('too many topics');
    const state = this.topics.get(topic) ?? { isReported: false, pending: 0 };
    this.topics.set(topic, state);
    state.pending++;
    const replayed = since === undefined ? null : topic;
    if (replayed !== null) this.replaying.add(replayed);
    this.begun();
    const isMember = attempt(null, () =>
      this.ws.subscribe(topic, { since }, ({ position, recovered }) => {
        if (--state.pending >= 0) this.send({ subscribed: topic, position, recovered });
        this.answered(replayed);
      }),
    );
    if (isMember) return;
    // Its callback is called in any case.
    if (isMember === null) this.answered(replayed);
    this.topics.delete(topic);
    state.pending = 0;
    refuse('failed');
  }

  /** @param {string} topic */
  unsubscribe(topic) {
    const state = this.topics.get(topic);
    if (state !== undefined) {
      for (; state.pending > 0; state.pending--) this.send({ subscribed: topic, position: null, recovered: false });
      this.topics.delete(topic);
      this.ws.unsubscribe(topic);
    }
    this.send({ unsubscribed: topic });
  }

  /** @type {(topic: string, command: Command, refuse: (reason: string) => void) => void} */
  publish(topic, { client = '', data = '', number }, refuse) {
    this.begun();
    const author = `,"${this.authorOf(client)}",${number}`;
    const key = `${author} ${topic}`;
    let result = this.waiting.get(key);
    // After a reconnect a client repeats messages that the broker can have already.
    if (result === undefined) {
      result = publishFrom(this.server, topic, data, author);
      this.waiting.set(key, result);
    }
    result
      .then(
        ({ position }) => (position === null && this.keeps(topic) ? refuse('busy') : this.send({ published: number, position })),
        (error) => refuse(error?.code === 'REACTOR_WS_ADAPTER_FULL' ? 'busy' : failed(error)),
      )
      .finally(() => {
        this.waiting.delete(key);
        this.answered(null);
      });
  }

  /** Counts a request that will be answered. */
  begun() {
    this.ws._ensureExtra().isBusy = true;
    if (++this.unanswered >= MAX_UNANSWERED) this.wait('unanswered');
  }

  /** @param {string | null} replayed The topic of replayed messages */
  answered(replayed) {
    if (replayed !== null && this.replaying.delete(replayed)) this.goOn('replay');
    if (--this.unanswered < MAX_UNANSWERED) this.goOn('unanswered');
    this.rest();
  }

  /** Whether messages of the topic have positions. @param {string} topic */
  keeps(topic) {
    const settings = this.server._topics?.all.get(topic)?.settings;
    return settings !== undefined && settings.history !== 0;
  }

  /** A hash of the client's name, for others: with the name they could forge copies of its messages. Lone surrogates differ. @param {string} client */
  authorOf(client) {
    if (client !== this.client) {
      this.client = client;
      this.author = createHash('sha256').update(client, 'utf16le').digest('base64url').slice(0, AUTHOR_LENGTH);
    }
    return this.author;
  }

  /** Without positions, the client cannot notice the gap by itself. At most one report waits. @param {string} topic */
  reportDropped(topic) {
    const state = this.topics.get(topic);
    if (state === undefined || state.isReported || this.keeps(topic)) return;
    state.isReported = true;
    this.ws.send(JSON.stringify({ gap: topic, from: null, to: null }), () => (state.isReported = false));
  }

  /** @param {object} message */
  send(message) {
    if (this.ws.readyState === OPEN && this.ws.send(JSON.stringify(message)) === false) this.wait('room');
  }

  /** @param {string} reason */
  wait(reason) {
    this.reasons.add(reason);
    this.ws._ensureExtra().isBusy = true;
    this.ws.pause();
    // A peer that does not read gets none.
    if (reason !== 'room') this.alive ??= setInterval(() => this.reasons.has('room') || this.send({ pong: true }), ALIVE).unref();
  }

  /** Whether the connection can move to another process. */
  rest() {
    if (this.unanswered === 0 && this.reasons.size === 0) this.ws._ensureExtra().isBusy = false;
  }

  /** @param {string} reason */
  goOn(reason) {
    if (!this.reasons.delete(reason)) return;
    while (this.reasons.size === 0 && this.queue.length !== 0) this.handle(/** @type {string} */ (this.queue.shift()));
    if (this.reasons.size !== 0) return;
    clearInterval(this.alive);
    this.alive = undefined;
    this.rest();
    this.ws.resume();
  }
}

/** A request of a peer must not end the process, whatever the program throws. @template T @param {T} otherwise @param {() => T} act */
function attempt(otherwise, act) {
  try {
    return act();
  } catch (error) {
    failed(error);
    return otherwise;
  }
}

/** Returns the reason for the client. @param {any} error */
function failed(error) {
  let text = 'an object without a text';
  try {
    text = String(error?.stack ?? error);
  } catch {
    // Programs can throw anything.
  }
  // Node remembers warnings, and peers can influence the text of an error.
  if (!hasFailed) warn('REACTOR_WS_TOPICS_PROTOCOL', `A client of topicsProtocol() was refused, because the program or its broker has thrown: ${text}`);
  hasFailed = true;
  log('topicsProtocol(): %s', text);
  return 'failed';
}

/** Null for anything that is no message of a client. @type {(text: string) => Command | null} */
function commandOf(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { client, data, number, ping, publish, since, subscribe, unsubscribe } = value;
  if (ping === true) return { ping };
  if (typeof unsubscribe === 'string') return { unsubscribe };
  if (typeof subscribe === 'string') return isPosition(since ?? 'oldest') ? { subscribe, since: since ?? undefined } : null;
  const isPublish = typeof publish === 'string' && typeof data === 'string' && isCount(number) && isShort(client) && client !== '';
  return isPublish ? { client, data, number, publish } : null;
}

/** @param {any} since */
function isPosition(since) {
  return since === 'oldest' || (typeof since === 'object' && isShort(since.epoch) && isCount(since.offset));
}

/** @param {unknown} value */
function isShort(value) {
  return typeof value === 'string' && value.length <= NAME_LENGTH;
}

/** @param {unknown} value */
function isCount(value) {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

module.exports = { topicsProtocol };
