// A client of HTTP/2 without TLS that sends the frames it is told to, whatever the protocol says.
import { once } from 'node:events';
import net from 'node:net';

import { fieldsOf } from './http2.mjs';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** Types of frames (RFC 9113, 6). */
export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const CONTINUATION = 9;

export const END_STREAM = 1;
export const ACK = 1;
export const END_HEADERS = 4;

const HEAD = 9;
const INITIAL_WINDOW_SIZE = 4;

export class RawHttp2 {
  #socket;
  #bytes = Buffer.alloc(0);
  #looks = new Set();
  frames = [];
  isClosed = false;

  /** `window`: bytes that the server may send on each stream. */
  static async connect(t, port, { window = 65_535 } = {}) {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    const raw = new RawHttp2(socket);
    const setting = Buffer.alloc(6);
    setting.writeUInt16BE(INITIAL_WINDOW_SIZE);
    setting.writeUInt32BE(window, 2);
    socket.write(PREFACE);
    raw.send(SETTINGS, 0, 0, setting);
    await raw.until(() => raw.frames.some(({ flags, type }) => type === SETTINGS && flags === ACK));
    return raw;
  }

  constructor(socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
    });
    for (const event of ['data', 'close']) socket.on(event, () => this.#looks.forEach((look) => look()));
  }

  #read(chunk) {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= HEAD) {
      const length = this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < HEAD + length) return;
      const [type, flags, id] = [this.#bytes[3], this.#bytes[4], this.#bytes.readUInt32BE(5)];
      const payload = Buffer.from(this.#bytes.subarray(HEAD, HEAD + length));
      this.#bytes = this.#bytes.subarray(HEAD + length);
      this.frames.push({ type, flags, id, payload });
      if (type === SETTINGS && flags !== ACK) this.send(SETTINGS, ACK, 0);
    }
  }

  /** Resolves when the kernel has the frame. */
  send(type, flags, id, payload = Buffer.alloc(0)) {
    const head = Buffer.alloc(HEAD);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(id, 5);
    return new Promise((resolve) => this.#socket.write(Buffer.concat([head, payload]), resolve));
  }

  /** What `act` sends leaves in one piece. */
  together(act) {
    this.#socket.cork();
    act();
    this.#socket.uncork();
  }

  /** Asks for a WebSocket on the stream of this number. */
  ask(id, fields = {}, flags = END_HEADERS) {
    return this.send(HEADERS, flags, id, block(Object.entries(fieldsOf(fields))));
  }

  reset(id, code = 8) {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(code);
    return this.send(RST_STREAM, 0, id, payload);
  }

  /** The frames of a type for a stream so far. */
  of(type, id) {
    return this.frames.filter((frame) => frame.type === type && frame.id === id);
  }

  /** Whether a stream has been answered with 200: the first entry of the static table that fits (RFC 7541, A). */
  isOpen(id) {
    return this.of(HEADERS, id)[0]?.payload[0] === 0x88;
  }

  /** Resolves once `isEnough()`, or the connection has closed. */
  until(isEnough) {
    return new Promise((resolve) => {
      const look = () => {
        if (!isEnough() && !this.isClosed) return;
        this.#looks.delete(look);
        resolve();
      };
      this.#looks.add(look);
      look();
    });
  }

  /** Ends TCP, without a GOAWAY. */
  end() {
    this.#socket.end();
  }

  destroy() {
    this.#socket.destroy();
  }
}

/** Literal fields that are not indexed (RFC 7541, 6.2.2). */
export function block(fields) {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(String(value))]));
}

function text(string) {
  const bytes = Buffer.from(string, 'latin1');
  return Buffer.concat([Buffer.from(integer(bytes.length)), bytes]);
}

/** With a prefix of 7 bits (RFC 7541, 5.1). */
function integer(value) {
  if (value < 127) return [value];
  const list = [127];
  for (value -= 127; value >= 128; value >>= 7) list.push((value & 127) | 128);
  return [...list, value];
}
