// The benchmark of eiows from a checkout of its repository: servers that take the sockets of an HTTP server. Its "current" is
// reactor-ws here.
//
//   node benchmark/others/adopted.mjs <checkout of mmdevries/eiows> [options of its run.js]
//
// Its packages are installed first: npm install --ignore-scripts --prefix <checkout>/benchmark
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [checkout, ...options] = process.argv.slice(2);
if (checkout === undefined) throw new Error('name the checkout of eiows: node benchmark/others/adopted.mjs <checkout>');

const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-adopted-'));
try {
  cpSync(join(resolve(checkout), 'benchmark'), join(folder, 'benchmark'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'current', version: '0.0.0', main: 'index.js' }));
  writeFileSync(join(folder, 'index.js'), `module.exports = require(${JSON.stringify(fileURLToPath(new URL('../../lib/index.js', import.meta.url)))});\n`);
  const words = ['--expose-gc', join(folder, 'benchmark', 'run.js'), '--implementations', 'current,ws', ...options];
  process.exitCode = spawnSync(process.execPath, words, { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
