// npm run test:arch: the addon on a big-endian and on a 32-bit processor, which QEMU emulates: chosen spec files of ava. On
// Debian or Ubuntu.
//
//   npm run test:arch -- --install                 with apt, if something is missing
//   npm run test:arch -- armv7 topics/topics       one of them, some spec files

import { execFileSync } from 'node:child_process';

import { parseAva, resultOf } from './counts.mjs';
import { build, finish, needs } from './foreign.mjs';
import { nodeBinary } from './node-binary.mjs';
import { run } from './run.mjs';
import { ensureDependencies } from './setup.mjs';

/** The newest on npm for these systems. */
const NODE = '20';
const SYSTEMS = {
  s390x: { arch: 's390x', target: 's390x-unknown-linux-gnu', gnu: 's390x-linux-gnu', packages: ['libc6-dev-s390x-cross', 'libstdc++6-s390x-cross'] },
  armv7: { arch: 'arm', target: 'armv7-unknown-linux-gnueabihf', gnu: 'arm-linux-gnueabihf', packages: ['libc6-dev-armhf-cross', 'libstdc++6-armhf-cross', 'libatomic1-armhf-cross'] },
};
/** An emulated processor is some twenty times slower: files with short times of their own, and with children, are left out. */
const SPECS = [
  'own-options',
  'websocket-server',
  'connection/address',
  'connection/backpressure',
  'connection/callbacks',
  'deflate/deflate',
  'deflate/deflate-client',
  'topics/topics',
  'topics/broadcast',
  'topics/history',
  'upgrade/hooks',
];

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const chosen = Object.keys(SYSTEMS).filter((name) => words.includes(name));
const names = words.filter((word) => !chosen.includes(word));
const results = [];
for (const name of chosen.length > 0 ? chosen : Object.keys(SYSTEMS)) results.push(...(await testOn(name, SYSTEMS[name])));
finish(results);

async function testOn(name, { arch, gnu, packages, target }) {
  const qemu = `qemu-${arch}-static`;
  const files = ['include/sys/types.h', 'lib/libstdc++.so.6'].map((file) => `/usr/${gnu}/${file}`);
  await needs({ programs: [qemu, `${gnu}-gcc`, 'rustup', ...files], packages: ['qemu-user-static', `gcc-${gnu}`, ...packages] });
  await ensureDependencies();
  const node = await nodeBinary(NODE, { platform: 'linux', arch });
  if (node === null) return [{ name, passed: 0, failed: 0, skipped: 1, failures: [] }];
  const env = { [`CARGO_TARGET_${target.toUpperCase().replaceAll('-', '_')}_LINKER`]: `${gnu}-gcc` };
  await build({ target, library: 'libreactor_ws.so', addon: `reactor-ws.linux-${arch}-gnu.node`, env });
  const emulated = ['-L', `/usr/${gnu}`, node];
  console.log(name, execFileSync(qemu, [...emulated, '-p', 'process.version + " " + os.endianness() + " " + process.arch'], { encoding: 'utf8' }).trim());
  const results = [];
  for (const spec of names.length > 0 ? names : SPECS) {
    // A process of ava's would be started without QEMU.
    const ava = ['node_modules/ava/entrypoints/cli.mjs', '--worker-threads', '--serial', '--timeout=5m', `__test__/${spec}.spec.mjs`];
    const ended = await run(qemu, [...emulated, ...ava], { capture: true, most: 20 });
    results.push({ name: `${name} ${spec}`, ...resultOf(parseAva, ended) });
  }
  return results;
}
