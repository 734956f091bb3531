// The packed packages, put into empty folders by package managers, bundlers and runtimes.
//
//   npm run test:packages                    all: for the night, and before a release
//   npm run test:packages -- tarballs        some; `tarballs` is part of `npm test -- --all`
//
// The addon for this system is the one in lib/native. With REACTOR_WS_PACKED=1 the addons are those
// of npm/, as scripts/release/addon.mjs has built them, and REACTOR_WS_NODES names the programs
// that run those for other systems; see systems.test.mjs.

import { fileURLToPath } from 'node:url';

import { runNodeTests } from '../../scripts/node-test.mjs';
import { run } from '../../scripts/run.mjs';
import { setup } from '../../scripts/setup.mjs';

await setup('release');
const mode = process.env.REACTOR_WS_PACKED ? '--trial' : '--host';
const { code } = await run(process.execPath, ['scripts/release/pack.mjs', mode]);
if (code !== 0) process.exit(code);
const wanted = process.argv.slice(2);
const needed = wanted.join() !== 'tarballs';
await runNodeTests(fileURLToPath(new URL('.', import.meta.url)), wanted, { needed });
