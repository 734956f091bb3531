// Bundlers and other runtimes, without a setting for this package. An addon cannot be in a
// bundle: it stays in node_modules.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { emptyProject, installTarballs, installed, runIn } from './installs.mjs';

const require = createRequire(import.meta.url);
const bin = (path) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
const BUN = bin('@oven/bun-linux-x64/bin/bun');
const DENO = bin('@deno/linux-x64-glibc/deno');
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
const ECHO = 'echo: hello\n';

const folder = emptyProject({ after });

before(() => installTarballs(folder));

const esbuild = (entry, outfile, more) => {
  const options = { bundle: true, entryPoints: [join(folder, entry)], outfile: join(folder, outfile), platform: 'node' };
  return require('esbuild').build({ ...options, ...more });
};

test('bundlers: esbuild, CommonJS', async () => {
  const { warnings } = await esbuild('echo.cjs', 'dist/esbuild.cjs', {});
  assert.deepEqual(warnings, []);
  assert.equal(await runIn(folder, [process.execPath, 'dist/esbuild.cjs']), ECHO);
});

test('bundlers: esbuild, modules, with a banner that defines require', async () => {
  const { warnings } = await esbuild('echo.mjs', 'dist/esbuild.mjs', { banner: { js: BANNER }, format: 'esm' });
  assert.deepEqual(warnings, []);
  assert.equal(await runIn(folder, [process.execPath, 'dist/esbuild.mjs']), ECHO);
});

for (const [kind, entry, more] of [
  ['CommonJS', 'echo.cjs', { output: { filename: 'webpack.cjs' } }],
  ['modules', 'echo.mjs', { experiments: { outputModule: true }, output: { filename: 'webpack.mjs', module: true, chunkFormat: 'module' } }],
]) {
  test(`bundlers: webpack, ${kind}`, async () => {
    const path = join(folder, 'dist');
    const options = { mode: 'production', target: 'node', entry: `./${entry}`, context: folder, ...more };
    const stats = await new Promise((resolve, reject) => {
      const done = (error, result) => (error ? reject(error) : resolve(result));
      require('webpack')({ ...options, output: { path, ...more.output } }, done);
    });
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
    assert.deepEqual({ errors, warnings }, { errors: [], warnings: [] });
    assert.equal(await runIn(folder, [process.execPath, `dist/${more.output.filename}`]), ECHO);
  });
}

test('bundlers: nft collects the addon, and misses only packages of other systems', async (t) => {
  const { fileList, warnings } = await require('@vercel/nft').nodeFileTrace([join(folder, 'echo.cjs')], { base: folder });
  const others = [...warnings].filter(({ message }) => !/^Failed to resolve dependency "reactor-ws-\w+-\w+(-\w+)?"/.test(message));
  assert.deepEqual(others, []);
  const elsewhere = join(emptyProject(t), 'traced');
  for (const file of fileList) {
    if (!statSync(join(folder, file)).isFile()) continue;
    mkdirSync(join(elsewhere, file, '..'), { recursive: true });
    cpSync(join(folder, file), join(elsewhere, file));
  }
  assert.deepEqual(installed(elsewhere), installed(folder));
  assert.equal(await runIn(elsewhere, [process.execPath, 'echo.cjs']), ECHO);
});

const ifThere = (program) => (existsSync(program) ? test : test.skip);

ifThere(BUN)('runtimes: Bun, and what it bundles', async () => {
  assert.equal(await runIn(folder, [BUN, 'echo.mjs']), ECHO);
  await runIn(folder, [BUN, 'build', 'echo.cjs', '--target=node', '--outfile=dist/bun.mjs']);
  assert.equal(await runIn(folder, [process.execPath, 'dist/bun.mjs']), ECHO);
});

ifThere(DENO)('runtimes: Deno', async () => {
  assert.equal(await runIn(folder, [DENO, 'run', '--allow-all', 'echo.mjs']), ECHO);
});
