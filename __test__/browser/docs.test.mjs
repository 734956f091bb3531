// The documents as pages, as `npm run docs` makes them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import test from 'node:test';

import { SITE, build, serve } from '../../docs/site/run.mjs';
import { launch, openPage } from './helpers/page.mjs';

test('docs', async (t) => {
  assert.deepEqual(await build(), []);
  const server = serve(0);
  t.after(() => server.close());
  await once(server, 'listening');
  const address = `http://127.0.0.1:${server.address().port}`;
  const browser = await launch(t);
  const errors = [];
  const page = await openPage(t, browser, address);
  page.on('pageerror', (error) => errors.push(`${page.url()}: ${error.message}`));
  page.on('response', (response) => response.status() >= 400 && errors.push(`${response.url()}: ${response.status()}`));

  await t.test('docs: every page is shown, without an error', async () => {
    const pages = readdirSync(SITE, { recursive: true }).map(String).filter((name) => name.endsWith('.html') && name !== '404.html');
    for (const name of pages) {
      await page.goto(`${address}/${name}`);
      await page.locator('main h1').first().waitFor();
      // Nothing is wider than a phone but what scrolls by itself.
      await page.setViewportSize({ width: 390, height: 800 });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${name}: ${width} px wide`);
      await page.setViewportSize({ width: 1280, height: 900 });
    }
    t.diagnostic(`${pages.length} pages`);
  });

  await t.test('docs: the search finds an option, and leads to it', async () => {
    await page.goto(`${address}/docs/`);
    await page.locator('#local-search button').click();
    await page.locator('#localsearch-input').fill('unfinishedBudget');
    await page.locator('.result').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.hash !== '');
    await page.locator('main', { hasText: 'unfinishedBudget' }).waitFor();
  });

  assert.deepEqual(errors, []);
});
