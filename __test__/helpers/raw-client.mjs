// A client of TCP, or TLS, that sends the bytes it is given and keeps the bytes it gets.
import { once } from 'node:events';
import net from 'node:net';

import { wrapped } from './secure-ports.mjs';

export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

/** What can change the text or its end. */
const EVENTS = ['data', 'end', 'close'];

export class RawClient {
  #raw;
  #chunks = [];
  #isClosed = false;
  /** Whether it ends its side when the other one has ended. */
  answersEnd = true;

  /** A client connected to the given port of the loopback, which the end of the test destroys. */
  static async connect(t, port, host = '127.0.0.1') {
    const socket = net.connect({ port, host, noDelay: true, allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    return new RawClient(await wrapped(socket, port), socket);
  }

  /** `raw`: the socket of the system. */
  constructor(socket, raw = socket) {
    this.socket = socket;
    this.#raw = raw;
    this.#isClosed = socket.closed;
    socket.on('data', (chunk) => this.#chunks.push(chunk));
    socket.on('end', () => this.answersEnd && socket.end());
    // A reset is one way of closing; what came before it is kept.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
    });
  }

  get bytes() {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  /** All bytes received, as latin1 text. */
  get text() {
    return this.bytes.toString('latin1');
  }

  /** Sends bytes, or text as latin1; resolves when the kernel has them. */
  send(data) {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    return new Promise((resolve) => this.socket.write(bytes, resolve));
  }

  sendHex(hex) {
    return this.send(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
  }

  /** Sends FIN; bytes are still received. */
  end() {
    this.socket.end();
  }

  /** Sends RST. */
  reset() {
    // Behind end(), which an end of the server causes too, a reset of Node's may fail silently.
    if (this.#raw.writableEnded) this.#raw.destroy();
    else this.#raw.resetAndDestroy();
  }

  /** Resolves with the received text once it `isEnough`; fails if the connection closes before. */
  async until(isEnough) {
    const text = await this.untilClosedOr(isEnough);
    if (!isEnough(text)) throw new Error(`closed after ${JSON.stringify(text)}`);
    return text;
  }

  /** Resolves with the text received once it satisfies `isEnough` or the connection has closed. */
  untilClosedOr(isEnough) {
    return new Promise((resolve) => {
      const look = () => {
        // The text of many bytes takes its time.
        if (!this.#isClosed && !isEnough(isEnough.length > 0 ? this.text : '')) return;
        for (const event of EVENTS) this.socket.off(event, look);
        resolve(this.text);
      };
      for (const event of EVENTS) this.socket.on(event, look);
      look();
    });
  }

  /** Resolves with the text received when the server has closed the connection. */
  closed() {
    return this.untilClosedOr(() => false);
  }
}

/**
 * An upgrade request. Of `fields`, null leaves a header out and an array repeats it; `line` is the
 * request line and `extra` goes before the empty line as it is.
 */
export function upgradeRequest({ line = 'GET / HTTP/1.1', extra = '', ...fields } = {}) {
  const headers = {
    Host: 'example.com',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Key': KEY,
    'Sec-WebSocket-Version': '13',
    ...fields
  };
  const lines = Object.entries(headers)
    .filter(([, value]) => value !== null)
    .flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
  return `${line}\r\n${lines.join('')}${extra}\r\n`;
}
