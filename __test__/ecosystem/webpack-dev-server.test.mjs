// webpack-dev-server requires 'ws' itself, or takes a class as `webSocketServer`.
import assert from 'node:assert/strict';
import EventEmitter, { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import vm from 'node:vm';

import { WebSocketServer } from 'reactor-ws';
import webpack from 'webpack';
import WebpackDevServer from 'webpack-dev-server';

import { RealWebSocket, assertOnReactor, assertOurs } from './helpers/on-reactor.mjs';

const BaseServer = createRequire(import.meta.url)('webpack-dev-server/lib/servers/BaseServer');

/** A server as the documentation of webpack-dev-server describes it. */
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

async function start(t, webSocketServer) {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const entry = join(folder, 'entry.js');
  writeFileSync(entry, '');
  const compiler = webpack({
    mode: 'development',
    context: folder,
    entry,
    infrastructureLogging: { level: 'none' },
    output: { path: folder },
    stats: 'none',
  });
  const client = { logging: 'none', overlay: false, reconnect: false };
  const options = { client, host: '127.0.0.1', hot: false, port: 0, static: false, webSocketServer };
  const server = new WebpackDevServer(options, compiler);
  await server.start();
  t.after(() => server.stop());
  assertOurs(server.webSocketServer.implementation);
  return { entry, server };
}

/**
 * Loads the bundle, with the client of webpack-dev-server in it, into as
 * much of a page as the client needs.
 *
 * @returns {Promise<EventEmitter>} 'socket' when it connects, 'reload' when it reloads the page
 */
async function openPage(t, server) {
  const { port } = server.server.address();
  const response = await fetch(`http://127.0.0.1:${port}/main.js`);
  const page = new EventEmitter();
  const href = `http://127.0.0.1:${port}/`;
  const place = { href, protocol: 'http:', hostname: '127.0.0.1', port: `${port}`, search: '' };
  const location = { ...place, reload: () => page.emit('reload') };
  class PageWebSocket extends RealWebSocket {
    constructor(address) {
      super(address, { origin: `http://127.0.0.1:${port}` });
      t.after(() => this.terminate());
      page.emit('socket', this);
    }
  }
  const document = { createElement: () => ({ href, protocol: 'http:' }), currentScript: { getAttribute: () => null } };
  const nothing = () => {};
  const timers = { clearInterval, clearTimeout, setInterval, setTimeout };
  const self = { URL, WebSocket: PageWebSocket, addEventListener: nothing, document, location, postMessage: nothing };
  const globals = { ...self, ...timers, console, self: { ...self, ...timers }, window: self };
  const socket = once(page, 'socket');
  vm.runInNewContext(await response.text(), globals);
  [page.socket] = await socket;
  return page;
}

for (const [name, webSocketServer] of Object.entries({
  'with the override': 'ws',
  'with a class of its own': { type: OwnServer },
})) {
  test(`webpack-dev-server: a change reloads the page, ${name}`, async (t) => {
    const { entry, server } = await start(t, webSocketServer);
    const page = await openPage(t, server);
    await once(page.socket, 'message');
    await assertOnReactor(1);
    const reloaded = once(page, 'reload');
    writeFileSync(entry, 'document.title = "changed";');
    await reloaded;
    assert.equal(server.webSocketServer.clients.length, 1);
  });
}
