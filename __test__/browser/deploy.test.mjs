// The page of examples/deploy: its server is replaced three times, and the page notices nothing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { launch, openPage } from './helpers/page.mjs';

const SUPERVISOR = fileURLToPath(new URL('../../examples/deploy/supervisor.mjs', import.meta.url));

test('deploy: a page whose server is replaced stays connected, and no message is missing', async (t) => {
  const child = spawn(process.execPath, [SUPERVISOR], { env: { ...process.env, PORT: '0' }, stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const port = async (version) => {
    const { value } = await lines.next();
    const [, started, number] = /^version (\d+) listens on port (\d+)$/.exec(value);
    assert.equal(started, version);
    return number;
  };
  const first = await port('1');
  const page = await openPage(t, await launch(t), `http://127.0.0.1:${first}/`);
  const shows = (id, text) => page.locator(`#${id}`, { hasText: new RegExp(`^${text}$`) }).waitFor();
  const number = async (id) => Number(await page.locator(`#${id}`).textContent());
  const says = async (text, version) => {
    await page.locator('input').fill(text);
    await page.locator('input').press('Enter');
    await page.locator('li', { hasText: `${text} (version ${version})` }).waitFor();
  };

  await shows('version', '1');
  await says('hello', '1');
  for (const version of ['2', '3', '4']) {
    child.stdin.write('\n');
    assert.equal(await port(version), first);
    await shows('version', version);
    await says('again', version);
  }
  const ticks = await number('ticks');
  while ((await number('ticks')) < ticks + 20) await page.waitForTimeout(50);
  assert.deepEqual([await number('gaps'), await number('closes')], [0, 0]);
  assert.equal(await page.locator('#versions').textContent(), '1, 2, 3, 4');
  // A later page sees the messages of the versions before.
  const other = await openPage(t, page.context().browser(), `http://127.0.0.1:${first}/`);
  await other.locator('li', { hasText: 'hello (version 1)' }).waitFor();
});
