// Limits and hooks of the HTTP server itself, on the first and on a later request of a connection, beside a server that listens.
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import test from 'ava';

import { WAYS, httpServer, lasting, listenGiven, startGiven } from '../helpers/handoff.mjs';
import { WebSocketServer } from '../helpers/impl.mjs';

const HOST = 'Host: a\r\n';
const GET = `GET /x HTTP/1.1\r\n${HOST}\r\n`;
const UPGRADE = `GET /no HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`;
const CHECKS = { connectionsCheckingInterval: 50 };

class Request extends http.IncomingMessage {}
class Response extends http.ServerResponse {}

const set = (fields) => (server) => Object.assign(server, fields);
const answerRaw = (event) => (server, note) => server.on(event, (first, socket) => {
  note(event, first.code, first.url);
  socket.end('HTTP/1.1 499 x\r\n\r\n');
});
const answer = (event) => (server, note) => server.on(event, (request, response) => {
  note(event);
  request.resume();
  response.end(event);
});

/** Options, what is done with the server, and what a client sends: bytes, an end, or nothing for some milliseconds. */
const CASES = {
  'maxHeaderSize, exceeded': [{ maxHeaderSize: 500 }, null, [`GET / HTTP/1.1\r\n${HOST}X: ${'y'.repeat(600)}\r\n\r\n`]],
  'maxHeaderSize, more than ours': [{ maxHeaderSize: 40_000 }, null, [`GET / HTTP/1.1\r\n${HOST}X: ${'y'.repeat(30_000)}\r\n\r\n`]],
  maxHeadersCount: [{}, set({ maxHeadersCount: 3 }), [`GET / HTTP/1.1\r\n${HOST}A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\n\r\n`]],
  headersTimeout: [{ headersTimeout: 200, requestTimeout: 1000, ...CHECKS }, null, ['GET / HTTP/1.1\r\nHo', 600]],
  requestTimeout: [{ headersTimeout: 200, requestTimeout: 300, ...CHECKS }, null, [`POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nab`, 800]],
  keepAliveTimeout: [{ keepAliveTimeout: 50 }, null, [GET, 1600]],
  timeout: [{}, set({ timeout: 150 }), [`GET /hang HTTP/1.1\r\n${HOST}\r\n`, 500]],
  maxRequestsPerSocket: [{}, set({ maxRequestsPerSocket: 2 }), [GET, 100, GET]],
  dropRequest: [{}, (server, note) => set({ maxRequestsPerSocket: 1 })(server).on('dropRequest', ({ url }) => note('dropped', url)), [GET + GET]],
  insecureHTTPParser: [{ insecureHTTPParser: true }, null, [`GET / HTTP/1.1\r\n${HOST}X: a\u0001b\r\n\r\n`]],
  requireHostHeader: [{ requireHostHeader: false }, null, ['GET / HTTP/1.1\r\n\r\n']],
  joinDuplicateHeaders: [{ joinDuplicateHeaders: true }, null, [`GET / HTTP/1.1\r\n${HOST}Authorization: a\r\nAuthorization: b\r\n\r\n`]],
  checkContinue: [{}, answer('checkContinue'), [`POST / HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab`]],
  checkExpectation: [{}, answer('checkExpectation'), [`GET / HTTP/1.1\r\n${HOST}Expect: tea\r\n\r\n`]],
  clientError: [{}, answerRaw('clientError'), ['BAD\x01 / HTTP/1.1\r\n\r\n']],
  'classes of requests and responses': [{ IncomingMessage: Request, ServerResponse: Response }, null, [GET]],
  'CONNECT, taken': [{}, answerRaw('connect'), [`CONNECT a:1 HTTP/1.1\r\n${HOST}\r\nabc`]],
  'CONNECT, not taken': [{}, null, [`CONNECT a:1 HTTP/1.1\r\n${HOST}\r\nabc`]],
  'an upgrade, taken': [{}, answerRaw('upgrade'), [UPGRADE]],
  'an upgrade, not taken': [{}, null, [UPGRADE]],
  'shouldUpgradeCallback, where it exists': [{ shouldUpgradeCallback: ({ url }) => url !== '/no' }, answerRaw('upgrade'), [UPGRADE]],
  highWaterMark: [{ highWaterMark: 4096 }, null, [GET]],
  'a client that ends its side': [{}, null, [`GET /later HTTP/1.1\r\n${HOST}\r\n`, null, 300]],
  'httpAllowHalfOpen, a client that ends its side': [{}, set({ httpAllowHalfOpen: true }), [`GET /later HTTP/1.1\r\n${HOST}\r\n`, null, 300]],
};

/** The server's limit until the first head is documented to be handshakeTimeout. */
const OURS = ['headersTimeout, http, first', 'headersTimeout, attached, first'];

function onRequest(note, request, response) {
  const { headers, socket, url } = request;
  note(url, request instanceof Request, response instanceof Response, Object.keys(headers).length, headers.authorization, socket.readableHighWaterMark);
  request.on('aborted', () => note('aborted')).on('error', ({ code }) => note(code)).on('close', () => note('closed'));
  request.resume();
  if (url === '/later') setTimeout(() => response.end('later'), 100);
  else if (url !== '/hang') response.end('ok');
}

async function run(t, [options, prepare, steps], isLater, start) {
  const notes = [];
  const note = (...all) => notes.push(all.join(' '));
  const server = httpServer(t, (...all) => onRequest(note, ...all), options);
  prepare?.(server, note);
  const socket = net.connect({ port: await start(server), host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1'))).on('error', () => {});
  if (isLater) {
    socket.write(`GET /first HTTP/1.1\r\n${HOST}\r\n`);
    while (!text.endsWith('ok') && !socket.destroyed) await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  }
  for (const step of steps) {
    if (typeof step === 'number') await sleep(step);
    else if (step === null) socket.end();
    else if (!socket.destroyed) socket.write(Buffer.from(step, 'latin1'));
  }
  await sleep(300);
  return { text: lasting(text), hasEnded: socket.readableEnded, notes };
}

async function plain(server, attached) {
  if (attached) new WebSocketServer({ server, path: '/ws' });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

for (const way of Object.keys(WAYS)) {
  for (const [by, start] of Object.entries({
    http: async (t, server) => (await startGiven(t, way, null, { http: server, path: '/ws' })).port,
    attached: async (t, server) => {
      new WebSocketServer({ server, path: '/ws' });
      return (await listenGiven(t, way, server)).port;
    },
    listen: async (t, server) => (await listenGiven(t, way, server)).port,
  })) {
    test.serial(`${way}, ${by}: limits and hooks of the HTTP server`, async (t) => {
      await Promise.all(Object.entries(CASES).flatMap(([name, row]) => ['first', 'later'].map(async (when) => {
        const title = `${name}, ${by}, ${when}`;
        if (OURS.includes(title)) return;
        let expected, actual;
        // On a busy machine a timeout of either server may be late, or come before the client has sent all.
        for (let attempt = 0; attempt < 5 && (attempt === 0 || !isDeepStrictEqual(actual, expected)); attempt++) {
          expected = await run(t, row, when === 'later', (server) => plain(server, by === 'attached'));
          actual = await run(t, row, when === 'later', (server) => start(t, server));
        }
        t.deepEqual(actual, expected, title);
      })));
    });
  }
}
