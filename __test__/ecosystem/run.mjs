// Packages of others on top of this one, from npm, each with its own client over real sockets.
//
//   npm run test:ecosystem                           all of them
//   npm run test:ecosystem -- socket-io express      some
//
// package.json is as a user writes it: `ws` is overridden by this package, here a link to the
// repository. socket.io, which takes the class as an option, keeps its `ws` to prove that the
// option decides; clients keep theirs.

import { fileURLToPath } from 'node:url';

import { runNodeTests } from '../../scripts/node-test.mjs';

await runNodeTests(fileURLToPath(new URL('.', import.meta.url)), process.argv.slice(2));
