// Programs that a framework builds: they run in processes of their own, on a copy of this package as npm installs it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';

import { cert as ca } from '../../helpers/certificate.mjs';
import { installOurs } from './installed.mjs';

const { WebSocket } = createRequire(pathToFileURL(process.argv[1]))('ws-real');

/** Tests of the program in a folder, which `command` builds to .output, where nothing else is installed; and of its development server. */
export function testBuilt(name, folder, command) {
  installOurs(folder);

  test(`${name}: the server that it builds, where nothing else is installed`, async (t) => {
    await build(folder, command, 'build');
    const elsewhere = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
    t.after(() => rmSync(elsewhere, { recursive: true }));
    cpSync(join(folder, '.output'), elsewhere, { recursive: true });
    await exercise(t, await start(t, elsewhere, join(elsewhere, 'server/index.mjs')));
  });

  test(`${name}: its development server`, async (t) => {
    await exercise(t, await start(t, folder, command, 'dev', '--port', '0', '--host', '127.0.0.1'));
  });
}

/** Runs a command to its end. */
export async function build(cwd, command, ...args) {
  const child = spawn(process.execPath, [command, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'], env: environment() });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  const [code] = await once(child, 'close');
  assert.equal(code, 0, Buffer.concat(output).toString());
}

/** Starts a server, and returns its origin without `http`, which it prints: `s://…` over TLS. The end of the test ends it with all of its children. */
export async function start(t, cwd, command, ...args) {
  const child = spawn(process.execPath, [command, ...args], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: environment() });
  t.after(async () => {
    const closed = once(child, 'close');
    process.kill(-child.pid, 'SIGKILL');
    await closed;
  });
  let output = '';
  return new Promise((resolve, reject) => {
    const look = (chunk) => {
      output += chunk;
      // eslint-disable-next-line no-control-regex
      const [, origin] = /http(s?:\/\/(?:127\.0\.0\.1|localhost):\d+)/.exec(output.replaceAll(/\x1b\[[\d;]*m/g, '')) ?? [];
      if (origin !== undefined) resolve(origin);
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.on('exit', () => reject(new Error(`it ended: ${output}`)));
  });
}

function environment() {
  const env = { ...process.env, PORT: '0', HOST: '127.0.0.1', NITRO_HOST: '127.0.0.1', NUXT_TELEMETRY_DISABLED: '1', NEXT_TELEMETRY_DISABLED: '1', CI: '1' };
  // The test runner sets it for its own children.
  delete env.NODE_TEST_CONTEXT;
  return env;
}

/** The checks of a program that serves /page, and the chat /live, whose 'which' asks for the package that serves it. */
export async function exercise(t, origin) {
  // A development server may build first.
  let page = '';
  for (let tries = 0; tries < 600 && !page.includes('page'); tries++) {
    page = await get(`http${origin}/page`).catch(() => '');
    if (!page.includes('page')) await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.match(page, /page/);
  const [first, second] = await Promise.all([1, 2].map(() => open(t, `ws${origin}/live`)));
  for (const client of [first, second]) assert.equal(await ask(client, 'which'), 'reactor-ws');
  const heard = once(second, 'message');
  assert.equal(await ask(first, 'hello'), 'you: hello');
  assert.equal(String((await heard)[0]), 'hello');
  const long = 'ü'.repeat(100_000);
  assert.equal(await ask(first, long), `you: ${long}`);
  const closed = once(first, 'close');
  first.close(4000);
  assert.equal((await closed)[0], 4000);
}

async function get(url) {
  const { get: send } = url.startsWith('https:') ? https : http;
  const response = await new Promise((resolve, reject) => send(url, { ca, servername: 'localhost' }, resolve).on('error', reject));
  return Buffer.concat(await response.toArray()).toString();
}

async function open(t, url) {
  const client = new WebSocket(url, { ca, servername: 'localhost' });
  t.after(() => client.terminate());
  await once(client, 'open');
  return client;
}

async function ask(client, message) {
  const answer = once(client, 'message');
  client.send(message);
  return String((await answer)[0]);
}
