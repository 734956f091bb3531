// Connections that are given away, in every state at once: requests in pieces and pipelines, uploads, downloads, upgrades, and ends
// of both sides at any moment. Every answer is right, nothing is left, and no descriptor is lost.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';

import test from 'ava';

import { frame } from '../helpers/clients.mjs';
import { WAYS, httpServer, startGiven } from '../helpers/handoff.mjs';
import { randomNumbers } from '../helpers/random.mjs';
import { upgradeRequest } from '../helpers/raw-client.mjs';

const table = createRequire(import.meta.url)('../../lib/reactor/table.js');

const onLinux = process.platform === 'linux' ? test.serial : test.skip;
const descriptors = () => readdirSync('/proc/self/fd').length;

const COUNT = 1200;
const AT_ONCE = 100;
const HOST = 'Host: a\r\n';

/** Answers as the path says; some answers come late, some never. */
async function answer(request, response) {
  const { socket } = request;
  request.on('error', () => {});
  response.on('error', () => {});
  const [, kind, size = '0'] = request.url.split('/');
  if (kind === 'late') await new Promise(setImmediate);
  if (kind === 'destroy') return void socket.destroy();
  if (kind === 'reset') return void socket.resetAndDestroy();
  if (kind === 'half') return void response.write('half');
  if (kind === 'body') {
    const chunks = await request.toArray().catch(() => []);
    return void response.end(`<${Buffer.concat(chunks).length}>`);
  }
  if (kind === 'close') response.setHeader('Connection', 'close');
  response.end(`<${'x'.repeat(Number(size))}>`);
}

/** The steps of one client, and the answers that it must get if it stays to the end. */
function conversation(next) {
  const pick = (...all) => all[next(all.length)];
  const parts = [];
  const expected = [];
  for (let count = next(4); count > 0; count--) {
    const size = pick(0, 10, 5000, 100_000, 700_000);
    if (pick(true, false)) {
      parts.push(`POST /body HTTP/1.1\r\n${HOST}Content-Length: ${size}\r\n\r\n`, Buffer.alloc(size, 'y'));
      expected.push(`<${size}>`);
    } else {
      parts.push(`GET /${pick('now', 'late')}/${size} HTTP/1.1\r\n${HOST}\r\n`);
      expected.push(`<${'x'.repeat(size)}>`);
    }
  }
  const last = pick('close', 'close', 'destroy', 'reset', 'half', 'upgrade', 'upgrade', 'leave', 'nothing');
  const isSure = last === 'close' || (last === 'upgrade' && expected.length === 0);
  if (last === 'upgrade') parts.push(upgradeRequest(), frame(1, 'hello'), frame(8, Buffer.from([3, 0xe8])));
  else if (last !== 'leave' && last !== 'nothing') parts.push(`GET /${last}/7 HTTP/1.1\r\n${HOST}\r\n`);
  if (last === 'close') expected.push('<xxxxxxx>');
  return { bytes: Buffer.concat(parts.map((part) => Buffer.from(part))), expected, isSure, last };
}

async function run(port, next) {
  const { bytes, expected, isSure, last } = conversation(next);
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  const closed = once(socket, 'close').catch(() => {});
  for (let at = 0; at < bytes.length; ) {
    const length = next(5) === 0 ? 1 + next(50) : 1 + next(200_000);
    socket.write(bytes.subarray(at, at + length));
    at += length;
    if (next(3) === 0) await new Promise(setImmediate);
    if (!isSure && next(10) === 0) break;
  }
  if (last === 'leave' || last === 'half' || (!isSure && next(2) === 0)) {
    if (next(2) === 0) socket.end();
    else socket.resetAndDestroy();
  } else if (!isSure) {
    setImmediate(() => socket.destroy());
  }
  await closed;
  const text = Buffer.concat(chunks).toString('latin1');
  return { expected, isSure, last, text };
}

for (const way of Object.keys(WAYS)) {
  onLinux(`${way}: ${COUNT} conversations that end anyhow`, async (t) => {
    const { http: server, port, wss } = await startGiven(t, way, answer, { http: httpServer(t, answer) });
    wss.on('connection', (ws) => {
      ws.on('error', () => {});
      ws.on('message', (data) => ws.send(`echo ${data}`));
    });
    const get = async () => {
      const response = await new Promise((resolve) => http.get({ host: '127.0.0.1', port, path: '/now/3', agent: false }, resolve));
      return Buffer.concat(await response.toArray()).toString();
    };
    // The reactor opens a descriptor of its own beside the first listener.
    await get();
    while (server.sockets.size !== 0) await new Promise(setImmediate);
    const before = descriptors();
    const next = randomNumbers(7);
    let sure = 0;
    for (let done = 0; done < COUNT; done += AT_ONCE) {
      const all = await Promise.all(Array.from({ length: AT_ONCE }, () => run(port, next)));
      for (const { expected, isSure, last, text } of all) {
        if (!isSure) continue;
        sure++;
        const bodies = last === 'upgrade' ? text.slice(text.indexOf('\r\n\r\n') + 4) : text;
        if (last === 'upgrade') {
          t.true(bodies.startsWith('\x81\x0aecho hello\x88\x02'), JSON.stringify(text));
          continue;
        }
        t.deepEqual(text.match(/<x*\d*>/g), expected);
      }
    }
    t.true(sure > COUNT / 6, `${sure}`);
    // All is over on both sides, without a wait for a timeout.
    server.closeAllConnections();
    while (server.sockets.size !== 0 || wss.clients.size !== 0) await new Promise(setImmediate);
    while (table.connections().length !== 0) await new Promise(setImmediate);
    while (descriptors() > before) await new Promise(setImmediate);
    // It goes on.
    t.is(await get(), '<xxx>');
  });
}
