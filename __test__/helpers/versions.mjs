// Versions of a server with option `handover`, each in a process of its own.
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import WebSocket from 'ws';

import { Child, ownOnPosix, test } from './index.mjs';

/** Tests of one file at the same time: each has some processes of its own, and time limits of the product hold for them. */
const AT_ONCE = 6;
const waiting = [];
let running = 0;

/** In the mode of the run, with few others. */
export function inMode(title, act) {
  ownOnPosix(title, async (t) => {
    if (running++ >= AT_ONCE) await new Promise((resolve) => waiting.push(resolve));
    t.teardown(() => {
      running--;
      waiting.shift()?.();
    });
    await act(t);
  });
}
inMode.skip = test.skip;

/** A folder that only this user can write to, with the path. */
export function place(t) {
  const folder = mkdtempSync(join(tmpdir(), 'handover-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return join(folder, 'h.sock');
}

/** A version of the server; `port` 0: the first. */
export async function version(t, name, port, path, options = {}, how = {}) {
  const child = new Child(t, options.mode ? 'movable-http.mjs' : 'movable.mjs', [name, port, path, JSON.stringify(options)], how);
  const line = await child.line();
  const [word, bound] = line.split(' ');
  if (word === 'listening') await until(() => statSync(path, { throwIfNoEntry: false }));
  return Object.assign(child, { port: Number(bound), first: line });
}

/** A version has ended as it should. */
export async function exits(t, child) {
  const { code, stdout, stderr } = await child.ended();
  t.is(code, 0, stdout + stderr);
  t.false(/error/.test(stdout), stdout);
  t.is(stderr, '');
  return stdout;
}

export async function until(done) {
  while (!done()) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

export async function open(port, url = '/', options = {}) {
  const ws = new WebSocket(`ws://127.0.0.1:${port}${url}`, options.protocols ?? [], options);
  ws.closes = new Promise((resolve) => {
    ws.on('close', (code) => resolve(code));
  });
  await once(ws, 'open');
  return ws;
}

export async function ask(ws, text) {
  const answer = once(ws, 'message');
  ws.send(text);
  return String((await answer)[0]);
}
