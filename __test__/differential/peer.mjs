// The other end of a connection: a bare TCP socket.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

import { cert } from '../helpers/certificate.mjs';
import { upgradeRequest } from '../helpers/raw-client.mjs';
import { frameLength, frameList } from './show.mjs';

const DATE = /(?<=\r\nDate: )\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT(?=\r\n)/g;

/** A client that sends bytes and keeps those that it gets. */
export class Peer {
  #received = Buffer.alloc(0);
  #isClosed = false;
  #hasEnded = false;

  /** Connected to a port of the loopback; `c` is the context of the scenario. */
  static async connect(c, port, lane = 'peer') {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    c.teardown(() => socket.destroy());
    await once(socket, 'connect');
    if (c.way !== 'tls' && c.way !== 'https') return new Peer(c, socket, lane);
    const secure = tls.connect({ socket, ca: cert, servername: 'localhost', allowHalfOpen: true });
    await once(secure, 'secureConnect');
    return new Peer(c, secure, lane, socket);
  }

  /** `raw`: the socket of the system. */
  constructor(c, socket, lane, raw = socket) {
    this.c = c;
    this.socket = socket;
    this.raw = raw;
    this.lane = lane;
    /** Whether it ends its side when the other one has ended. */
    this.answersEnd = true;
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    socket.on('end', () => {
      this.#hasEnded = true;
      if (this.answersEnd) socket.end();
    });
    // A reset is one way of closing.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
    });
  }

  /** Bytes, text as latin1, or an array of texts with only hex digits and spaces. */
  send(data) {
    const bytes = Array.isArray(data) ? Buffer.from(data.join('').replaceAll(' ', ''), 'hex') : data;
    return new Promise((resolve) => {
      this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, resolve);
    });
  }

  upgrade(fields, early = Buffer.alloc(0)) {
    return this.send(Buffer.concat([Buffer.from(upgradeRequest(fields), 'latin1'), early]));
  }

  end() {
    this.socket.end();
  }

  reset() {
    this.raw.resetAndDestroy();
  }

  /** The head of the answer. */
  get head() {
    const text = this.#received.toString('latin1');
    return text.slice(0, text.indexOf('\r\n\r\n') + 4).replaceAll(DATE, '<date>');
  }

  /** Everything, as text. */
  get text() {
    return this.#received.toString('latin1').replaceAll(DATE, '<date>');
  }

  /** The bytes after the head. */
  get body() {
    const at = this.#received.indexOf('\r\n\r\n');
    return at === -1 ? Buffer.alloc(0) : this.#received.subarray(at + 4);
  }

  upgraded() {
    return this.#until(() => this.head !== '');
  }

  /** Until that many bytes of frames have come. */
  bytes(count) {
    return this.#until(() => this.body.length >= count);
  }

  /** Until that many complete frames have come. */
  frames(count) {
    return this.#until(() => {
      let at = 0;
      for (let i = 0; i < count; i++) {
        if (at >= this.body.length) return false;
        at += frameLength(this.body.subarray(at));
      }
      return at <= this.body.length;
    });
  }

  /** Until the other side has ended its stream. */
  ended() {
    return this.#until(() => this.#hasEnded);
  }

  /** Until the connection is gone; logs the received bytes. */
  async closed() {
    await this.#until(() => this.#isClosed);
    this.report();
  }

  /** Logs the frames that have come, or the whole answer if it was no upgrade. */
  report() {
    if (this.head.startsWith('HTTP/1.1 101')) this.c.log(this.lane, 'frames', frameList(this.body));
    else this.c.log(this.lane, 'answer', ...this.text.split('\r\n'));
  }

  #until(isDone) {
    return new Promise((resolve) => {
      const look = () => {
        if (isDone() || this.#isClosed) resolve();
      };
      for (const event of ['data', 'end', 'close']) this.socket.on(event, look);
      look();
    });
  }
}
