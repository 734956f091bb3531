// Starts and stops the servers under test, and runs the load generator against them.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadBinary } from './paths.mjs';

const START_LIMIT = 30_000;
const STOP_LIMIT = 5_000;

/** @typedef {{ port: number, pid: number, stop(signal?: NodeJS.Signals): Promise<void> }} Server */

/**
 * Whether the server can have CPU 0 and the load generator CPU 1 to itself.
 */
export function canPin() {
  if (availableParallelism() < 2) return false;
  return [0, 1].every((cpu) => spawnSync('taskset', ['-c', `${cpu}`, 'true']).status === 0);
}

/**
 * Raises the limit of open files of this process, which its children
 * inherit, to `wanted` if that is allowed.
 *
 * @param {number} wanted
 * @returns {number} The limit in force
 */
export function raiseFileLimit(wanted) {
  if (fileLimit() < wanted) spawnSync('prlimit', [`--pid=${process.pid}`, `--nofile=${wanted}:${wanted}`]);
  return fileLimit();
}

function fileLimit() {
  const line = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
  return line?.[1] === 'unlimited' ? Infinity : Number(line?.[1]);
}

/**
 * Starts a server and waits until it listens.
 *
 * @param {string[]} command Program and arguments. With {port} in an argument the server listens
 *   there; without, it prints `{"port":N,"pid":P}` as its first line
 * @param {number | undefined} cpu CPU to run on
 * @param {Record<string, unknown>} [options] Options that the servers
 *   with the API of ws add to theirs
 * @returns {Promise<Server>}
 */
export async function startServer(command, cpu, options) {
  const port = command.some((word) => word.includes('{port}')) ? await freePort() : 0;
  const words = command.map((word) => word.replace('{port}', `${port}`));
  // taskset replaces itself by the program: the process id stays the child's.
  if (cpu !== undefined) words.unshift('taskset', '-c', `${cpu}`);
  // As servers run: without the checks that only help developers.
  const env = { ...process.env, NODE_ENV: 'production', ...(options && { BENCH_OPTIONS: JSON.stringify(options) }) };
  const child = spawn(words[0], words.slice(1), { stdio: ['ignore', 'pipe', 'inherit'], env });
  const exited = once(child, 'exit');
  try {
    const started = port ? waitForPort(port) : firstLine(child);
    const failed = exited.then(([code, signal]) => {
      throw new Error(`${command.join(' ')} ended with ${signal ?? code} before it listened`);
    });
    const late = sleep(START_LIMIT, undefined, { ref: false }).then(() => {
      throw new Error(`${command.join(' ')} does not listen after ${START_LIMIT} ms`);
    });
    const at = await Promise.race([started, failed, late]);
    child.stdout.resume();
    return { port: at.port, pid: at.pid ?? Number(child.pid), stop: (signal) => stop(child, exited, signal) };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {Promise<unknown[]>} exited
 * @param {NodeJS.Signals} [signal]
 */
async function stop(child, exited, signal = 'SIGTERM') {
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT);
  await exited;
  clearTimeout(timer);
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<{ port: number, pid?: number }>}
 */
async function firstLine(child) {
  const lines = createInterface({ input: /** @type {import('node:stream').Readable} */ (child.stdout) });
  const [line] = await once(lines, 'line');
  lines.close();
  return JSON.parse(line);
}

/**
 * @param {number} port
 * @returns {Promise<{ port: number, pid?: number }>}
 */
export async function waitForPort(port) {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return { port };
    } catch {
      await sleep(20);
    } finally {
      socket.destroy();
    }
  }
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Runs the load generator once.
 *
 * @param {Server} server
 * @param {Record<string, string | number | boolean>} options Without the
 *   dashes; true = a flag without value
 * @returns {Promise<Record<string, any>>}
 */
export async function runLoad(server, options) {
  return startLoad(server, options).ended;
}

/**
 * Ends the server under all its clients, which come back to another server.
 *
 * @param {() => Promise<Server>} start Starts a server
 * @param {Record<string, string | number | boolean>} options As for `runLoad`
 */
export async function runAvalanche(start, options) {
  let server = await start();
  try {
    const { child, ended } = startLoad(server, options);
    await Promise.race([once(child.stdout, 'data'), ended]);
    await server.stop('SIGKILL');
    server = await start();
    child.stdin.end(`${server.port} ${server.pid}\n`);
    return await ended;
  } finally {
    await server.stop();
  }
}

/**
 * @param {Server} server
 * @param {Record<string, string | number | boolean>} options
 */
export function startLoad(server, options) {
  const all = { ...options, port: server.port, pid: server.pid };
  const words = Object.entries(all).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, `${value}`],
  );
  const child = spawn(loadBinary, words);
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (output.out += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (output.err += text));
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').then(([code, signal]) => {
    if (code !== 0) throw new Error(`load ${words.join(' ')}: ${signal ?? code}: ${output.err.trim()}`);
    return JSON.parse(output.out.trim().split('\n').at(-1) ?? '');
  });
  return { child, ended };
}
