// npm run test:wine: the addon for Windows, built by mingw-w64, in node.exe under Wine: chosen spec files of ava, and the
// sections 1 to 7 of the Autobahn suite from outside. On Debian or Ubuntu, on x64.
//
//   npm run test:wine -- --install                 with apt, if something is missing
//   npm run test:wine -- topics/topics autobahn    some spec files, or the suite
//
// The code is the released addon's (`cfg(windows)`), and the C library is not: mingw-w64 in place of msvc.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { parseAva, parseOwn, resultOf } from './counts.mjs';
import { build, finish, needs, skip } from './foreign.mjs';
import { nodeBinary } from './node-binary.mjs';
import { root, run } from './run.mjs';
import { ensureDependencies } from './setup.mjs';
import { findWstest, WSTEST_HINT } from './wstest.mjs';

/** Wine 8, of Debian 12, does not run Node 24. */
const NODE = '22';
const TARGET = 'x86_64-pc-windows-gnu';
const MINGW = 'x86_64-w64-mingw32';
const WINE = '/usr/lib/wine/wine64';
const FOLDER = join(root, 'target/wine');
/** For one spec file. */
const PATIENCE_MS = 10 * 60_000;
const ENV = { ...process.env, WINEPREFIX: join(FOLDER, 'prefix'), WINEARCH: 'win64', WINEDEBUG: '-all', WINEDLLOVERRIDES: 'mscoree=;mshtml=;winemenubuilder.exe=' };
delete ENV.NODE_EXTRA_CA_CERTS; // a path of this system

/**
 * Left out: tests of files in /proc, signals and descriptors, of which most skip themselves on Windows; and those that
 * fail with `ws` under Wine, too: the end of a socket with unread bytes, and the order of Node's events after it.
 */
const SPECS = [
  'crossws',
  'log',
  'options',
  'own-options',
  'warnings',
  'websocket-server',
  'client/client',
  'client/create-websocket-stream',
  'compat/private-fields',
  'compat/sender',
  'connection/address',
  'connection/async-context',
  'connection/backpressure',
  'connection/callbacks',
  'connection/close-cause',
  'connection/copies',
  'connection/same',
  'connection/websocket-pause',
  'deflate/deflate',
  'deflate/deflate-client',
  'limits/drain',
  'limits/rates',
  'listen/ports',
  'metrics/metrics',
  'protocol/protocol',
  'reactor/reactors',
  'reactor/spin',
  'reactor/unfinished',
  'tls/metrics',
  'tls/options',
  'tls/places',
  'tls/reload',
  'tls/server-names',
  'topics/broadcast',
  'topics/edges',
  'topics/history',
  'topics/slow',
  'topics/topics',
  'transport/stream-chunks',
  'transport/stream-connection',
  'transport/stream-failures',
  'upgrade/hooks',
  'upgrade/ways-in',
];

const names = process.argv.slice(2).filter((word) => !word.startsWith('--'));
if (process.platform !== 'linux' || process.arch !== 'x64') skip('Wine is run on Linux x64');
await needs({ programs: [WINE, `${MINGW}-gcc`, 'rustup'], packages: ['wine64', 'gcc-mingw-w64-x86-64'] });
await ensureDependencies();
const node = (await nodeBinary(NODE, { platform: 'win32', arch: 'x64' })) ?? skip(`npm has no Node ${NODE} for Windows`);
// napi-build links with a libnode.dll. With the feature `dyn-symbols` nothing of it is used.
const libnode = join(FOLDER, 'libnode');
mkdirSync(libnode, { recursive: true });
writeFileSync(join(libnode, 'libnode.dll'), '');
execFileSync(`${MINGW}-ar`, ['rc', join(libnode, 'libnode.a')]);
const env = { LIBNODE_PATH: libnode, [`CARGO_TARGET_${TARGET.toUpperCase().replaceAll('-', '_')}_LINKER`]: `${MINGW}-gcc` };
await build({ target: TARGET, library: 'reactor_ws.dll', addon: 'reactor-ws.win32-x64-msvc.node', env });
await makePrefix();

const results = [];
for (const name of names.length > 0 ? names : [...SPECS, 'autobahn']) results.push(await (name === 'autobahn' ? testAutobahn() : testSpec(name)));
finish(results);

/** A Windows 10 of its own. */
async function makePrefix() {
  if (existsSync(join(FOLDER, 'prefix/made'))) return;
  await wine(['wineboot', '-i']);
  await wine(['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f']);
  // The random bytes of Rust's std, which Wine 8 lacks.
  const library = join(FOLDER, 'prefix/drive_c/windows/system32/bcryptprimitives.dll');
  if (!existsSync(library)) {
    const source = join(FOLDER, 'bcryptprimitives.c');
    writeFileSync(
      source,
      `#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
`,
    );
    execFileSync(`${MINGW}-gcc`, ['-O2', '-shared', '-o', library, source, '-ladvapi32']);
  }
  writeFileSync(join(FOLDER, 'prefix/made'), '');
}

async function testSpec(name) {
  console.log(`\n${name}`);
  const ava = ['node_modules/ava/entrypoints/cli.mjs', '--concurrency=1', '--timeout=2m', `__test__/${name}.spec.mjs`];
  const ended = await wine([node, ...ava], PATIENCE_MS);
  if (ended.code !== 0) console.log(ended.output);
  return { name, ...resultOf(parseAva, ended) };
}

/** Against an echo server under Wine. */
async function testAutobahn() {
  const name = 'autobahn';
  if (findWstest() === null) return console.log(WSTEST_HINT), { name, passed: 0, failed: 0, skipped: 1, failures: [] };
  const server = start([node, '__test__/autobahn/run.mjs', '--serve']);
  let port;
  while (port === undefined && server.child.exitCode === null) {
    await sleep(200);
    port = /^port (\d+)/m.exec(server.read())?.[1];
  }
  const cases = ['1.*', '2.*', '3.*', '4.*', '5.*', '6.*', '7.*'].join();
  const ended = await run(process.execPath, ['__test__/autobahn/run.mjs', '--quiet', '--cases', cases, '--url', `ws://127.0.0.1:${port}`], { capture: true });
  await server.stop();
  return { name, ...resultOf(parseOwn, ended) };
}

/** Runs a program under Wine to its end. */
async function wine(args, patience = PATIENCE_MS) {
  const { child, read, stop } = start(args);
  let reason;
  const timer = setTimeout(() => {
    reason = `killed: it had run for ${patience / 60_000} minutes`;
    stop();
  }, patience);
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
  clearTimeout(timer);
  return { code: code ?? -1, output: read(), reason };
}

/** Node refuses a Unix pipe as its output there, and takes a file. */
function start(args) {
  const file = join(FOLDER, `output-${process.pid}-${Date.now()}`);
  const output = openSync(file, 'w');
  const child = spawn(WINE, args, { cwd: root, env: ENV, stdio: ['ignore', output, output] });
  closeSync(output);
  child.once('exit', () => setTimeout(rmSync, 1000, file, { force: true }).unref());
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    // All programs of this prefix.
    execFileSync('/usr/lib/wine/wineserver', ['-k'], { env: ENV });
    await exit;
  };
  return { child, read: () => readFileSync(file, 'utf8'), stop };
}
