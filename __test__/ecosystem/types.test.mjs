// Programs of packages that import 'ws' compile with our types in the place of @types/ws, and every
// way of resolving types finds the published types.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

/** What is for ES modules only: crossws is one, and a page imports the client. */
const MODULES = ['crossws', 'client'];

/** Declarations that have errors of their own, and do not import 'ws'. */
const FAULTY = /^node_modules\/(@colyseus\/(core|schema)|@hocuspocus\/common|yjs)\//;

test('the programs of packages that import ws compile, and so do the declarations of the packages', () => {
  const { stdout } = run('typescript/bin/tsc', ['--project', 'types', '--listFiles']);
  const lines = stdout.split('\n');
  // The types of the override, by require and by import.
  const ours = dirname(createRequire(import.meta.url).resolve('ws/package.json'));
  for (const file of ['index.d.ts', 'index.d.mts']) assert.ok(lines.includes(join(ours, file)), file);
  assert.ok(!lines.some((line) => line.includes('@types/ws/')), 'not @types/ws');
  const errors = lines.filter((line) => /: error TS\d+/.test(line) && !FAULTY.test(line));
  assert.deepEqual(errors, []);
});

test('attw and publint find no fault with what is packed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-pack-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const packed = spawnSync('npm', ['pack', '--pack-destination', folder], { cwd: root, encoding: 'utf8', shell: true });
  assert.equal(packed.status, 0, packed.stderr);
  const archive = join(folder, readdirSync(folder)[0]);
  const attw = (...options) => run('@arethetypeswrong/cli/dist/index.js', [archive, '--format', 'ascii', '--no-color', ...options]);
  const { status, stdout } = attw('--exclude-entrypoints', ...MODULES);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /No problems found/);
  const modules = attw('--entrypoints', ...MODULES, '--profile', 'esm-only');
  assert.equal(modules.status, 0, modules.stdout);
  const linted = run('publint/src/cli.js', ['--strict', archive]);
  assert.equal(linted.status, 0, linted.stdout);
  assert.match(linted.stdout, /All good/);
});

/** Runs the program of a package: `bin` is a path inside node_modules. */
function run(bin, args) {
  const ended = spawnSync(process.execPath, [join('node_modules', bin), ...args], { cwd: here, encoding: 'utf8' });
  return { ...ended, stdout: ended.stdout + ended.stderr };
}
