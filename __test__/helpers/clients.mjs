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
export async function openPair(t, options, clientOptions) {
  const server = await startServer(t, options);
  return { server, ...(await connect(t, server, clientOptions)) };
}

/**
 * The two ends of a new connection: the server's `ws` with its `request`, and the `client` of ws.
 */
export async function connect(t, server, { path = '', protocols = [], ...rest } = {}) {
  const client = new wsClient(urlOf(server) + path, protocols, rest);
  t.teardown(() => client.terminate());
  const [[ws, request]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
  return { ws, request, client };
}

/** The same with a raw client; the answer to its handshake is left out of `frames()`. */
export async function openRaw(t, options) {
  const server = await startServer(t, options);
  const raw = await RawClient.connect(t, server.address().port);
  const connected = once(server, 'connection');
  await raw.send(upgradeRequest());
  const [ws] = await connected;
  await raw.until((text) => text.includes('\r\n\r\n'));
  return { server, ws, raw };
}

/** The bytes of a raw client after the handshake, in hex, once there are that many. */
export async function frames(raw, bytes) {
  const body = (text) => text.slice(text.indexOf('\r\n\r\n') + 4);
  const text = await raw.until((all) => body(all).length >= bytes);
  return Buffer.from(body(text), 'latin1').toString('hex');
}

/** A client's frame: masked with zeros, so that the payload can be read in the test. */
export function frame(opcode, payload = '', fin = true) {
  const bytes = Buffer.from(payload);
  return Buffer.concat([Buffer.from([(fin ? 0x80 : 0) | opcode, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]);
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
