// The server of the soak, a child of run.mjs: connections on a port, on one with TLS, behind an HTTP
// server and behind one with TLS. It reports each connection that has ended, and samples of its resources.
import http from 'node:http';
import https from 'node:https';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';

import { cert, key } from '../helpers/certificate.mjs';
import { BURST, DOWN, PATIENCE_MS, UP, answersTo, burstOf, messageOf, partsOf, throws } from './messages.mjs';

const { WebSocketServer } = createRequire(import.meta.url)('../../lib/index.js');
const SAMPLE_MS = 2000;

const totals = { opened: 0, callbacks: 0, called: 0, thrown: 0, caught: 0 };
const ended = [];

process.on('uncaughtException', (error) => {
  if (error.message === 'as planned') totals.caught++;
  else process.send({ fault: `uncaught: ${error.stack}` });
});
process.on('unhandledRejection', (error) => process.send({ fault: `rejected: ${error?.stack}` }));

const options = {
  perMessageDeflate: { threshold: 512 },
  // A busy machine must not end a connection by either of these timeouts.
  closeTimeout: PATIENCE_MS,
  handshakeTimeout: PATIENCE_MS,
};
const servers = { server: http.createServer(), secure: https.createServer({ cert, key }) };
const here = { port: 0, host: '127.0.0.1' };
const ways = { port: new WebSocketServer({ ...options, ...here }), tls: new WebSocketServer({ ...options, ...here, tls: { cert, key } }) };
await Promise.all(Object.values(ways).map((wss) => once(wss, 'listening')));
for (const [name, server] of Object.entries(servers)) {
  ways[name] = new WebSocketServer({ ...options, server });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

for (const wss of Object.values(ways)) wss.on('connection', serve);

function serve(ws, { url, socket }) {
  totals.opened++;
  const id = Number(url.slice(1));
  const report = { id, up: 0, upBytes: 0, down: 0, downBytes: 0, faults: [], errors: [] };
  ws.on('message', (data, isBinary) => {
    if (!isBinary && data[0] === 0x21) return command(ws, report, data.toString());
    const n = report.up++;
    report.upBytes += data.length;
    const wanted = messageOf(id, UP, n);
    if (wanted.isText === isBinary || !wanted.data.equals(data)) report.faults.push(`message ${n} is another one`);
    for (let i = 0; i < answersTo(id, n); i++) answer(ws, report, messageOf(id, DOWN, report.down));
    if (!throws(id, n)) return;
    totals.thrown++;
    throw new Error('as planned');
  });
  ws.on('error', ({ code }) => report.errors.push(code));
  ws.on('close', (code) => {
    if (ended.includes(report)) report.faults.push('closed twice');
    ended.push(Object.assign(report, { code, read: socket.bytesRead, written: socket.bytesWritten }));
  });
}

function answer(ws, report, message) {
  if (ws.readyState !== 1) return;
  const n = report.down++;
  report.downBytes += message.data.length;
  for (const [data, fin] of partsOf(message, report.id, n)) {
    const isCounted = n % 8 === 0 && fin;
    if (isCounted) totals.callbacks++;
    ws.send(data, { binary: !message.isText, fin }, isCounted ? () => totals.called++ : undefined);
  }
}

function command(ws, report, text) {
  if (text === '!burst') {
    for (let i = 0; i < BURST.messages; i++) answer(ws, report, burstOf(report.id, report.down));
  } else if (text === '!close') ws.close(4000);
  else if (text === '!terminate') ws.terminate();
  else if (text === '!bye') ws.send('!fin');
  else report.faults.push(`asks for ${text.slice(0, 20)}`);
}

/** The resources of the process, and the connections that have ended since. */
function sample(isAsked = false) {
  const { rss, heapUsed, external } = process.memoryUsage();
  const metrics = Object.values(ways).map((wss) => wss.metrics());
  const { undelivered } = metrics[0].reactors;
  process.send({
    sample: {
      isAsked,
      rss,
      heapUsed,
      external,
      undelivered,
      handles: process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0,
      resources: process.getActiveResourcesInfo().filter((name) => !/Immediate|PipeWrap/.test(name)).sort().join(),
      open: metrics.reduce((sum, { connections }) => sum + connections.open, 0),
      waiting: metrics.reduce((sum, { bytesWaiting }) => sum + bytesWaiting, 0),
      ...totals,
    },
    ended: ended.splice(0),
  });
}

const sampling = setInterval(() => sample(), SAMPLE_MS);
process.on('message', (message) => {
  if (message === 'sample') {
    globalThis.gc();
    sample(true);
  } else {
    // Nothing may keep the process alive from here on.
    clearInterval(sampling);
    for (const wss of Object.values(ways)) wss.close();
    for (const server of Object.values(servers)) server.close();
    process.disconnect();
  }
});
const portOf = (name) => (ways[name].address() ?? servers[name].address()).port;
process.send({ ports: Object.fromEntries(Object.keys(ways).map((name) => [name, portOf(name)])) });
