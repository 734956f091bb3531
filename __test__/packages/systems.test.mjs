// The packages for other systems: npm's choice among them, and runs of those that can be run here.
import assert from 'node:assert/strict';
import test from 'node:test';

import { emptyProject, installTarballs, installed, runIn } from './installs.mjs';
import { systems } from '../../scripts/release/systems.mjs';

/** `linux-arm64-gnu=qemu-aarch64 -L /usr/aarch64-linux-gnu /path/to/node;linux-x64-musl=...` */
const NODES = new Map((process.env.REACTOR_WS_NODES ?? '').split(';').map((pair) => pair.split('=')));

for (const { name } of systems) {
  test(`systems: ${name} gets its package and no other`, async (t) => {
    const [os, cpu, libc] = name.split('-');
    const flags = [`--os=${os}`, `--cpu=${cpu}`, ...(os === 'linux' ? [`--libc=${libc.replace('gnu', 'glibc')}`] : [])];
    const folder = emptyProject(t);
    await installTarballs(folder, flags);
    assert.deepEqual(installed(folder), [`reactor-ws-${name}`]);
    const node = NODES.get(name);
    if (node === undefined) return t.diagnostic('not run');
    for (const program of ['echo.cjs', 'echo.mjs']) {
      assert.equal(await runIn(folder, [...node.split(' '), program], { PATH: process.env.PATH }), 'echo: hello\n');
    }
    t.diagnostic(`run on ${(await runIn(folder, [...node.split(' '), '--version'], { PATH: process.env.PATH })).trim()}`);
  });
}
