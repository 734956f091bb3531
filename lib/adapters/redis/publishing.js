'use strict';

// Messages of topics with a history: one call for each topic at a time, with all messages since the last one. A call
// can be repeated without doing anything twice, so no message is lost while Redis is away. Other messages of a tick are one command: the
// package `redis` gives no further ones to the system in a turn of the event loop once 16 KiB are there.

const { Backoff } = require('../../base/backoff');
const { mayPass } = require('./calls');
const { PUBLISH, PUBLISH_PLAIN, checkOf } = require('./scripts');

/** @import { HistorySettings } from '../../../types/adapter' */
/** @import { Position } from '../../../types/topics' */

/** Most messages and bytes of one call: Redis does nothing else meanwhile. */
const MAX = 1024;
const MAX_BYTES = 2 ** 20;

/** Milliseconds until a call is made again, the first time and at most. */
const RETRY = 50;
const MAX_RETRY = 2000;

/** Milliseconds for which the end waits for Redis. */
const TIMEOUT = 2000;

/** Channels and their messages. @typedef {{ words: Array<string | Buffer>, bytes: number, sent: Promise<void> }} Plain */

/** @typedef {{ bytes: Buffer, history: HistorySettings, resolve(position: Position | undefined): void, reject(error: unknown): void }} Waiting */

class Publishing {
  /** @param {import('../redis').Redis} adapter */
  constructor(adapter) {
    this.adapter = adapter;
    /** By topic. @type {Map<string, Waiting[]>} */
    this.queues = new Map();
    /** Without a history: of this tick. @type {Plain | null} */
    this.plain = null;
    /** The number of the last message. */
    this.last = 0;
    this.isClosing = false;
    this.isOver = false;
    this.onEmpty = () => {};
  }

  /** @type {(topic: string, bytes: Buffer, history: HistorySettings) => Promise<Position | undefined>} */
  add(topic, bytes, history) {
    return new Promise((resolve, reject) => {
      if (this.isClosing) return reject(new Error('The adapter is closed'));
      const one = { bytes, history, resolve, reject };
      const queue = this.queues.get(topic);
      if (queue !== undefined) return void queue.push(one);
      this.queues.set(topic, [one]);
      // Others of this tick come along.
      process.nextTick(() => void this.serve(topic));
    });
  }

  /** Publishes in a topic without a history. @type {(channel: string, message: Buffer) => Promise<void>} */
  addPlain(channel, message) {
    let batch = this.plain;
    if (batch === null || batch.words.length >= 2 * MAX || batch.bytes + message.length > MAX_BYTES) {
      const made = { words: [], bytes: 0, sent: Promise.resolve() };
      made.sent = new Promise((resolve) => process.nextTick(resolve)).then(() => this.send(made));
      batch = this.plain = made;
    }
    batch.words.push(channel, message);
    batch.bytes += message.length;
    return batch.sent;
  }

  /** @param {Plain} batch */
  async send(batch) {
    const { client, publishCommand } = this.adapter;
    const { words } = batch;
    if (this.plain === batch) this.plain = null;
    const several = ['EVAL', PUBLISH_PLAIN, '0', publishCommand, ...words];
    await client.command(/** @type {string} */ (words[0]), words.length === 2 ? [publishCommand, ...words] : several);
  }

  /** @param {string} topic */
  async serve(topic) {
    const queue = /** @type {Waiting[]} */ (this.queues.get(topic));
    while (queue.length !== 0) {
      const batch = queue.splice(0, countOf(queue));
      try {
        const last = await this.call(topic, batch);
        for (const [index, { resolve }] of batch.entries()) {
          resolve(last === undefined ? undefined : { epoch: last.epoch, offset: last.offset - (batch.length - 1 - index) });
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.queues.delete(topic);
    if (this.queues.size === 0) this.onEmpty();
  }

  /** The position of the last one, unless it is not known. @type {(topic: string, batch: Waiting[]) => Promise<Position | undefined>} */
  async call(topic, batch) {
    const { adapter } = this;
    const channel = adapter.channelOf(topic);
    const { positionTtl, size, ttl } = batch[0].history;
    const first = this.last + 1;
    this.last += batch.length;
    const words = [String(size), String(ttl === 0 ? positionTtl : ttl), String(positionTtl), adapter.publishCommand, channel, String(first)];
    const messages = batch.map(({ bytes }) => bytes);
    for (const backoff = new Backoff(RETRY, MAX_RETRY); ; ) {
      const { era } = adapter;
      try {
        const [epoch, offset, life] = await adapter.call(PUBLISH, topic, adapter.seen(topic), [...words, ...messages]);
        if (Number(offset) === 0) return undefined;
        const position = { epoch: String(epoch), offset: Number(offset) };
        adapter.noteSeen(topic, { ...position, check: checkOf(messages[messages.length - 1]), era, life: String(life) });
        return position;
      } catch (error) {
        if (this.isOver || !mayPass(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, backoff.next()).unref());
        if (this.isOver) throw error;
      }
    }
  }

  /** Waits for messages that are under way. */
  async close() {
    this.isClosing = true;
    if (this.queues.size !== 0) {
      let timer;
      await new Promise((resolve) => {
        this.onEmpty = () => resolve(undefined);
        timer = setTimeout(resolve, TIMEOUT);
      });
      clearTimeout(timer);
    }
    this.isOver = true;
  }
}

/** How many messages go into one call. @param {Waiting[]} queue */
function countOf(queue) {
  let bytes = 0;
  let count = 0;
  for (const one of queue) {
    bytes += one.bytes.length;
    if (count === MAX || (count !== 0 && bytes > MAX_BYTES)) break;
    count++;
  }
  return count;
}

module.exports = { Publishing };
