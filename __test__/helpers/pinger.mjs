// A raw connection that measures how long its pings take.
import { once } from 'node:events';
import net from 'node:net';

import { frame } from './clients.mjs';
import { upgradeRequest } from './raw-client.mjs';

const PONG = 0x8a;
const BINARY = 0x82;

export class Pinger {
  /** Milliseconds from ping to pong. */
  times = [];
  echoes = 0;
  #socket;
  #sentAt = 0;

  /** Connected to a path that echoes; with `inFlight` it keeps one message under way. */
  static async connect(t, port, inFlight, path = '/echo') {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    t.teardown(() => socket.destroy());
    socket.write(upgradeRequest({ line: `GET ${path} HTTP/1.1` }));
    await once(socket, 'data');
    const pinger = new Pinger(socket);
    if (inFlight) socket.write(frame(2, 'x'));
    return pinger;
  }

  constructor(socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('data', (data) => {
      // The frames are so short that each comes in one piece.
      for (let i = 0; i < data.length; i += 2 + data[i + 1]) this.#onFrame(data[i]);
    });
  }

  #onFrame(first) {
    if (first === PONG) {
      this.times.push(performance.now() - this.#sentAt);
      this.#sentAt = 0;
    } else if (first === BINARY) {
      this.echoes++;
      this.#socket.write(frame(2, 'x'));
    }
  }

  /** Resolves when `isEnough()`, which is asked again after each answer. */
  async until(isEnough) {
    while (!isEnough()) await once(this.#socket, 'data');
  }

  /** Sends a ping, unless one is under way. */
  ping() {
    if (this.#sentAt !== 0) return;
    this.#sentAt = performance.now();
    this.#socket.write(frame(9, 'ping'));
  }
}
