// A topic with ten readers, of which one may stall: the others go on as before, and the one gets
// the messages that it lacks from the history.

import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

import { WebSocketServer } from 'reactor-ws';

const READERS = 10;
const BYTES = 16 * 1024;
const INTERVAL_MS = 10;
export const STALL_MS = 5000;
/** Samples that a new page gets: 30 s. */
const SAMPLES = 120;
/**
 * Bytes that may wait for a reader. A reader with more is behind: the
 * history serves it when it reads on.
 */
const WAITING_BYTES = 64 * 1024;
/** Messages of 10 s and more. */
const HISTORY = 1500;

/**
 * Emits 'sample' four times a second, and 'stalled' when a stall begins
 * and when its reader has caught up.
 */
export class Feed extends EventEmitter {
  history = [];
  isStalled = false;
  #server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    perMessageDeflate: false,
    topicOptions: () => ({ history: HISTORY, slow: 'catch-up', limit: WAITING_BYTES }),
  });
  #readers;
  #timer;
  #published = 0;
  #mostWaiting = 0;

  async start() {
    this.#server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.subscribe('feed');
    });
    if (this.#server.address() === null) await once(this.#server, 'listening');
    this.#readers = fork(new URL('readers.mjs', import.meta.url), [this.#server.address().port, READERS]);
    this.#readers.on('message', ({ figures, made }) => {
      if (figures !== undefined) this.#sample(figures);
      else this.#end(made);
    });
  }

  /** The topic is published to only while somebody looks. */
  setWatched(isWatched) {
    clearInterval(this.#timer);
    if (isWatched) this.#timer = setInterval(() => this.#publish(), INTERVAL_MS);
  }

  /** Makes one reader read nothing for five seconds. */
  stall() {
    if (this.isStalled || !this.#readers.connected) return;
    this.isStalled = true;
    this.#mostWaiting = 0;
    this.#readers.send({ stall: STALL_MS });
    this.emit('stalled', { isStalled: true });
  }

  stop() {
    clearInterval(this.#timer);
    if (this.#readers.connected) this.#readers.disconnect();
    this.#readers.kill();
    this.#server.close();
    for (const socket of this.#server.clients) socket.terminate();
  }

  /**
   * Publishes a message with its number and its time, by a clock that
   * all processes of a machine share.
   */
  #publish() {
    const message = Buffer.alloc(BYTES);
    message.writeDoubleLE((this.#published += 1), 0);
    message.writeBigInt64LE(process.hrtime.bigint(), 8);
    this.#server.publish('feed', message);
  }

  #sample(figures) {
    const waiting = Math.max(0, ...Array.from(this.#server.clients, ({ bufferedAmount }) => bufferedAmount));
    this.#mostWaiting = Math.max(this.#mostWaiting, waiting);
    const sample = { isBlocked: this.isStalled, servers: figures };
    this.history.push(sample);
    if (this.history.length > SAMPLES) this.history.shift();
    this.emit('sample', sample);
  }

  #end(made) {
    this.isStalled = false;
    this.emit('stalled', { isStalled: false, waited: this.#mostWaiting, ...made });
  }
}
