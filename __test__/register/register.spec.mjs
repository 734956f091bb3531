// node --import reactor-ws/register: who gets this package for `ws`, in processes of their own.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { project, withoutAddon } from '../doctor/project.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const THEIRS = 'module.exports = class Theirs {};';
const REEXPORT = "module.exports = require('ws');";
/** Prints as JSON for whom `ws` is this package. */
const PROGRAM = `
const { createRequire } = require('node:module');
const ours = require('reactor-ws');
const got = {
  require: require('ws'),
  createRequire: createRequire(__filename)('ws'),
  resolve: require(require.resolve('ws')),
  modern: require('@scope/modern'),
  workspace: require('./packages/a'),
  version: require('ws/package.json').version,
  old: require('old'),
  again: require('old/again'),
};
(async () => {
  const { default: dynamic, WebSocketServer, WebSocket } = await import('ws');
  Object.assign(got, { dynamic, named: WebSocketServer === ours.WebSocketServer && WebSocket, ...(await import('./module.mjs')), oldModule: (await import('old-module')).default });
  for (const name of Object.keys(got)) got[name] = got[name] === ours ? 'ours' : (got[name].name ?? got[name]);
  for (const file of ['child.cjs', 'child.mjs']) {
    const worker = new (require('node:worker_threads').Worker)(require('node:path').join(__dirname, file));
    [got['worker ' + file]] = await require('node:events').once(worker, 'message');
  }
  const { setupPrimary, fork } = require('node:cluster');
  setupPrimary({ exec: __dirname + '/child.cjs' });
  [got.cluster] = await require('node:events').once(fork(), 'message');
  console.log(JSON.stringify(got));
  process.exit();
})();`;
const FILES = {
  'package.json': { name: 'app', dependencies: { ws: '^8.0.0' } },
  'main.cjs': PROGRAM,
  'module.mjs': "import imported, { WebSocket as byName } from 'ws';\nimport * as all from 'ws';\nexport { imported, byName };\nexport const namespace = all.default;\nexport const isUrl = import.meta.resolve('ws').endsWith('/lib/index.mjs');\n",
  'child.cjs': "const isOurs = require('ws') === require('reactor-ws');\nconst parent = require('node:worker_threads').parentPort ?? { postMessage: (message) => process.send(message) };\nimport('ws').then((all) => parent.postMessage(isOurs && all.default === require('reactor-ws')));\n",
  'child.mjs': "import { parentPort } from 'node:worker_threads';\nimport ours from 'reactor-ws';\nimport imported from 'ws';\nparentPort.postMessage(imported === ours);\n",
  // It leaves `ws` to the root of the workspace.
  'packages/a/package.json': { name: 'a', main: 'index.js' },
  'packages/a/index.js': REEXPORT,
  'node_modules/reactor-ws': { link: ROOT },
  'node_modules/ws/package.json': { name: 'ws', version: '8.99.0' },
  'node_modules/ws/index.js': THEIRS,
  'node_modules/@scope/modern/package.json': { name: '@scope/modern', main: 'dist/index.js', peerDependencies: { ws: '7 || 8' } },
  'node_modules/@scope/modern/dist/package.json': { type: 'commonjs' },
  'node_modules/@scope/modern/dist/index.js': REEXPORT,
  'node_modules/old/package.json': { name: 'old', main: 'dist/index.js', dependencies: { ws: '^7.2.0' } },
  'node_modules/old/dist/package.json': { type: 'commonjs' },
  'node_modules/old/dist/index.js': REEXPORT,
  'node_modules/old/again.js': REEXPORT,
  'node_modules/old-module/package.json': { name: 'old-module', type: 'module', main: 'index.js', dependencies: { ws: '~6.0.0' } },
  'node_modules/old-module/index.js': "export { default } from 'ws';",
};
const OURS = Object.fromEntries(['require', 'createRequire', 'resolve', 'modern', 'workspace', 'dynamic', 'named', 'imported', 'byName', 'namespace'].map((name) => [name, 'ours']));
const KEPT = { version: '8.99.0', old: 'Theirs', again: 'Theirs', oldModule: 'Theirs' };
const CHILDREN = { 'worker child.cjs': true, 'worker child.mjs': true, cluster: true };

/** @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
function run(cwd, args, env = {}) {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, env: { ...process.env, ...env } }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
  });
}

for (const [flags, env] of [
  [['--import', 'reactor-ws/register']],
  [['--require', 'reactor-ws/register']],
  [['--import', 'reactor-ws/register', '--require', 'reactor-ws/register']],
  [[], { NODE_OPTIONS: '--import=reactor-ws/register' }],
]) {
  test(`all that ask for ws 8 get ours: ${[...flags, ...Object.values(env ?? {})].join(' ')}`, async (t) => {
    const { stdout, stderr } = await run(await project(t, FILES), [...flags, 'main.cjs'], env);
    t.regex(stdout, /^\{/, stderr);
    t.deepEqual(JSON.parse(stdout), { ...OURS, ...KEPT, ...CHILDREN, isUrl: true });
    for (const text of ['old asks for ws ^7.2.0, and keeps it', 'old-module asks for ws ~6.0.0, and keeps it']) {
      t.is(stderr.split(text).length, 2, stderr);
    }
  });
}

test('a program that has no ws, and one that asks for ws 7', async (t) => {
  const program = { 'main.cjs': "console.log(require('ws') === require('reactor-ws'));", 'node_modules/reactor-ws': { link: ROOT } };
  const without = await project(t, program);
  t.is((await run(without, ['--import', 'reactor-ws/register', 'main.cjs'])).stdout, 'true\n');
  const older = await project(t, { ...program, 'node_modules/ws/index.js': THEIRS, 'package.json': { name: 'app', devDependencies: { ws: '7' } } });
  const { stdout, stderr } = await run(older, ['--import', 'reactor-ws/register', 'main.cjs']);
  t.is(stdout, 'false\n');
  t.regex(stderr, /app asks for ws 7, and keeps it/);
});

test('without an addon, the program does not begin, and the error says what to do', async (t) => {
  const folder = await project(t, { 'main.cjs': "console.log('begun');" });
  await withoutAddon(folder);
  const { code, stdout, stderr } = await run(folder, ['--import', 'reactor-ws/register', 'main.cjs']);
  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr, /what to do: install/);
});
