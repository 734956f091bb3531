// Handlers in which the event loop runs, as with `deasync`, or that wake the delivery that calls
// them: nothing is delivered within a delivery, and nothing is lost or comes twice.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { connect, frame, isReference, isSpread, openPair, openRaw, ownOnly } from '../helpers/index.mjs';

const require = createRequire(import.meta.url);

const MESSAGES = 300;

/** A function that runs the event loop for a turn; null where there is no C compiler for it. */
function nestedLoop() {
  if (process.platform === 'win32') return null;
  const folder = mkdtempSync(join(tmpdir(), 'nested-loop-'));
  const addon = join(folder, 'addon.node');
  const source = fileURLToPath(new URL('../fixtures/nested-loop.c', import.meta.url));
  const undefinedSymbols = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  const { status } = spawnSync('cc', ['-shared', '-fPIC', ...undefinedSymbols, '-o', addon, source], { stdio: 'ignore' });
  try {
    return status === 0 ? require(addon) : null;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const runLoop = isReference ? null : nestedLoop();

/** Actions of a handler in the middle of a delivery. */
const ACTS = {
  'wakes the delivery': isReference ? null : require('../../lib/reactor/dispatch.js').wake,
  // Within an immediate, where long deliveries go on, Node's own processImmediate() fails if it runs again.
  'runs the event loop': runLoop && (() => new Error().stack.includes('processImmediate') || runLoop()),
};

for (const [name, act] of Object.entries(ACTS)) {
  ownOnly(`a handler ${name}: every message comes once and in order, none within another`, async (t) => {
    if (act === null) return void t.pass(t.log('no C compiler: skipped'));
    const { server, ws, raw } = await openRaw(t);
    const other = await connect(t, server);
    const seen = [];
    let depth = 0;
    let deepest = 0;
    const all = new Promise((resolve) => {
      const handler = (data, of) => {
        deepest = Math.max(deepest, ++depth);
        act();
        depth--;
        seen.push(`${of} ${data}`);
        if (seen.length === 2 * MESSAGES) resolve();
      };
      ws.on('message', (data) => handler(data, 'raw'));
      other.ws.on('message', (data) => handler(data, 'other'));
    });
    await raw.send(Buffer.concat(Array.from({ length: MESSAGES }, (_, i) => frame(1, String(i)))));
    for (let i = 0; i < MESSAGES; i++) other.client.send(String(i));
    await all;
    for (const of of ['raw', 'other']) {
      const expected = Array.from({ length: MESSAGES }, (_, i) => `${of} ${i}`);
      t.deepEqual(seen.filter((line) => line.startsWith(of)), expected);
    }
    t.is(deepest, 1);
  });
}

ownOnly('a handler runs the event loop until its client has what the server sends', async (t) => {
  if (runLoop === null || isSpread) return void t.pass(t.log('no C compiler: skipped'));
  const { ws, client } = await openPair(t);
  const echoed = once(client, 'message');
  let isSent = false;
  ws.on('message', (data) => {
    ws.send(data, () => {
      isSent = true;
    });
    for (let turn = 0; turn < 10; turn++) runLoop();
  });
  client.send('hello');
  t.is(String((await echoed)[0]), 'hello');
  client.close();
  await once(ws, 'close');
  t.true(isSent);
});
