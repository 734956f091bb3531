// The demo as its visitors see it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { launch, openPage } from './helpers/page.mjs';

const SERVER = fileURLToPath(new URL('../../examples/demo/server.mjs', import.meta.url));

async function startDemo(t) {
  const env = { ...process.env, HOST: '127.0.0.1', PORT: '0' };
  const child = spawn(process.execPath, [SERVER], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.exitCode === null && child.kill('SIGKILL'));
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, port: Number(/^reactor-ws demo: http:\/\/localhost:(\d+)$/.exec(line)[1]) };
}

test('demo', async (t) => {
  const browser = await launch(t);
  const { child, port } = await startDemo(t);
  const address = `http://127.0.0.1:${port}/`;
  const page = await openPage(t, browser, address);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.locator('#state.open').waitFor();
  const sockets = `ws://127.0.0.1:${port}/live`;
  // Not by the mouse, which waits for frames: the load may take all of a small machine.
  const click = (selector, on = page) => on.locator(selector).dispatchEvent('click');

  await t.test('demo: JavaScript is blocked, and only reactor-ws answers', async () => {
    // A page that only watches sees the same.
    const other = await openPage(t, browser, address);
    await other.locator('#state.open').waitFor();
    const sentence = /reactor-ws answered (\d+), the slowest in .*; ws answered (\d+), the slowest in ([\d,]+) ms\.$/;
    const block = async () => {
      await page.locator('#verdict').evaluate((verdict) => (verdict.textContent = ''));
      await click('#block');
      await other.locator('#block[aria-disabled=true]').waitFor();
      await page.locator('#verdict', { hasText: sentence }).waitFor();
      // The charts have gone on meanwhile.
      const stripes = await page.locator('#chart-ping path.blocked').getAttribute('d');
      assert.ok(stripes.split('M').length > 2, stripes);
      const [, ours, theirs, slowest] = sentence.exec(await page.locator('#verdict').textContent());
      return Number(ours) > Number(theirs) && Number(slowest.replaceAll(',', '')) > 1000;
    };
    // Where the machine stood still meanwhile, neither server answered.
    while (!(await block()));
    await other.locator('#verdict', { hasText: sentence }).waitFor();
    await page.locator('#block[aria-disabled=false]').waitFor();
    await other.close();
  });

  await t.test('demo: what is typed comes back', async () => {
    await page.locator('#echo-text').fill('grüße <b>🙂</b>');
    await click('#echo button');
    const line = page.locator('#echoes li').last();
    await line.waitFor();
    assert.match(await line.textContent(), /^grüße <b>🙂<\/b> \(\d+\.\d\d ms\)$/);
  });

  await t.test('demo: two pages talk, and see each other come and go', async () => {
    const other = await openPage(t, browser, address);
    await other.locator('#state.open').waitFor();
    const name = await other.locator('#name').textContent();
    await page.locator('#lines li', { hasText: `${name} joined` }).waitFor();
    await page.locator('#chat-text').fill('hello, other page');
    await click('#chat button');
    await other.locator('#lines li', { hasText: 'hello, other page' }).waitFor();
    // Another room has other lines; those of this one are there for a visitor who comes back.
    const enter = async (room, before) => {
      await other.locator('#room').selectOption(room);
      await other.locator('#lines li', { hasText: `${name} joined` }).nth(before).waitFor();
    };
    await enter('kitchen', 0);
    await page.locator('#lines li', { hasText: `${name} left` }).waitFor();
    assert.deepEqual(await other.locator('#lines li').allTextContents(), [`${name} joined`]);
    await other.locator('#chat-text').fill('in the kitchen');
    await click('#chat button', other);
    await other.locator('#lines li', { hasText: 'in the kitchen' }).waitFor();
    await enter('lobby', 1);
    const lines = await other.locator('#lines li').allTextContents();
    assert.equal(lines.filter((line) => line.includes('hello, other page')).length, 1);
    assert.equal(lines.filter((line) => line.includes('in the kitchen')).length, 0);
    await other.close();
    await page.locator('#lines li', { hasText: `${name} left` }).nth(1).waitFor();
  });

  await t.test('demo: bytes come back, and its limits close: 1008 and 1009', async () => {
    const run = (steps) => page.evaluate(steps, sockets);
    const whole = await run(async (url) => {
      const socket = await window.openSocket(url);
      const echoes = await window.echoes(socket, [new Uint8Array([0, 127, 128, 255]), new Uint8Array(60_000).fill(7)]);
      socket.close();
      await socket.closed;
      return echoes;
    });
    assert.deepEqual(whole, [true, true]);
    const unknown = await run(async (url) => {
      const socket = await window.openSocket(url);
      socket.send('no JSON');
      return socket.closed;
    });
    assert.deepEqual(unknown, { code: 1008, reason: 'unknown message', wasClean: true, failed: false });
    const large = await run(async (url) => {
      const socket = await window.openSocket(url);
      socket.send(new Uint8Array(1 << 20));
      return socket.closed;
    });
    assert.equal(large.code, 1009);
  });

  await t.test('demo: it says 1001 when it ends, and the page tries again', async () => {
    const closed = page.evaluate(async (url) => {
      const socket = await window.openSocket(url);
      // An echo proves that the server has the connection.
      await window.exchange(socket, [new Uint8Array(1)]);
      window.isOpen = true;
      return socket.closed;
    }, sockets);
    await page.waitForFunction(() => window.isOpen);
    child.kill('SIGTERM');
    assert.deepEqual(await closed, { code: 1001, reason: '', wasClean: true, failed: false });
    await page.locator('#state:not(.open)').waitFor();
    assert.deepEqual(errors, []);
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  });
});
