// The demo as its visitors see it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { launch, openPage } from './helpers/page.mjs';

const SERVER = fileURLToPath(new URL('../../examples/demo/server.mjs', import.meta.url));

function spawnDemo(t, env) {
  const child = spawn(process.execPath, [SERVER], {
    env: { ...process.env, HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.exitCode === null && child.kill('SIGKILL'));
  return child;
}

async function startDemo(t) {
  const child = spawnDemo(t, { PORT: '0' });
  child.stderr.pipe(process.stderr);
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

  await t.test('demo: a load that is chosen reaches both servers, and stops', async () => {
    await page.locator('#load-connections').fill('3');
    await page.locator('#load-rate').fill('500');
    await click('#load-apply');
    const arrive = (name) =>
      page.waitForFunction((style) => Number(document.querySelector(`#chart-echoes span.${style}`).textContent.replaceAll(',', '')) > 0, name);
    await arrive('reactor-ws');
    await arrive('ws');
    const readLines = () => page.locator('#charts path.ours').evaluateAll((paths) => paths.map((path) => path.getAttribute('d')));
    let lines = await readLines();
    while (lines.includes('')) lines = await readLines();
    assert.equal(lines.length, 3);
    // The content fills the charts, however little it is.
    for (const line of lines) assert.match(line, /^M0\.0,\d.*L300\.0,[\d.]+$/);
    await click('#load-toggle');
    await page.locator('#load-toggle', { hasText: 'Start' }).waitFor();
    await page.waitForFunction(() => document.querySelector('#chart-echoes span.ws').textContent === '0');
  });

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

  await t.test('demo: one reader of a topic stalls, and the others do not notice', async () => {
    const others = String.raw`each of the 9 readers got (\d+) messages or more, the slowest after ([\d.,]+) ms`;
    const one = String.raw`The tenth then got the (\d+) that it lacked, and missed (\d+); at most (\d+) KiB waited for it`;
    const sentence = new RegExp(`^Meanwhile ${others}\\. ${one}\\.$`);
    const stall = async () => {
      await page.locator('#stall-verdict').evaluate((verdict) => (verdict.textContent = ''));
      await click('#stall');
      await page.locator('#stall[aria-disabled=true]').waitFor();
      await page.locator('#stall-verdict', { hasText: sentence }).waitFor();
      const figures = sentence.exec(await page.locator('#stall-verdict').textContent());
      const [during, slowest, lacked, missed, waited] = figures.slice(1).map((text) => Number(text.replaceAll(',', '')));
      // The limit, and the message that has reached it.
      assert.ok(waited <= 96, `${waited} KiB`);
      return during > 0 && lacked > 0 && missed === 0 && slowest < 2500;
    };
    // Where the machine stood still meanwhile, all answers were late.
    while (!(await stall()));
    await page.locator('#stall[aria-disabled=false]').waitFor();
    const labels = await page.locator('#feed-charts svg').evaluateAll((charts) => charts.map((chart) => chart.getAttribute('aria-label')));
    for (const label of labels) assert.match(label, /: 9 readers .+, the tenth .+/);
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

test('demo: a port that is in use, or none, is a sentence', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address();
  const cases = [
    [{ PORT: String(port) }, `Port ${port} is in use. Choose another one: PORT=${port + 1} npm start\n`],
    [{ PORT: 'http' }, 'PORT must be a number from 0 to 65535. It is "http".\n'],
    [{ PORT: '65536' }, 'PORT must be a number from 0 to 65535. It is "65536".\n'],
    [{ PORT: '0', HOST: '192.0.2.1' }, 'This machine has no address 192.0.2.1. Set HOST to one that it has.\n'],
  ];
  for (const [env, sentence] of cases) {
    const child = spawnDemo(t, env);
    const [said, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'exit')]);
    assert.equal(Buffer.concat(said).toString(), sentence);
    assert.equal(code, 1);
  }
});
