// Where the native addon cannot be loaded: who makes a server or a client hears why, and what to do.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { Child } from './helpers/child.mjs';

const LIB = fileURLToPath(new URL('../lib', import.meta.url));
const MAY_LOAD_NONE = /--no-addons.*--allow-addons/;

/** The package as it is where the package with the addon was not installed. */
async function copyWithoutAddon(t) {
  const folder = await mkdtemp(join(tmpdir(), 'addonless-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await cp(LIB, folder, { recursive: true, filter: (path) => !path.endsWith('.node') });
  return join(folder, 'index.js');
}

async function failures(t, args, options) {
  const child = new Child(t, 'addonless.mjs', args, options);
  const { stdout, stderr } = await child.ended();
  t.notThrows(() => JSON.parse(stdout), stderr);
  return JSON.parse(stdout);
}

async function failsWith(t, code, message, args, options) {
  const found = await failures(t, args, options);
  t.is(found.length, 3);
  for (const failure of found) {
    t.like(failure, { code, hasCause: true });
    t.regex(failure.message, /^reactor-ws: /);
    t.regex(failure.message, message);
  }
}

test('a package that is not installed is named', async (t) => {
  const name = new RegExp(`npm install reactor-ws-${process.platform}-${process.arch}`);
  await failsWith(t, 'MODULE_NOT_FOUND', name, [await copyWithoutAddon(t)]);
});

test('it is the one for the C library of the system', async (t) => {
  if (process.platform !== 'linux') return t.pass();
  await failsWith(t, 'MODULE_NOT_FOUND', /npm install reactor-ws-linux-\w+-musl/, [await copyWithoutAddon(t), 'musl']);
});

test('where Node may load no addons, the message says so', async (t) => {
  const index = join(LIB, 'index.js');
  await failsWith(t, 'ERR_DLOPEN_DISABLED', MAY_LOAD_NONE, [index], { nodeArgs: ['--no-addons'] });
  if (!process.allowedNodeEnvironmentFlags.has('--permission')) return;
  await failsWith(t, 'ERR_DLOPEN_DISABLED', MAY_LOAD_NONE, [index], { nodeArgs: ['--permission', '--allow-fs-read=*'] });
});

test('a process that may load addons but not use the network gets no listener', async (t) => {
  if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) return t.pass();
  const nodeArgs = ['--permission', '--allow-fs-read=*', '--allow-addons'];
  const [listening, adopting] = await failures(t, [join(LIB, 'index.js')], { nodeArgs });
  t.is(listening.code, 'ERR_ACCESS_DENIED');
  t.is(adopting, null);
  const [allowed] = await failures(t, [join(LIB, 'index.js')], { nodeArgs: [...nodeArgs, '--allow-net'] });
  t.is(allowed, null);
});

test('what the system says of an addon that it cannot load is in the message', async (t) => {
  const index = await copyWithoutAddon(t);
  const broken = join(index, '..', 'broken.node');
  await writeFile(broken, 'not an addon');
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: broken };
  await failsWith(t, 'ERR_DLOPEN_FAILED', /could not be loaded: .*broken\.node/, [index], { env });
  env.NAPI_RS_NATIVE_LIBRARY_PATH = `${broken}.not`;
  await failsWith(t, 'ERR_DLOPEN_FAILED', /could not be loaded: .*broken\.node\.not/, [index], { env });
});
