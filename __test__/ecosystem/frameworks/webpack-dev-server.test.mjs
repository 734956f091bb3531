// webpack-dev-server 6 accepts a class as `webSocketServer`. Without one it is webpack-dev-middleware 8 that requires
// 'ws': it gets reactor-ws by an override.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

import { WebSocketServer } from 'reactor-ws';
import webpack from 'webpack';
import WebpackDevServer from 'webpack-dev-server';
import BaseServer from 'webpack-dev-server/lib/servers/BaseServer.js';

import { RealWebSocket, assertOnReactor } from '../helpers/on-reactor.mjs';

class OwnServer extends BaseServer {
  constructor(server) {
    super(server);
    this.implementation = new WebSocketServer({ server: server.server, path: '/ws', clientTracking: false });
    this.implementation.on('connection', (client) => {
      this.clients.push(client);
      client.on('close', () => this.clients.splice(this.clients.indexOf(client), 1));
    });
  }
}

for (const [name, webSocketServer] of Object.entries({ 'with the override': 'ws', 'with a class of its own': { type: OwnServer } })) {
  test(`webpack-dev-server 6: a change is told to the page, ${name}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const entry = join(folder, 'entry.js');
    writeFileSync(entry, '');
    const settings = { mode: 'development', context: folder, entry, output: { path: folder }, stats: 'none', infrastructureLogging: { level: 'none' } };
    const compiler = webpack(settings);
    const server = new WebpackDevServer({ host: '127.0.0.1', port: 0, hot: false, static: false, webSocketServer }, compiler);
    await server.start();
    t.after(() => server.stop());
    const origin = `127.0.0.1:${server.server.address().port}`;
    assert.equal((await fetch(`http://${origin}/main.js`)).status, 200);
    const page = new RealWebSocket(`ws://${origin}/ws`, { origin: `http://${origin}` });
    t.after(() => page.terminate());
    const heard = [];
    page.on('message', (data) => heard.push(JSON.parse(data)));
    await once(page, 'open');
    const until = async (isTrue) => {
      while (!heard.some(isTrue)) await once(page, 'message');
    };
    const isHash = ({ type, hash, data }) => type === 'hash' || hash !== undefined || /^[0-9a-f]{20}$/.test(data);
    await until(isHash);
    await assertOnReactor(1);
    const before = heard.splice(0).length;
    assert.ok(before > 0);
    writeFileSync(entry, 'document.title = "changed";');
    await until(isHash);
  });
}
