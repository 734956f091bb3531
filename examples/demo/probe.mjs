// Measures how long a server takes to answer a ping, ten times a
// second, on a connection of its own.

import { performance } from 'node:perf_hooks';

import { WebSocket } from 'reactor-ws';

const INTERVAL_MS = 100;

export class Probe {
  #socket;
  #sentAt = null;
  #last = 0;
  #answered = 0;
  #slowest = 0;

  constructor(url) {
    this.#socket = new WebSocket(url, { perMessageDeflate: false });
    this.#socket.on('error', () => {});
    this.#socket.on('open', () => setInterval(() => this.#ping(), INTERVAL_MS).unref());
    this.#socket.on('pong', () => this.#pong());
  }

  /** Milliseconds of the last round trip, or of the one under way if that takes longer. */
  get milliseconds() {
    return Math.max(this.#last, this.#pending());
  }

  /** Whether each ping has its answer. */
  get isAnswered() {
    return this.#sentAt === null;
  }

  /** The number of pings answered since the last call, and the milliseconds of the slowest. */
  take() {
    const taken = { answered: this.#answered, slowest: Math.max(this.#slowest, this.#pending()) };
    this.#answered = this.#slowest = 0;
    return taken;
  }

  #ping() {
    if (this.#sentAt !== null || this.#socket.readyState !== WebSocket.OPEN) return;
    this.#sentAt = performance.now();
    this.#socket.ping();
  }

  #pong() {
    this.#last = this.#pending();
    this.#slowest = Math.max(this.#slowest, this.#last);
    this.#answered += 1;
    this.#sentAt = null;
  }

  #pending() {
    return this.#sentAt === null ? 0 : performance.now() - this.#sentAt;
  }
}
