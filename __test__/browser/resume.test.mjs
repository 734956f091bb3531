// The page of examples/resume.html: it comes back after its connection was cut, and misses nothing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import WebSocket from 'ws';

import { TopicsClient } from '../../lib/client.mjs';

import { launch, openPage } from './helpers/page.mjs';

const SERVER = fileURLToPath(new URL('../../examples/resume.mjs', import.meta.url));

test('resume: a page that is cut off comes back, and has all messages once, in order', async (t) => {
  const child = spawn(process.execPath, [SERVER], { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const [line] = await once(createInterface(child.stdout), 'line');
  const port = Number(/port (\d+)$/.exec(line)[1]);

  // Between the page and the server, to cut them off from each other.
  const sockets = new Set();
  const between = createServer((one) => {
    const other = connect(port, '127.0.0.1');
    sockets.add(one);
    one.on('close', () => sockets.delete(one) && other.destroy()).on('error', () => {});
    other.on('close', () => one.destroy()).on('error', () => {});
    one.pipe(other).pipe(one);
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  t.after(() => between.close());

  const page = await openPage(t, await launch(t), `http://127.0.0.1:${between.address().port}/`);
  const speaker = new TopicsClient(`ws://127.0.0.1:${port}/`, { WebSocket });
  t.after(() => speaker.close());
  let said = 0;
  const say = (count) => {
    for (let n = 0; n < count; n++) speaker.publish('chat', `m${++said}`);
  };
  const shown = () => page.locator('li').allTextContents();
  const arrive = (text) => page.locator('li', { hasText: new RegExp(`^${text}$`) }).waitFor();

  // The page subscribes at some time: from this message on it has all.
  while (!(await shown()).length) {
    say(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (let round = 0; round < 4; round++) {
    for (const socket of sockets) socket.destroy();
    say(20);
    await arrive(`m${said}`);
  }
  const texts = await shown();
  const first = Number(texts[0].slice(1));
  assert.deepEqual(texts, Array.from({ length: said - first + 1 }, (_, n) => `m${first + n}`));
});
