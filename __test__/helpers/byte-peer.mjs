// The other end of a connection as bytes: reads exactly as many bytes as are asked for,
// and frames as they are on the wire.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

import { cert } from './certificate.mjs';
import { upgradeRequest } from './raw-client.mjs';
import { schemeOf } from './secure-ports.mjs';

/** The time for which a test waits for expected bytes. */
const PATIENCE_MS = 180_000;

const LENGTH_16 = 126;
const LENGTH_64 = 127;

export class BytePeer {
  #chunks = [];
  #length = 0;
  #isEnded = false;
  #wake = () => {};

  /** A peer of the server at the port of an address. */
  static async connect(t, { port }, { secure = schemeOf(port) === 'wss:' } = {}) {
    const where = { port, host: '127.0.0.1', allowHalfOpen: true };
    const socket = secure ? tls.connect({ ...where, ca: cert, servername: 'localhost' }) : net.connect(where);
    socket.setNoDelay(true);
    t.teardown(() => socket.destroy());
    await once(socket, secure ? 'secureConnect' : 'connect');
    return new BytePeer(socket);
  }

  constructor(socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      this.#wake();
    });
    const end = () => {
      this.#isEnded = true;
      this.#wake();
    };
    socket.on('end', end).on('close', end).on('error', end);
  }

  /** Asks for the upgrade and returns the head of the answer. */
  async upgrade(fields) {
    this.socket.write(upgradeRequest(fields), 'latin1');
    return this.readHead();
  }

  /** The next bytes. */
  async read(length) {
    await this.#until(() => this.#length >= length);
    const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#put(all.subarray(length));
    return all.subarray(0, length);
  }

  /** Up to the end of the head of an answer. */
  async readHead() {
    const END = '\r\n\r\n';
    let seen = 0;
    // Only new bytes are looked at: a head may be long.
    await this.#until(() => {
      while (seen < this.#chunks.length) {
        if (Buffer.concat(this.#chunks.slice(Math.max(seen++ - END.length, 0), seen)).includes(END)) return true;
      }
      return false;
    });
    const all = Buffer.concat(this.#chunks);
    this.#put(all);
    return (await this.read(all.indexOf(END) + END.length)).toString('latin1');
  }

  /** All that comes until the other side ends. */
  async readToEnd() {
    await this.#until(() => this.#isEnded);
    return this.read(this.#length);
  }

  /** The next frame, whose header must be the shortest. */
  async readFrame() {
    const [first, second] = await this.read(2);
    if ((second & 0x80) !== 0) throw new Error('a server must not mask');
    let length = second;
    if (second === LENGTH_16) length = (await this.read(2)).readUInt16BE();
    if (second === LENGTH_64) length = Number((await this.read(8)).readBigUInt64BE());
    if (second === LENGTH_16 ? length < LENGTH_16 : second === LENGTH_64 && length <= 0xffff) {
      throw new Error(`a longer header than ${length} bytes need`);
    }
    const [fin, rsv1, opcode] = [(first & 0x80) !== 0, (first & 0x40) !== 0, first & 0x3f];
    return { fin, rsv1, opcode, payload: await this.read(length) };
  }

  #put(rest) {
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
  }

  async #until(isDone) {
    while (!isDone()) {
      if (this.#isEnded) throw new Error(`the other side ended, and left ${this.#length} bytes`);
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`nothing behind ${this.#length} bytes`)), PATIENCE_MS);
        this.#wake = () => resolve(clearTimeout(timer));
      });
    }
  }
}
