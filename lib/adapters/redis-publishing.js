'use strict';

// Messages of topics with a history: one call for each topic at a time, with all messages that have come meanwhile. A call
// may be made again without doing anything twice, so no message is lost while Redis is away.

const { mayPass } = require('./redis-calls');
const { newEpoch } = require('./redis-epoch');
const { PUBLISH } = require('./redis-scripts');

/** @import { HistorySettings } from '../../types/adapter' */
/** @import { Position } from '../../types/topics' */

/** Most messages and bytes of one call: Redis does nothing else meanwhile. */
const MOST = 128;
const MOST_BYTES = 2 ** 20;

/** Milliseconds until a call is made again, the first time and at most. */
const RETRY = 50;
const LONGEST_RETRY = 2000;

/** Milliseconds for which the end waits for Redis. */
const PATIENCE = 2000;

/** @typedef {{ bytes: Buffer, history: HistorySettings, resolve(position: Position | undefined): void, reject(error: unknown): void }} Waiting */

class Publishing {
  /** @param {import('./redis').Redis} adapter */
  constructor(adapter) {
    this.adapter = adapter;
    /** By topic. @type {Map<string, Waiting[]>} */
    this.queues = new Map();
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
    const keys = [...adapter.keysOf(channel), `${channel}:${adapter.id}`];
    const { positionTtl, size, ttl } = batch[0].history;
    const first = this.last + 1;
    this.last += batch.length;
    const settings = [String(size), String(ttl === 0 ? positionTtl : ttl), String(positionTtl), adapter.publishCommand, channel, String(first)];
    for (let delay = RETRY; ; delay = Math.min(2 * delay, LONGEST_RETRY)) {
      const { epoch, offset } = adapter.tops.get(topic) ?? { epoch: '', offset: 0 };
      const words = [newEpoch(), epoch, String(offset), ...settings, ...batch.map(({ bytes }) => bytes)];
      try {
        const [now, top] = await adapter.scripts.run(PUBLISH, keys, words);
        const position = { epoch: String(now), offset: Number(top) };
        return position.offset === 0 ? undefined : position;
      } catch (error) {
        if (this.isOver || !mayPass(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, delay).unref());
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
        timer = setTimeout(resolve, PATIENCE);
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
    if (count === MOST || (count !== 0 && bytes > MOST_BYTES)) break;
    count++;
  }
  return count;
}

module.exports = { Publishing };
