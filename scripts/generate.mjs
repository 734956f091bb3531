// npm run generate: writes every file that is made from others; npm run check compares them.

import { run } from './run.mjs';

const LAYOUT = ['test', '--quiet', '--no-default-features', '--features', 'reactor', '--lib', 'layout'];

/** lib/base/layout.js from src/bridge/layout, types/esm from types/, docs/api.md from both, programs of examples/ in documents, docs/faults.md from the names of faults in tests. */
const STEPS = [
  ['cargo', LAYOUT, { env: { WRITE_LAYOUT: '1' } }],
  [process.execPath, ['scripts/types.mjs']],
  [process.execPath, ['scripts/api.mjs']],
  [process.execPath, ['scripts/documents.mjs']],
  [process.execPath, ['scripts/faults.mjs']],
];

for (const [command, args, options] of STEPS) {
  const { code } = await run(command, args, options);
  if (code !== 0) process.exitCode = 1;
}
