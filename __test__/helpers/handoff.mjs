// HTTP servers of Node behind a port of reactors, in both ways: with the sockets themselves, and
// relayed.
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';

import { listen, startServer } from './impl.mjs';
import { RawClient } from './raw-client.mjs';

const { handoff } = createRequire(import.meta.url)('../../lib/base/descriptors.js');

/** By name: whether the HTTP server gets sockets. */
export const WAYS = { socket: true, relay: false };

/** Makes `make` choose the way: it must listen at once. */
export function by(way, make) {
  const before = handoff.asSockets;
  handoff.asSockets = WAYS[way];
  try {
    return make();
  } finally {
    handoff.asSockets = before;
  }
}

/**
 * An http.Server that never listens; the end of the test closes its connections. `sockets`: those with a request. (A listener
 * of 'connection' would make JavaScript answer upgrades.)
 */
export function httpServer(t, onRequest = home, options = {}) {
  const sockets = new Set();
  const server = http.createServer(options, (request, response) => {
    const { socket } = request;
    if (!sockets.has(socket)) sockets.add(socket.on('close', () => sockets.delete(socket)));
    return onRequest(request, response);
  });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
  });
  return Object.assign(server, { sockets });
}

export function home(request, response) {
  response.end(`${request.method} ${request.url}`);
}

/** A WebSocketServer that gives connections to an HTTP server. */
export async function startGiven(t, way, onRequest, { http: server = httpServer(t, onRequest), ...options } = {}) {
  const wss = await by(way, () => startServer(t, { http: server, ...options }));
  return { http: server, port: wss.address().port, wss };
}

/** A port whose connections all go to an HTTP server. */
export async function listenGiven(t, way, server, options = {}) {
  const listener = by(way, () => listen(server, { port: 0, host: '127.0.0.1', ...options }));
  t.teardown(() => listener.close());
  await once(listener, 'listening');
  return { listener, port: listener.address().port };
}

/** What a server answers to bytes, up to the end of the connection, or to as many bytes as `enough` wants. */
export async function talk(t, port, pieces, isEnough = () => false) {
  const raw = await RawClient.connect(t, port);
  for (const piece of [pieces].flat()) await raw.send(piece);
  return raw.untilClosedOr(isEnough);
}

/** An answer of Node without what changes from one to the next. */
export function lasting(text) {
  return text.replaceAll(/Date: [^\r]*\r\n/g, '');
}
