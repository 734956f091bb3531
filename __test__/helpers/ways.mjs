// One server, whichever way its connections come in.
import { once } from 'node:events';
import http from 'node:http';
import { Duplex } from 'node:stream';

import { WebSocketServer, startServer } from './impl.mjs';

/** A stream over a socket that is nothing but a Duplex. */
class Wrapped extends Duplex {
  #socket;

  constructor(socket) {
    super();
    this.#socket = socket;
    socket.on('data', (chunk) => this.push(chunk) || socket.pause());
    socket.on('end', () => this.push(null));
    socket.on('close', () => this.destroy());
    socket.on('error', () => {});
  }

  _read() {
    this.#socket.resume();
  }

  _write(chunk, encoding, callback) {
    this.#socket.write(chunk, encoding, callback);
  }

  _writev(chunks, callback) {
    this.#socket.cork();
    for (const { chunk } of chunks.slice(0, -1)) this.#socket.write(chunk);
    this.#socket.write(chunks.at(-1).chunk, callback);
    this.#socket.uncork();
  }

  _final(callback) {
    this.#socket.end(callback);
  }

  _destroy(error, callback) {
    this.#socket.destroy();
    callback(error);
  }
}

async function startBehind(options) {
  const server = http.createServer();
  const wss = new WebSocketServer({ server, ...options });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, wss };
}

/** A WebSocketServer behind an HTTP server of Node. */
export async function startServerBehind(t, options) {
  const { server, wss } = await startBehind(options);
  wss.on('connection', (socket) => socket.on('error', () => {}));
  t.teardown(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
    server.close();
  });
  return wss;
}

/** Makes the upgrades of a WebSocketServer behind an HTTP server come with a mere Duplex. */
export function wrapUpgrades(wss) {
  wss.handleUpgrade = function wrapped(request, socket, head, callback) {
    Object.getPrototypeOf(this).handleUpgrade.call(this, request, new Wrapped(socket), head, callback);
  };
  return wss;
}

/** Ways to start a server, by name: `(t, options) => server`. */
export const WAYS = {
  port: startServer,
  server: startServerBehind,
  stream: async (t, options) => wrapUpgrades(await startServerBehind(t, options)),
};
