// Connections between the implementation under test and the client of `ws`.
import { once } from 'node:events';
import { createRequire } from 'node:module';

import { implementation, startServer } from './impl.mjs';
import { RawClient, upgradeRequest } from './raw-client.mjs';
import { schemeOf, trusting } from './secure-ports.mjs';

export const { WebSocket } = implementation;

/** Always the client of `ws`, whatever is tested. */
export const wsClient = trusting(createRequire(import.meta.url)('ws').WebSocket);

export function urlOf(server) {
  const { address, port } = server.address();
  return `${schemeOf(port)}//${address}:${port}`;
}

/** A server with the given options and the two ends of a connection to it. */
export function openPair(t, options, clientOptions) {
  return openBy(startServer, t, options, clientOptions);
}

/** The same by another way than a port: `start` is one of `WAYS`. */
export async function openBy(start, t, options, clientOptions) {
  const server = await start(t, options);
  return { server, ...(await connect(t, server, clientOptions)) };
}

/** Both ends of a new connection: the server's `ws` with its `request`, and the `client` of ws. */
export async function connect(t, server, { path = '', protocols = [], ...rest } = {}) {
  const client = visitor(t, urlOf(server) + path, protocols, rest);
  const [[ws, request]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
  return { ws, request, client };
}

/** The same with a raw client; the answer to its handshake is left out of `frames()`. */
export async function openRaw(t, options) {
  const server = await startServer(t, options);
  return { server, ...(await connectRaw(t, server)) };
}

export async function connectRaw(t, server) {
  const connected = once(server, 'connection');
  const raw = await askRaw(t, server.address().port);
  const [ws] = await connected;
  await raw.until((text) => text.includes('\r\n\r\n'));
  return { ws, raw };
}

/** As many new connections as that. */
export async function connectMany(t, server, count, options) {
  const pairs = [];
  while (pairs.length < count) pairs.push(await connect(t, server, options));
  return pairs;
}

/** A raw client that has sent a request. */
export async function askRaw(t, port, request = upgradeRequest()) {
  const raw = await RawClient.connect(t, port);
  raw.send(request);
  return raw;
}

/** A client of ws, which the end of the test terminates. */
export function visitor(t, ...args) {
  const client = new wsClient(...args);
  t.teardown(() => client.terminate());
  return client;
}

/** The same, open. */
export async function openVisitor(t, ...args) {
  const client = visitor(t, ...args);
  await once(client, 'open');
  return client;
}

/** The bytes of a raw client after the handshake, in hex, once there are that many. */
export async function frames(raw, bytes) {
  const body = (text) => text.slice(text.indexOf('\r\n\r\n') + 4);
  const text = await raw.until((all) => body(all).length >= bytes);
  return Buffer.from(body(text), 'latin1').toString('hex');
}

/** A client's frame: masked with zeros, so that the payload can be read in the test. Programs get its source. */
export function frame(opcode, payload = '', fin = true) {
  const bytes = Buffer.from(payload);
  const [first, { length }] = [(fin ? 0x80 : 0) | opcode, bytes];
  const size = length < 126 ? [0x80 | length] : [0xff, 0, 0, 0, 0, ...[24, 16, 8, 0].map((by) => (length >>> by) & 0xff)];
  return Buffer.concat([Buffer.from([first, ...size, 0, 0, 0, 0]), bytes]);
}

/** The arguments of the next `count` events. */
export function nextEvents(emitter, event, count) {
  return new Promise((resolve) => {
    const seen = [];
    const listener = (...args) => {
      seen.push(args);
      if (seen.length < count) return;
      emitter.removeListener(event, listener);
      resolve(seen);
    };
    emitter.on(event, listener);
  });
}
