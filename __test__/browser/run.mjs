// Chromium in front of this package: the demo, and everything that a page can see of a server.
//
//   npm run test:browser              all
//   npm run test:browser -- demo      some
//
// Without Chromium the run prints that and counts as skipped.

import { fileURLToPath } from 'node:url';

import { CHROMIUM_HINT, findChromium } from '../../scripts/chromium.mjs';
import { runNodeTests } from '../../scripts/node-test.mjs';

const chromium = findChromium();
if (chromium === null) {
  console.log(CHROMIUM_HINT);
  console.log('0 passed, 0 failed, 1 skipped');
} else {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  await runNodeTests(folder, process.argv.slice(2), { env: { CHROMIUM_PATH: chromium } });
}
