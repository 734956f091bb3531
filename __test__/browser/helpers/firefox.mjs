// Firefox, by its protocol Marionette: JSON with its length before it, over TCP.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { isExecutable } from '../../../scripts/run.mjs';

const NAMES = ['firefox', 'firefox-esr'];
/** It writes the port that it has chosen into this file of its profile. */
const PORT_FILE = 'MarionetteActivePort';

/** The path of the program, or null. */
export function findFirefox() {
  const folders = (process.env.PATH || '').split(delimiter);
  const onPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [process.env.FIREFOX_PATH, ...onPath].find((file) => file && isExecutable(file)) ?? null;
}

/** A Firefox with one page, which takes any certificate. */
export async function launchFirefox(t, path) {
  const profile = mkdtempSync(join(tmpdir(), 'reactor-ws-firefox-'));
  writeFileSync(join(profile, 'user.js'), 'user_pref("marionette.port", 0);\n');
  const child = spawn(path, ['--headless', '--marionette', '--no-remote', '--profile', profile], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(profile, { recursive: true, maxRetries: 10, retryDelay: 100 });
  });
  const file = join(profile, PORT_FILE);
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') {
    if (child.exitCode !== null) throw new Error('Firefox has ended');
    await delay(100);
  }
  const marionette = await Marionette.connect(Number(readFileSync(file, 'utf8')));
  t.after(() => marionette.end());
  await marionette.ask('WebDriver:NewSession', { acceptInsecureCerts: true });
  await marionette.ask('WebDriver:SetTimeouts', { script: 600_000, pageLoad: 600_000 });
  return marionette;
}

class Marionette {
  #socket;
  #bytes = Buffer.alloc(0);
  #asked = new Map();
  #id = 0;

  static async connect(port) {
    const socket = net.connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Marionette(socket);
  }

  constructor(socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('data', (chunk) => this.#read(chunk));
  }

  #read(chunk) {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const colon = this.#bytes.indexOf(':');
      const length = Number(this.#bytes.subarray(0, Math.max(colon, 0)));
      if (colon === -1 || this.#bytes.length < colon + 1 + length) return;
      const message = JSON.parse(this.#bytes.subarray(colon + 1, colon + 1 + length));
      this.#bytes = this.#bytes.subarray(colon + 1 + length);
      // The first one is a greeting.
      if (Array.isArray(message)) this.#asked.get(message[1])?.(message);
    }
  }

  /** The result of a command. */
  async ask(command, parameters) {
    const text = JSON.stringify([0, ++this.#id, command, parameters]);
    const answered = new Promise((resolve) => this.#asked.set(this.#id, resolve));
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [, , error, result] = await answered;
    if (error !== null) throw new Error(`${command}: ${error.error} ${error.message}`);
    return result;
  }

  goto(url) {
    return this.ask('WebDriver:Navigate', { url });
  }

  /** The result of an asynchronous function in the page. */
  async evaluate(step, ...args) {
    const script = `const done = arguments[arguments.length - 1];
      (${step})(...[...arguments].slice(0, -1)).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value } = await this.ask('WebDriver:ExecuteAsyncScript', { script, args });
    if ('error' in value) throw new Error(value.error);
    return value.value;
  }

  end() {
    this.#socket.destroy();
  }
}
