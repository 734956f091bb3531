// reactor-ws and ws beside each other: two servers, the same load on both, and its
// cost. All of them are processes of their own, so this process watches them also
// while their JavaScript is blocked.

import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { performance } from 'node:perf_hooks';

import { Probe } from './probe.mjs';
import { memoryOf, threadTimes } from './threads.mjs';

const NAMES = ['reactor-ws', 'ws'];
const SAMPLE_MS = 250;
/** Samples that a new page gets, so that its charts are full at once: 30 s. */
const HISTORY = 120;
export const BLOCK_MS = 3000;
export const MOST = { connections: 500, rate: 100_000 };

/**
 * Emits 'sample' four times a second, 'verdict' when a block is over, and
 * 'load' when the load has changed.
 */
export class Contest extends EventEmitter {
  history = [];
  load = { isOn: true, connections: 100, rate: 20_000 };
  isBlocked = false;
  #isWatched = false;
  #servers = [];
  #generator;
  #timer;

  async start() {
    this.#servers = await Promise.all(NAMES.map((name) => startServer(name)));
    this.#generator = run('load.mjs');
    this.#generator.on('message', ({ echoes }) => {
      for (const [index, count] of echoes.entries()) this.#servers[index].echoes += count;
    });
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** @param {{ isOn: unknown, connections: unknown, rate: unknown }} wanted */
  setLoad({ isOn, connections, rate }) {
    this.load = {
      isOn: Boolean(isOn),
      connections: within(connections, MOST.connections),
      rate: within(rate, MOST.rate),
    };
    this.#generate();
    this.emit('load', this.load);
  }

  /** There is load only while somebody looks. */
  setWatched(isWatched) {
    if (isWatched === this.#isWatched) return;
    this.#isWatched = isWatched;
    this.#generate();
  }

  /** Blocks the JavaScript of both for three seconds. */
  async block() {
    if (this.isBlocked || !this.#generator.connected) return;
    this.isBlocked = true;
    for (const { probe } of this.#servers) probe.take();
    await Promise.all(this.#servers.map((server) => blocked(server)));
    this.isBlocked = false;
    const answered = this.#servers.map(({ probe }) => probe.take());
    this.emit('verdict', Object.fromEntries(NAMES.map((name, index) => [name, answered[index]])));
  }

  stop() {
    clearInterval(this.#timer);
    for (const child of [this.#generator, ...this.#servers.map(({ child: server }) => server)]) {
      // From here on nothing is sent to the process.
      if (child.connected) child.disconnect();
      child.kill();
    }
  }

  #generate() {
    // Visitors leave after the end as well.
    if (!this.#generator.connected) return;
    const ports = this.#servers.map(({ port }) => port);
    const { connections, isOn, rate } = this.load;
    this.#generator.send({ ports, connections: isOn && this.#isWatched ? connections : 0, rate });
  }

  #sample() {
    const servers = Object.fromEntries(this.#servers.map((server) => [server.name, figuresOf(server)]));
    const sample = { isBlocked: this.isBlocked, servers };
    this.history.push(sample);
    if (this.history.length > HISTORY) this.history.shift();
    this.emit('sample', sample);
  }
}

function run(file, ...args) {
  return fork(new URL(file, import.meta.url), args);
}

async function startServer(name) {
  const child = run('contestant.mjs', name);
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${name} does not run. In a clone, npm ci && npm run build installs and builds both.`);
  });
  const [{ port }] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => {});
  const since = performance.now();
  const server = { name, child, port, probe: new Probe(`ws://127.0.0.1:${port}`), echoes: 0, reported: {}, since, times: null };
  server.times = threadTimes(child.pid);
  child.on('message', ({ figures, isBlocked }) => {
    if (figures !== undefined) server.reported = figures;
    if (isBlocked === false) child.emit('unblocked');
  });
  return server;
}

async function blocked({ child, probe }) {
  child.send({ block: BLOCK_MS });
  await once(child, 'unblocked');
  // The pong that was late is part of the story.
  while (!probe.isAnswered) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The figures since the last call, per second. */
function figuresOf(server) {
  const { child, echoes, probe, since, times, reported } = server;
  const now = performance.now();
  const seconds = (now - since) / 1000;
  const current = threadTimes(child.pid);
  const share = (thread) => (times === null || current === null ? null : (current[thread] - times[thread]) / seconds / 1e7);
  Object.assign(server, { echoes: 0, since: now, times: current });
  return {
    javascriptCpu: rounded(share('javascript') ?? reported.busy),
    reactorCpu: rounded(share('reactor')),
    allCpu: rounded(share('all')),
    ping: rounded(probe.milliseconds, 2),
    echoes: Math.round(echoes / seconds),
    perTurn: rounded(reported.perTurn),
    delayMax: rounded(reported.delayMax),
    memory: memoryOf(child.pid),
  };
}

function rounded(value, digits = 1) {
  return Number.isFinite(value) ? Number(value.toFixed(digits)) : null;
}

function within(value, most) {
  return Number.isInteger(value) ? Math.min(Math.max(value, 1), most) : 1;
}
