// Gateways that speak HTTP/2 to the server, and HTTP/1.1 or HTTP/2 to clients: HAProxy and nghttpx, where they are installed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import test from 'ava';

import { wsClient } from '../helpers/clients.mjs';
import { connect, open, start } from '../helpers/http2.mjs';
import { isReference } from '../helpers/impl.mjs';
import { payloads } from '../helpers/payloads.mjs';

const SIZES = [0, 1, 125, 126, 65_535, 65_536, 1 << 20];

/** Command lines that listen on sockets of a folder, by name: `[program, ...arguments]`. */
const GATEWAYS = {
  haproxy(folder, port) {
    const lines = [
      'defaults',
      '  mode http',
      '  timeout connect 10s',
      '  timeout client 1m',
      '  timeout server 1m',
      'frontend clients',
      `  bind unix@${folder}/h1`,
      `  bind unix@${folder}/h2 proto h2`,
      '  default_backend servers',
      'backend servers',
      `  server one 127.0.0.1:${port} proto h2`,
    ];
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, `${lines.join('\n')}\n`);
    return ['haproxy', '-db', '-f', file];
  },
  nghttpx: (folder, port) => [
    'nghttpx',
    '--conf=/dev/null',
    '--workers=1',
    `--frontend=unix:${folder}/h1;no-tls`,
    `--frontend=unix:${folder}/h2;no-tls`,
    `--backend=127.0.0.1,${port};;proto=h2`,
  ],
};

const isInstalled = (program) => spawnSync(program, ['-v']).status === 0;

/** A gateway in front of a server, once it takes connections. */
async function startGateway(t, name, port) {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-gateway-'));
  const [program, ...args] = GATEWAYS[name](folder, port);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk));
  let hasEnded = false;
  child.on('exit', () => {
    hasEnded = true;
  });
  t.teardown(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  const [h1, h2] = [join(folder, 'h1'), join(folder, 'h2')];
  for (const path of [h1, h2]) {
    while (!(await takes(path))) {
      if (hasEnded) throw new Error(printed);
      await delay(20);
    }
  }
  return { h1, h2 };
}

function takes(path) {
  return new Promise((resolve) => {
    const socket = net.connect(path, () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

/** Functions that open a client, by the version that it speaks. */
const CLIENTS = {
  async 'HTTP/1.1'(t, server, { h1 }, path) {
    const client = new wsClient(`ws+unix:${h1}:${path}`, ['a', 'b']);
    t.teardown(() => client.terminate());
    await once(client, 'open');
    return client;
  },
  async 'HTTP/2'(t, server, { h2 }, path) {
    const session = await connect(t, server, { createConnection: () => net.connect(h2) });
    t.true(session.remoteSettings.enableConnectProtocol);
    return open(session, { path, protocols: 'a, b', extensions: 'permessage-deflate; client_max_window_bits' });
  },
};

for (const name of Object.keys(GATEWAYS)) {
  for (const [version, openClient] of Object.entries(CLIENTS)) {
    const skipped = isReference || !isInstalled(name);
    (skipped ? test.skip : test.serial)(`${name}, clients of ${version}`, async (t) => {
      const options = { perMessageDeflate: { threshold: 0 }, handleProtocols: (protocols) => [...protocols].at(-1) };
      const { server, wss } = await start(t, { ...options, verifyClient: ({ req }) => req.url !== '/no' });
      const seen = [];
      wss.on('connection', (ws, request) => {
        seen.push([request.httpVersion, request.method, request.url]);
        ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
      });
      const gateway = await startGateway(t, name, server.address().port);
      const client = await openClient(t, server, gateway, '/path?query');
      t.deepEqual(seen, [['2.0', 'GET', '/path?query']]);
      t.is(client.protocol, 'b');
      t.is(client.extensions, 'permessage-deflate');
      for (const payload of payloads(SIZES)) {
        client.send(payload);
        const [data, isBinary] = await once(client, 'message');
        t.is(isBinary, typeof payload !== 'string');
        t.true(Buffer.from(payload).equals(data), `${payload.length} bytes`);
      }
      const [ws] = wss.clients;
      const [closed, left] = [once(client, 'close'), once(ws, 'close')];
      client.close(3000, 'done');
      t.is((await closed)[0], 3000);
      t.deepEqual((await left).map(String), ['3000', 'done']);
      await t.throwsAsync(openClient(t, server, gateway, '/no'), { message: /401|refused/ });
      const dropped = await openClient(t, server, gateway, '/');
      const [last] = wss.clients;
      dropped.terminate();
      t.is((await once(last, 'close'))[0], 1006);
    });
  }
}
