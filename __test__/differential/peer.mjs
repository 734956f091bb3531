// The other end of a connection: a bare TCP socket.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

import { cert } from '../helpers/certificate.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';
import { frameLength, frameList } from './show.mjs';

const DATE = /(?<=\r\nDate: )\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT(?=\r\n)/g;

/** A client that sends bytes and keeps those that it gets. */
export class Peer extends RawClient {
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
    super(socket, raw);
    this.c = c;
    this.lane = lane;
    socket.on('end', () => {
      this.#hasEnded = true;
    });
  }

  /** Bytes, text as latin1, or an array of texts with only hex digits and spaces. */
  send(data) {
    return Array.isArray(data) ? this.sendHex(data.join('')) : super.send(data);
  }

  upgrade(fields, early = Buffer.alloc(0)) {
    return this.send(Buffer.concat([Buffer.from(upgradeRequest(fields), 'latin1'), early]));
  }

  /** The head of the answer. */
  get head() {
    const { text } = this;
    return text.slice(0, text.indexOf('\r\n\r\n') + 4);
  }

  get text() {
    return super.text.replaceAll(DATE, '<date>');
  }

  /** The bytes after the head. */
  get body() {
    const at = this.bytes.indexOf('\r\n\r\n');
    return at === -1 ? Buffer.alloc(0) : this.bytes.subarray(at + 4);
  }

  upgraded() {
    return this.untilClosedOr(() => this.head !== '');
  }

  /** Until that many complete frames have come. */
  frames(count) {
    return this.untilClosedOr(() => {
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
    return this.untilClosedOr(() => this.#hasEnded);
  }

  /** Until the connection is gone; logs the received bytes. */
  async closed() {
    await super.closed();
    this.report();
  }

  /** Logs the frames that have come, or the whole answer if it was no upgrade. */
  report() {
    if (this.head.startsWith('HTTP/1.1 101')) this.c.log(this.lane, 'frames', frameList(this.body));
    else this.c.log(this.lane, 'answer', ...this.text.split('\r\n'));
  }
}
