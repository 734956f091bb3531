// Connections over TLS with few bytes that inflate to many, and one that waits for answers.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import tls from 'node:tls';
import zlib from 'node:zlib';

import { cert } from './certificate.mjs';
import { upgradeRequest } from './raw-client.mjs';

const WebSocket = createRequire(import.meta.url)('ws');
const DEFLATE = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_no_context_takeover; server_no_context_takeover' };

/** A client's frame; its message inflates to `bytes`. */
export function bomb(bytes) {
  const flushed = zlib.deflateRawSync(Buffer.alloc(bytes), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
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

/** How many long messages the server inflates before it answers each of some short ones, from the least to the most. */
export async function inflatedBefore(t, port, answers) {
  const ws = new WebSocket(`wss://127.0.0.1:${port}`, { ca: cert, servername: 'localhost', perMessageDeflate: { threshold: 0 } });
  t.teardown(() => ws.terminate());
  await once(ws, 'open');
  const ask = async () => {
    const answered = once(ws, 'message');
    ws.send('x'.repeat(60));
    return Number((await answered)[0]);
  };
  const counts = [];
  for (let before = await ask(); counts.length < answers; ) {
    // Counts the ones that are inflated meanwhile, not only between two questions.
    const now = await ask();
    counts.push(now - before);
    before = now;
  }
  ws.terminate();
  return counts.sort((a, b) => a - b);
}
