// What metrics cost: CPU time of a server with 10,000 idle connections,
// without and with a scrape each second.
//
//   node benchmark/scrape.mjs [--connections 10000] [--seconds 10]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { raiseFileLimit } from './server-process.mjs';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
/** Connections that are opened at once. */
const GROUP = 200;

const { values } = parseArgs({ options: { connections: { type: 'string', default: '10000' }, seconds: { type: 'string', default: '10' }, serve: { type: 'boolean' } } });

if (values.serve) await serve();
else await measure(Number(values.connections), Number(values.seconds));

/**
 * Answers with the metrics at /metrics, and anywhere else with the
 * CPU time of the process in seconds.
 */
async function serve() {
  const { WebSocketServer } = await import('../lib/index.mjs');
  const { default: { contentType, prometheus } } = await import('../lib/metrics/prometheus.js');
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(wss, 'listening');
  const server = http.createServer(({ url }, response) => {
    const { user, system } = process.cpuUsage();
    response.writeHead(200, { 'Content-Type': contentType });
    response.end(url === '/metrics' ? prometheus(wss) : String((user + system) / 1e6));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send({ port: wss.address().port, metrics: server.address().port });
}

/**
 * @param {number} count How many connections
 * @param {number} seconds How long each measurement takes
 */
async function measure(count, seconds) {
  raiseFileLimit(count + 1000);
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--serve'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    const [{ port, metrics }] = await once(child, 'message');
    for (let open = 0; open < count; open += GROUP) await Promise.all(Array.from({ length: Math.min(GROUP, count - open) }, () => connect(port)));
    const cpu = async () => Number(await get(metrics, '/'));
    await sleep(2000);
    for (const path of ['/', '/metrics', '/', '/metrics']) {
      const before = await cpu();
      for (let second = 0; second < seconds; second++) {
        const text = await get(metrics, path);
        if (path === '/metrics' && !text.includes(`\nreactor_ws_connections ${count}\n`)) throw new Error('not all connections are open');
        await sleep(1000);
      }
      const percent = (100 * ((await cpu()) - before)) / seconds;
      console.log(`${count} connections, ${path === '/' ? 'without scrapes' : 'a scrape each second'}: ${percent.toFixed(2)} % of a CPU`);
    }
  } finally {
    child.kill();
  }
  process.exit();
}

/** @param {number} port Where the server listens */
async function connect(port) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(REQUEST);
  await once(socket, 'data');
}

/**
 * @param {number} port Where the HTTP server listens
 * @param {string} path What is asked for
 * @returns {Promise<string>} The body of the answer
 */
async function get(port, path) {
  const [response] = await once(http.get({ port, path, host: '127.0.0.1' }), 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}
