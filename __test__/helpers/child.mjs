// Servers in processes of their own, for tests that the process of ava could not survive.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

import { frame } from './clients.mjs';
import { upgradeRequest } from './raw-client.mjs';

/**
 * For a child with measured memory: the memory in use, not that kept for later. V8's young
 * generation grows with the garbage of a moment, up to 16 MiB and more. glibc learns from the first
 * large block that is freed to take such blocks from its heaps, one for each thread, and a heap
 * shrinks from its top only.
 */
export const MEASURED = {
  nodeArgs: ['--expose-gc', '--max-semi-space-size=1'],
  stdio: ['pipe', 'pipe', 'pipe'],
  env: { GLIBC_TUNABLES: 'glibc.malloc.mmap_threshold=131072' },
};

/** A fixture that runs as a child; killed at the end of the test should it still be there. */
export class Child {
  #stdout = '';
  #stderr = '';
  #ended;

  /** `under`: a command that runs it. */
  constructor(t, fixture, args = [], { nodeArgs = [], stdio = ['ignore', 'pipe', 'pipe'], env = {}, under = [] } = {}) {
    const path = fileURLToPath(new URL(`../fixtures/${fixture}`, import.meta.url));
    const [command, ...rest] = [...under, process.execPath, ...nodeArgs, path, ...args.map(String)];
    this.process = spawn(command, rest, {
      stdio,
      env: { ...process.env, ...env },
    });
    this.process.stdout.on('data', (chunk) => {
      this.#stdout += chunk;
    });
    this.process.stderr.on('data', (chunk) => {
      this.#stderr += chunk;
    });
    this.#ended = once(this.process, 'close');
    t.teardown(() => this.process.exitCode === null && this.process.kill('SIGKILL'));
  }

  /** Its output on stdout so far. */
  get output() {
    return this.#stdout;
  }

  /** Line number `index` of its output, once it is complete. */
  async line(index = 0) {
    const line = () => this.#stdout.split('\n').at(index);
    while (this.#stdout.split('\n').length <= index + 1) {
      const ended = await Promise.race([once(this.process.stdout, 'data'), this.#ended.then(() => true)]);
      if (ended === true && this.#stdout.split('\n').length <= index + 1) {
        throw new Error(`ended without line ${index}: ${this.#stdout}${this.#stderr}`);
      }
    }
    return line();
  }

  /** How it ended, with all its output. */
  async ended() {
    const [code, signal] = await this.#ended;
    return { code, signal, stdout: this.#stdout, stderr: this.#stderr };
  }
}

/**
 * Raw connections that are never idle: each answers all that it gets with ten messages, and a close
 * frame with its own.
 *
 * @returns The end of the text that each has received, when all connections are gone.
 */
export function traffic(t, port, connections = 4) {
  const burst = Buffer.concat(Array.from({ length: 10 }, () => frame(1, 'x'.repeat(100))));
  const connect = () =>
    new Promise((resolve) => {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
      t.teardown(() => socket.destroy());
      let text = '';
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
      socket.on('data', (chunk) => {
        text = (text + chunk.toString('latin1')).slice(-1000);
        socket.write(text.slice(-4, -1) === '\x88\x02\x03' ? frame(8, Buffer.from(text.slice(-2), 'latin1')) : burst);
      });
      socket.write(upgradeRequest());
    });
  return Promise.all(Array.from({ length: connections }, connect));
}

/** Runs `step` that many times, a few at once. */
export async function repeat(times, atOnce, step) {
  let next = 0;
  const lane = async () => {
    while (next < times) await step(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
