// Connections over TLS with few bytes that inflate to many, and one that waits for answers.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import tls from 'node:tls';
import zlib from 'node:zlib';

import { cert } from './certificate.mjs';
import { upgradeRequest } from './raw-client.mjs';
import { withoutProcessor } from './stalls.mjs';

const WebSocket = createRequire(import.meta.url)('ws');
const DEFLATE = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_no_context_takeover; server_no_context_takeover' };

/** A client's frame whose message inflates to that many bytes, the first of which is `first`. */
export function bomb(bytes, first = 0) {
  const message = Buffer.alloc(bytes);
  message[0] = first;
  const flushed = zlib.deflateRawSync(message, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  const packed = flushed.subarray(0, -4);
  const head = packed.length < 126 ? [0xc2, 0x80 | packed.length] : [0xc2, 0xfe, packed.length >> 8, packed.length & 255];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), packed]);
}

/** A connection that has shaken hands, for bytes as they are. */
async function connectRaw(t, port) {
  const socket = tls.connect({ port, host: '127.0.0.1', ca: cert, servername: 'localhost' });
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(upgradeRequest(DEFLATE));
  await once(socket, 'data');
  socket.resume();
  return socket;
}

/**
 * That many connections, which together send `rate` bytes per second of such frames, as far as they
 * are read. Returns a function that ends them.
 */
export async function attack(t, port, connections, rate, frame) {
  const sockets = [];
  for (let at = 0; at < connections; at += 50) {
    const some = Array.from({ length: Math.min(50, connections - at) }, () => connectRaw(t, port));
    sockets.push(...(await Promise.all(some)));
  }
  const began = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - began) / 1000) * rate;
    for (; sent < due; sent += frame.length) {
      const socket = sockets[Math.floor(sent / frame.length) % connections];
      if (!socket.writableNeedDrain) socket.write(frame);
    }
  }, 5);
  const stop = () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(stop);
  return stop;
}

/** A slow machine takes all of a short time for the first one: each newcomer has one share before it is known as greedy. */
const LEAST_ANSWERS = 20;

/**
 * The milliseconds that each answer to a short message takes, measured for the given time. Those in
 * which the client or the server, process `pid`, had no processor are left out, whichever are more:
 * they may be the same ones.
 */
export async function waitsOf(t, port, milliseconds, pid) {
  const text = 'x'.repeat(60);
  const look = () => ({ at: performance.now(), lost: [process.pid, pid].map(withoutProcessor) });
  const ws = new WebSocket(`wss://127.0.0.1:${port}`, { ca: cert, servername: 'localhost', perMessageDeflate: { threshold: 0 } });
  t.teardown(() => ws.terminate());
  await once(ws, 'open');
  const waits = [];
  const end = performance.now() + milliseconds;
  while (performance.now() < end || waits.length < LEAST_ANSWERS) {
    const before = look();
    const answered = once(ws, 'message');
    ws.send(text);
    await answered;
    const after = look();
    const lost = Math.max(...after.lost.map((all, index) => all - before.lost[index]));
    waits.push(Math.max(after.at - before.at - lost, 0));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  ws.terminate();
  waits.sort((a, b) => a - b);
  return { count: waits.length, median: waits[waits.length >> 1], most: waits.at(-1) };
}
