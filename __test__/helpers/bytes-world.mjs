// For the tests of all lengths: servers by every way in, peers that see bytes, and payloads.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { inflateRawSync, constants as zlib } from 'node:zlib';

import { BytePeer } from './byte-peer.mjs';
import { cert, key } from './certificate.mjs';
import { WebSocketServer, isInline, isSpread } from './impl.mjs';
import { SIZES, isAll } from './thresholds.mjs';
import { wrapUpgrades } from './wrapped.mjs';

const ALONE = { serverNoContextTakeover: true, clientNoContextTakeover: true };
const TAIL = Buffer.from([0, 0, 0xff, 0xff]);

export const COMPRESSION = { plain: false, alone: ALONE, context: true };
/** Over https there is no reactor: its thread makes no difference. */
export const WAYS_IN = (isInline || isSpread) && !isAll ? ['port', 'server', 'tls'] : ['port', 'server', 'tls', 'https'];

const LONGEST = SIZES.at(-1);
/** Text that encodes the position of each byte: a byte that is missing or misplaced shows. */
const TEXT = Buffer.from(
  Array.from({ length: LONGEST / 8 + 200 }, (_, row) => row.toString(36).padStart(7, '-').concat('\n')).join(''),
);

/** The payload of some length, another one for each `seed`. */
export function payloadOf(length, seed = 0) {
  const start = (seed * 7919) % 1000;
  return TEXT.subarray(start, start + length);
}

/** A listening server. */
async function serve(t, way, options) {
  if (way === 'port' || way === 'tls') {
    const tls = way === 'tls' ? { cert, key } : undefined;
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', tls, ...options });
    t.teardown(() => server.close());
    await once(server, 'listening');
    return server;
  }
  const front = way === 'https' ? https.createServer({ cert, key }) : http.createServer();
  const server = new WebSocketServer({ server: front, ...options });
  if (way === 'stream') wrapUpgrades(server);
  front.listen(0, '127.0.0.1');
  t.teardown(() => front.close());
  await once(front, 'listening');
  return server;
}

export class World {
  static async start(t, way, { perMessageDeflate, ...options }) {
    const server = await serve(t, way, { perMessageDeflate, maxPayload: 64 << 20, ...options });
    t.teardown(() => {
      for (const ws of server.clients) ws.terminate();
    });
    server.on('connection', (ws) => ws.on('error', (error) => t.fail(error.message)));
    return new World(t, server, way, !!perMessageDeflate);
  }

  constructor(t, server, way, deflates) {
    Object.assign(this, { t, server, way, deflates });
  }

  /** A peer that has not asked for anything. */
  peer() {
    return BytePeer.connect(this.t, this.server.address(), { secure: this.way === 'https' || this.way === 'tls' });
  }

  /** The fields of an upgrade request. */
  request(path = '/') {
    const line = `GET ${path} HTTP/1.1`;
    return this.deflates ? { line, 'Sec-WebSocket-Extensions': 'permessage-deflate' } : { line };
  }

  /** The two ends of a new connection. */
  async open(path) {
    const peer = await this.peer();
    const connected = once(this.server, 'connection');
    const head = await peer.upgrade(this.request(path));
    const [ws] = await connected;
    return { ws, head, messages: new Messages(peer), peer };
  }
}

/** The messages that a peer gets. */
export class Messages {
  /** The earlier bytes that the window of the compressor refers to. */
  #before = Buffer.alloc(0);

  constructor(peer) {
    this.peer = peer;
  }

  /** The next message or control frame. */
  async next() {
    const first = await this.peer.readFrame();
    const parts = [first.payload];
    for (let { fin } = first; !fin; ) {
      const part = await this.peer.readFrame();
      if (part.opcode !== 0) throw new Error(`opcode ${part.opcode} inside a message`);
      ({ fin } = part);
      parts.push(part.payload);
    }
    const payload = Buffer.concat(parts);
    return { opcode: first.opcode, payload: first.rsv1 ? this.#inflate(payload) : payload, wasCompressed: first.rsv1 };
  }

  #inflate(payload) {
    const dictionary = this.#before.length > 0 ? this.#before : undefined;
    const message = inflateRawSync(Buffer.concat([payload, TAIL]), { finishFlush: zlib.Z_SYNC_FLUSH, dictionary });
    this.#before = Buffer.concat([this.#before, message]).subarray(-32_768);
    return message;
  }
}

/** Turns of the event loop until nothing of a connection waits. */
export async function untilSent(...sockets) {
  while (sockets.some((ws) => ws.bufferedAmount > 0)) await new Promise(setImmediate);
}

/** Resolves as the promise does; an error names the case. */
export async function named(title, promise) {
  try {
    return await promise;
  } catch (error) {
    throw new Error(title, { cause: error });
  }
}
