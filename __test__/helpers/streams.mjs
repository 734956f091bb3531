// WebSockets over streams that are no TCP sockets: `setSocket` on both ends, without a handshake.
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import tls from 'node:tls';

import { cert, key } from './certificate.mjs';
import { WebSocket } from './clients.mjs';
import { implementation } from './impl.mjs';

/** The options that a server passes to its WebSockets. */
export const OPTIONS = { autoPong: true, closeTimeout: 30_000, maxPendingAutoPongs: 60 };

/** One end of a pipe in memory: bytes written to it can be read at the other one. */
class End extends Duplex {
  other = null;
  /** The written bytes, one Buffer for every write. */
  written = [];
  /** Whether a write arrives before it returns; otherwise it arrives in the next turn. */
  isImmediate = false;
  #finishWrite = null;

  _read() {
    const finish = this.#finishWrite;
    this.#finishWrite = null;
    finish?.();
  }

  // With writev, so that corked writes come in one piece, as they do at a socket.
  _writev(chunks, callback) {
    const data = Buffer.concat(chunks.map(({ chunk }) => chunk));
    this.written.push(data);
    this.#later(() => {
      // A copy: frames are unmasked where they are received.
      if (this.other.destroyed || this.other.push(Buffer.from(data))) callback();
      else this.other.#finishWrite = callback;
    });
  }

  _final(callback) {
    this.#later(() => {
      this.other.push(null);
      callback();
    });
  }

  _destroy(error, callback) {
    this.#later(() => {
      if (!this.other.destroyed) this.other.push(null);
      callback(error);
    });
  }

  #later(act) {
    if (this.isImmediate) act();
    else setImmediate(act);
  }
}

/** Two ends of a pipe. */
export function pipe() {
  const ends = [new End(), new End()];
  [ends[0].other, ends[1].other] = [ends[1], ends[0]];
  return ends;
}

/** The arguments of 'close', whether or not there is an 'error' before it. */
export function closeOf(ws) {
  return new Promise((resolve) => ws.once('close', (...args) => resolve(args)));
}

/** A WebSocket over one end of a stream; `deflate` are parameters and options of compression. */
export function attach(socket, { isServer = true, head = Buffer.alloc(0), deflate, ...options } = {}) {
  const ws = new WebSocket(null, undefined, { ...OPTIONS, ...options });
  ws._isServer = isServer;
  if (deflate !== undefined) {
    const { params = {}, ...rest } = deflate;
    const { maxPayload } = options;
    const accepted = new implementation.PerMessageDeflate({ ...rest, isServer, maxPayload });
    accepted.accept([Object.fromEntries(Object.entries(params).map(([name, value]) => [name, [value]]))]);
    ws._extensions = { 'permessage-deflate': accepted };
  }
  ws.setSocket(socket, head, options);
  return ws;
}

/** The two ends of a connection over a pipe in memory. */
export function pipePair(options, clientOptions) {
  const [near, far] = pipe();
  const ws = attach(near, options);
  const client = attach(far, { isServer: false, ...clientOptions });
  return { ws, client, near, far };
}

/** A WebSocket of a server over a pipe, and the bare other end of it. */
export function rawPair(options) {
  const [near, far] = pipe();
  return { ws: attach(near, options), near, far };
}

/** The two ends of a connection over TLS. */
export async function tlsPair(t, options) {
  const server = tls.createServer({ cert, key });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = tls.connect({ port: server.address().port, host: '127.0.0.1', ca: cert, servername: 'localhost' });
  const [near] = await once(server, 'secureConnection');
  if (!far.authorized) await once(far, 'secureConnect');
  t.teardown(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { ws: attach(near, options), client: attach(far, { isServer: false }), near, far };
}

/** Names and values of the events of a WebSocket, in order; a Buffer as text. */
export function eventsOf(ws) {
  const seen = [];
  for (const name of ['message', 'ping', 'pong', 'error', 'close']) {
    ws.on(name, (first, second) => {
      if (name === 'error') seen.push(['error', first.code]);
      else if (name === 'close') seen.push(['close', first, second.toString()]);
      else if (name === 'message') seen.push([second ? 'binary' : 'text', first.toString()]);
      else seen.push([name, first.toString()]);
    });
  }
  return seen;
}
