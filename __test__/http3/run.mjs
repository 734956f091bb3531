// WebSockets over HTTP/3: the server of examples/http3, in front of aioquic.
//
// Without Python, aioquic or the crates of the example it says so, and counts as skipped.

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { root } from '../../scripts/run.mjs';
import { cert, key } from '../helpers/certificate.mjs';
import { pythonWith } from '../helpers/python.mjs';

const execute = promisify(execFile);

const CHECKS = ['settings', 'echo', 'close', 'errors', 'refusals'];
const MANIFEST = join(root, 'examples/http3/Cargo.toml');
const TARGET = join(root, 'target/http3');

const { python, why } = await pythonWith('aioquic', '1.7.2', 'aioquic.h3.connection');
const program = python === undefined ? null : await build();
if (program === null) skip(why ?? 'the crates of examples/http3 could not be had');
else await run(program);

/** The path of the server; null if its dependencies cannot be had. */
async function build() {
  const locked = ['--locked', '--manifest-path', MANIFEST];
  try {
    await execute('cargo', ['fetch', ...locked]);
  } catch (error) {
    console.log(error.message);
    return null;
  }
  await execute('cargo', ['build', ...locked, '--target-dir', TARGET]);
  return join(TARGET, `debug/http3-echo${process.platform === 'win32' ? '.exe' : ''}`);
}

function skip(reason) {
  console.log(`skipped: ${reason}`);
  console.log('0 passed, 0 failed, 1 skipped');
}

async function run(path) {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-http3-'));
  const files = [['certificate.pem', cert], ['key.pem', key]].map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  const server = spawn(path, files, { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const port = await portOf(server);
    const client = await execute(python, [fileURLToPath(new URL('client.py', import.meta.url)), port]).catch((error) => error);
    if (client.stderr !== '') console.log(client.stderr);
    const passed = CHECKS.filter((name) => client.stdout.split('\n').includes(name));
    for (const name of CHECKS) console.log(`${passed.includes(name) ? 'passed' : 'failed'}: HTTP/3, ${name}`);
    console.log(`${passed.length} passed, ${CHECKS.length - passed.length} failed, 0 skipped`);
    if (passed.length < CHECKS.length) process.exitCode = 1;
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

async function portOf(server) {
  for await (const line of createInterface(server.stdout)) return /(\d+)$/.exec(line)[1];
  throw new Error('the server has ended');
}
