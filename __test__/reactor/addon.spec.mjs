// Where the addon cannot be loaded, the error of a server or client has the reason and remedy.
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { mainManifest } from '../../scripts/release/pack.mjs';
import { Child, test } from '../helpers/index.mjs';

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));
const MAY_LOAD_NONE = /--no-addons.*--allow-addons/;

/**
 * The package without an addon: as in a clone, or with `packed` as packed for a test or a release,
 * where the package with the addon was not installed.
 */
async function copyWithoutAddon(t, { packed, version } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'addonless-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const left = (path) => !path.endsWith('.node');
  await cp(LIB, join(folder, 'lib'), { recursive: true, filter: left });
  const manifest = packed ? mainManifest(packed === 'release') : JSON.parse(await readFile(join(LIB, '../package.json'), 'utf8'));
  if (version !== undefined) {
    const layout = join(folder, 'lib/base/layout.js');
    await writeFile(layout, (await readFile(layout, 'utf8')).replace(`VERSION: '${manifest.version}'`, `VERSION: '${version}'`));
    manifest.version = version;
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  return join(folder, 'lib/index.js');
}

async function failures(t, args, options) {
  const child = new Child(t, 'addonless.mjs', args, options);
  const { stdout, stderr } = await child.ended();
  t.notThrows(() => JSON.parse(stdout), stderr);
  return JSON.parse(stdout);
}

async function failsWith(t, pattern, args, options) {
  const found = await failures(t, args, options);
  t.is(found.length, 3);
  for (const failure of found) {
    t.like(failure, { code: 'ERR_REACTOR_WS_NATIVE', hasCause: true });
    const [first, system, lookedFor, advice, ...more] = failure.message.split('\n');
    t.regex(first, /^reactor-ws: the native addon could not be loaded: /);
    t.regex(system, new RegExp(`^ {2}system: ${process.platform} ${process.arch}.*, Node ${process.versions.node}$`));
    t.regex(lookedFor, /^ {2}looked for: /);
    t.regex(advice, /^ {2}what to do: /);
    t.deepEqual(more, []);
    t.regex(failure.message, pattern);
    // The message, the stack and the properties, as printed if uncaught: not those of all causes.
    t.true(failure.printed.split('\n').length <= 4 + Error.stackTraceLimit + 3, failure.printed);
  }
}

const BUILD = /npm ci && npm run build$/;
const OWN_VERSION = createRequire(import.meta.url)('../../package.json').version;

test('a package that is not installed is named', async (t) => {
  const { platform, arch } = process;
  const name = new RegExp(`npm install reactor-ws-${platform}-${arch}\\S*@${OWN_VERSION.replaceAll('.', '\\.')};`);
  await failsWith(t, name, [await copyWithoutAddon(t, { packed: 'release' })]);
});

test('it is the one for the C library of the system', async (t) => {
  if (process.platform !== 'linux') return t.pass();
  const index = await copyWithoutAddon(t, { packed: 'release' });
  for (const [interpreter, libc] of [['/lib/ld-musl-x86_64.so.1', 'musl'], ['/lib64/ld-linux-x86-64.so.2', 'gnu']]) {
    const program = join(index, '..', libc);
    await writeFile(program, `\x7fELF\0${interpreter}\0`);
    await failsWith(t, new RegExp(`npm install reactor-ws-linux-\\w+-${libc}@`), [index, program]);
  }
});

test('before a release no package is to be installed by name: the commands that build are named', async (t) => {
  const [clone, packed] = [await copyWithoutAddon(t), await copyWithoutAddon(t, { packed: 'test' })];
  await failsWith(t, /it has not been built\n/, [clone]);
  await failsWith(t, /its package is not installed\n/, [packed]);
  for (const index of [clone, packed]) {
    await failsWith(t, BUILD, [index]);
    await failsWith(t, /^(?![^]*npm install reactor-ws)/, [index]);
  }
});

test('where Node may load no addons, the message says so', async (t) => {
  const index = join(LIB, 'index.js');
  await failsWith(t, MAY_LOAD_NONE, [index], { nodeArgs: ['--no-addons'] });
  if (!process.allowedNodeEnvironmentFlags.has('--permission')) return;
  await failsWith(t, MAY_LOAD_NONE, [index], { nodeArgs: ['--permission', '--allow-fs-read=*'] });
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

test('an addon of another version is not used', async (t) => {
  const { systemName } = createRequire(import.meta.url)('../../lib/reactor/addon.js');
  const addon = join(LIB, 'native', `reactor-ws.${systemName()}.node`);
  const why = /could not be loaded: its version is (\S+), and that of reactor-ws is 9\.8\.7\n/;
  const copy = async (packed) => {
    const index = await copyWithoutAddon(t, { packed, version: '9.8.7' });
    return { index, folder: join(index, '../..') };
  };

  const given = await copy();
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: addon };
  await failsWith(t, why, [given.index], { env });
  const [{ message }] = await failures(t, [given.index], { env });
  t.is(why.exec(message)[1], OWN_VERSION);

  const built = await copy();
  await mkdir(join(built.folder, 'lib/native'), { recursive: true });
  await symlink(addon, join(built.folder, 'lib/native', `reactor-ws.${systemName()}.node`));
  await failsWith(t, why, [built.index]);
  await failsWith(t, BUILD, [built.index]);

  const installed = await copy('release');
  const name = `reactor-ws-${systemName()}`;
  const folder = join(installed.folder, 'node_modules', name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, version: OWN_VERSION, main: 'addon.node' }));
  await symlink(addon, join(folder, 'addon.node'));
  await failsWith(t, why, [installed.index]);
  await failsWith(t, /what to do: npm install reactor-ws@9\.8\.7\b/, [installed.index]);
});

test('what the system says of an addon that it cannot load is in the message', async (t) => {
  const index = await copyWithoutAddon(t);
  const broken = join(index, '..', 'broken.node');
  await writeFile(broken, 'not an addon');
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: broken };
  await failsWith(t, /could not be loaded: .*broken\.node/, [index], { env });
  env.NAPI_RS_NATIVE_LIBRARY_PATH = `${broken}.not`;
  await failsWith(t, /could not be loaded: .*broken\.node\.not/, [index], { env });
});
