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
  const child = spawn(process.execPath, [SERVER], {
    env: { ...process.env, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.exitCode === null && child.kill('SIGKILL'));
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, address: `http://127.0.0.1:${/:(\d+)$/.exec(line)[1]}/` };
}

/** Where the page's own socket goes. */
function socketAddress(page) {
  return page.evaluate(() => `ws://127.0.0.1:${document.querySelector('meta[name=socket-port]').content}/`);
}

test('demo', async (t) => {
  const browser = await launch(t);
  const { child, address } = await startDemo(t);
  const page = await openPage(t, browser, address);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.locator('#state.open').waitFor();
  const sockets = await socketAddress(page);

  await t.test('demo: what is typed comes back', async () => {
    await page.locator('#echo-text').fill('grüße <b>🙂</b>');
    await page.locator('#echo button').click();
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
    await page.locator('#chat button').click();
    await other.locator('#lines li', { hasText: 'hello, other page' }).waitFor();
    await other.close();
    await page.locator('#lines li', { hasText: `${name} left` }).waitFor();
  });

  await t.test('demo: figures come, and the load shows in them', async () => {
    const figure = (index) => page.locator('#tiles dd span').nth(index);
    const reaches = (index, least) =>
      page.waitForFunction(
        ([at, value]) => {
          const text = document.querySelectorAll('#tiles dd span')[at].textContent;
          return Number(text.replaceAll(',', '')) >= value;
        },
        [index, least],
      );
    await reaches(0, 1);
    // Not by the mouse, which waits for frames: the load may take all of a small machine.
    const click = () => page.locator('#load button').dispatchEvent('click');
    await page.locator('#load-count').fill('3');
    await click();
    await reaches(0, 4);
    await reaches(1, 500);
    await click();
    await page.waitForFunction(() => document.querySelector('#tiles dd span').textContent === '1');
    assert.equal(await figure(0).textContent(), '1');
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
    const closed = page.evaluate(async (url) => (await window.openSocket(url)).closed, sockets);
    await page.waitForFunction(() => document.querySelector('#tiles dd span').textContent === '2');
    child.kill('SIGTERM');
    assert.deepEqual(await closed, { code: 1001, reason: '', wasClean: true, failed: false });
    await page.locator('#state:not(.open)').waitFor();
    assert.deepEqual(errors, []);
    if (child.exitCode === null) await once(child, 'exit');
  });
});
