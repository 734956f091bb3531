// Live queries of parse-server take an adapter that makes the WebSocketServer. Messages come as from a save in the
// database, which takes a MongoDB.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

import { ask, open } from '../helpers/clients.mjs';
import { listen } from '../helpers/http.mjs';
import { assertOnReactor } from '../helpers/on-reactor.mjs';
import { ReactorAdapter } from './recipes/parse.mjs';

// Its log files, which it opens as it is loaded.
process.env.PARSE_SERVER_LOGS_FOLDER = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
process.on('exit', () => rmSync(process.env.PARSE_SERVER_LOGS_FOLDER, { recursive: true, force: true }));

const require = createRequire(import.meta.url);
const { ParseLiveQueryServer } = require('parse-server/lib/LiveQuery/ParseLiveQueryServer.js');

test('parse-server: a client connects to live queries, and is told of a mistake', async (t) => {
  const http = createServer();
  const live = new ParseLiveQueryServer(http, { appId: 'app', masterKey: 'master', wssAdapter: ReactorAdapter, websocketTimeout: 60_000 });
  t.after(() => live.parseWebSocketServer.close());
  const client = await open(t, `ws://127.0.0.1:${await listen(t, http)}`);
  const answer = JSON.parse(await ask(client, JSON.stringify({ op: 'connect', applicationId: 'app' })));
  assert.equal(answer.op, 'connected');
  assert.equal(JSON.parse(await ask(client, JSON.stringify({ op: 'unknown' }))).op, 'error');
  await assertOnReactor(1);
  // The timer that pings a client stays after its end.
  t.after(() => setImmediate(process.exit));
});
