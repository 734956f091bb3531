// Proof that a test was served by this package: by its reactor, and by no copy of `ws`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setImmediate } from 'node:timers/promises';

/** The folder of the test, which has the packages. */
const folder = new URL('.', pathToFileURL(process.argv[1]));
const require = createRequire(folder);

export const { WebSocket, WebSocketServer } = require('reactor-ws');
const own = createRequire(require.resolve('reactor-ws'));
const { bytesSettled } = own('./reactor/exchange.js');
const table = own('./reactor/table.js');

/** The `ws` of npm, of which the clients are made. */
export const RealWebSocket = require('ws-real').WebSocket;

// A connection that one of the copies of ws serves fails the test.
for (const copy of copiesOfWs()) {
  const { prototype } = require(copy).WebSocketServer;
  for (const name of ['handleUpgrade', 'completeUpgrade']) {
    prototype[name] = () => {
      throw new Error(`${copy} served an upgrade in place of reactor-ws`);
    };
  }
}

/**
 * Waits until the reactor serves that many connections, and has counted bytes that it wrote to
 * each: a client knows of its opening, its end and the bytes before this thread does. A condition
 * that never holds makes the test run out of time.
 *
 * @param {number} count
 * @returns {Promise<any[]>} Their WebSockets
 */
export async function assertOnReactor(count) {
  const all = () => table.connections().filter((one) => one instanceof WebSocket && one._extra?.stream == null);
  while (all().length !== count) await setImmediate();
  const served = all();
  for (const connection of served) while (bytesSettled(connection) === 0) await setImmediate();
  return served;
}

/** Asserts that a server that another package made is one of ours. */
export function assertOurs(server) {
  assert.ok(server instanceof WebSocketServer, 'the server is a WebSocketServer of reactor-ws');
}

/** Every folder where npm has put a `ws`, under any name; not the links to this package. */
function copiesOfWs() {
  const { packages } = JSON.parse(readFileSync(new URL('node_modules/.package-lock.json', folder), 'utf8'));
  const isWs = ([path, { link, name }]) => !link && (name ?? path.split('node_modules/').at(-1)) === 'ws';
  return Object.entries(packages)
    .filter(isWs)
    .map(([path]) => require.resolve(`${new URL(path, folder).pathname}/index.js`));
}
