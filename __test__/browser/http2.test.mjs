// A page over HTTP/2 whose WebSockets come over the same connection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import test from 'node:test';

import { WebSocketServer } from '../../lib/index.mjs';
import { cert, key } from '../helpers/certificate.mjs';
import { launch, openPage } from './helpers/page.mjs';

/** A page and an echo on one port. */
async function start(t) {
  const server = http2.createSecureServer({ cert, key, allowHTTP1: true }, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>test</title>');
  });
  const sessions = new Set();
  server.on('session', (session) => sessions.add(session));
  const wss = new WebSocketServer({
    server,
    perMessageDeflate: { threshold: 0 },
    handleProtocols: (protocols) => [...protocols].at(-1),
    verifyClient: ({ req }) => req.url !== '/no',
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  const seen = [];
  wss.on('connection', (ws, request) => {
    seen.push({ version: request.httpVersion, host: request.headers.host, origin: request.headers.origin, session: request.socket.session });
    ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
  });
  return { wss, seen, sessions, url: `https://localhost:${server.address().port}/` };
}

/** Runs in the page: echoes of all kinds on some WebSockets at once, a refusal, and how each has ended. */
async function exercise(url) {
  const open = (path, protocols) => window.openSocket(url.replace('https', 'wss') + path, protocols);
  const sockets = await Promise.all([1, 2, 3, 4, 5].map((number) => open(`${number}`, ['first', 'last'])));
  const [first] = sockets;
  const noise = new Uint8Array(1 << 20);
  for (let at = 0; at < noise.length; at += 4096) crypto.getRandomValues(noise.subarray(at, at + 4096));
  const messages = ['', 'grüße', 'x'.repeat(1 << 20), ...Array.from({ length: 1000 }, (_, n) => `message ${n}`)];
  const whole = (await Promise.all(sockets.map((socket) => window.echoes(socket, messages)))).flat().every(Boolean);
  const [isSame] = await window.echoes(first, [noise]);
  sockets.forEach((socket, n) => socket.close(3000 + n, 'done'));
  const ends = await Promise.all(sockets.map((socket) => socket.closed));
  const refused = await (await open('no')).closed;
  return { whole, isSame, ends, refused, protocol: first.protocol, extensions: first.extensions.split(';')[0] };
}

async function check(page, { seen, url, wss }) {
  const codes = [];
  wss.on('connection', (ws) => ws.on('close', (code, reason) => codes.push(`${code} ${reason}`)));
  const result = await page.evaluate(exercise, url);
  assert.deepEqual(result, {
    whole: true,
    isSame: true,
    ends: [0, 1, 2, 3, 4].map((n) => ({ code: 3000 + n, reason: 'done', wasClean: true, failed: false })),
    refused: { code: 1006, reason: '', wasClean: false, failed: true },
    protocol: 'last',
    extensions: 'permessage-deflate',
  });
  assert.deepEqual(codes.sort(), [0, 1, 2, 3, 4].map((n) => `${3000 + n} done`));
  const { host, origin } = new URL(url);
  for (const one of seen) assert.deepEqual([one.version, one.host, one.origin], ['2.0', host, origin]);
  assert.equal(seen.length, 5);
  assert.equal(new Set(seen.map(({ session }) => session)).size, 1);
}

test('browser: Chromium opens its WebSockets over the HTTP/2 connection of the page', async (t) => {
  const server = await start(t);
  const browser = await launch(t);
  const page = await openPage(t, browser, server.url);
  await check(page, server);
  const connected = once(server.wss, 'connection');
  await page.evaluate((url) => void (window.kept = new WebSocket(url.replace('https', 'wss'))), server.url);
  const closed = once((await connected)[0], 'close');
  await page.goto('about:blank');
  // Chromium resets the stream of a page that goes away, without the close frame that it sends over HTTP/1.1.
  assert.ok([1001, 1006].includes((await closed)[0]));
});
