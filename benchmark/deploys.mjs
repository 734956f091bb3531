// New versions of a server under load: what its clients notice when their connections move, and the memory of both processes.
//
//   node benchmark/deploys.mjs [--connections 10000] [--deploys 50] [--every 2000] [--record]
//
// Each connection sends a numbered message every --every ms and checks the numbers of the answers. Of ten connections, one is paused and resumed by
// the server, one always has a frame under way of which a part was sent, one gets 256 KiB for each message and reads 64 KiB in a second, two follow a topic with
// a history, of 20 members each, and five echo. The pause of a connection in a deploy: the longest that it has waited for an answer to a message
// that it sent then; connections whose server or client pauses them are left out.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { buildServers } from './build.mjs';
import { writeOther } from './others/record.mjs';
import { raiseFileLimit } from './server-process.mjs';

const KINDS = ['paused', 'cut', 'queued', 'topic', 'topic', 'echo', 'echo', 'echo', 'echo', 'echo'];
const MEMBERS = 20;
/** Bytes of a message. */
const NUMBER = 20;
/** Connections that open at once. */
const AT_ONCE = 200;
/** Milliseconds from a part of a frame to the rest, and from one piece that a client with queued output reads to the next. */
const CUT = 1000;
const LATE = 1000;
/** Milliseconds until all must have been answered. */
const PATIENCE = 60_000;

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '10000' },
    deploys: { type: 'string', default: '50' },
    every: { type: 'string', default: '2000' },
    record: { type: 'boolean' },
  },
});
const count = Number(values.connections);
const every = Number(values.every);
raiseFileLimit(2 * count + 1000);
await buildServers(true);

/** Makes the listening socket of the port, as the descriptor 3, and runs the program. */
const NARROW = `
import os, socket, sys
one = socket.socket()
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
one.bind(('127.0.0.1', int(sys.argv[3])))
one.listen(4096)
os.dup2(one.fileno(), 3)
os.set_inheritable(3, True)
sys.argv[3] = 'fd'
os.execv(sys.argv[1], sys.argv[1:])`;

const folder = mkdtempSync(join(tmpdir(), 'deploys-'));
const failures = { closed: 0, wrong: 0, server: 0 };
let isOver = false;
let isDone = false;

/** A client that knows as much of WebSockets as it needs. */
class Client {
  /** @param {number} index @param {number} port */
  constructor(index, port) {
    this.kind = KINDS[index % KINDS.length];
    const group = Math.floor(index / (KINDS.length * MEMBERS / 2));
    this.topic = this.kind === 'topic' ? `/${group}` : '';
    this.publishes = this.kind !== 'topic';
    this.number = 0;
    this.got = 0;
    this.sentAt = 0;
    this.longest = 0;
    this.bytes = Buffer.alloc(0);
    /** Bytes of the frame under way that are not looked at. */
    this.skip = 0;
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      if (!isDone) failures.closed++;
    });
  }

  async open() {
    await once(this.socket, 'connect');
    this.socket.write(`GET /${this.kind}${this.topic} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
    const [answer] = await once(this.socket, 'data');
    if (!answer.toString('latin1').startsWith('HTTP/1.1 101')) throw new Error(String(answer));
    this.socket.on('data', (/** @type {Buffer} */ chunk) => this.read(chunk));
    if (this.kind === 'queued') this.readLate();
  }

  /** Sends the next message if the last one was answered. */
  send() {
    if (!this.publishes || this.sentAt !== 0) return;
    const text = String(++this.number).padEnd(NUMBER);
    const frame = Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
    this.sentAt = performance.now();
    if (this.kind === 'cut') {
      this.sentAt = Infinity;
      const cut = 1 + (this.number % (frame.length - 1));
      this.socket.write(frame.subarray(0, cut));
      setTimeout(() => {
        this.sentAt = performance.now();
        this.socket.write(frame.subarray(cut));
      }, CUT);
      return;
    }
    this.socket.write(frame);
  }

  /** Reads a piece now and then. */
  readLate() {
    this.socket.on('data', () => this.socket.pause());
    const timer = setInterval(() => this.socket.resume(), LATE);
    this.socket.on('close', () => clearInterval(timer));
  }

  /** @param {Buffer} chunk */
  read(chunk) {
    let bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk]);
    for (;;) {
      const skipped = Math.min(this.skip, bytes.length);
      bytes = bytes.subarray(skipped);
      this.skip -= skipped;
      if (bytes.length < 2) break;
      const [first, short] = bytes;
      const head = short === 127 ? 10 : 2;
      if (first !== 0x81 || (short !== 127 && short !== NUMBER)) {
        failures.wrong++;
        return void this.socket.destroy();
      }
      if (bytes.length < head + NUMBER) break;
      this.answered(Number.parseInt(bytes.toString('latin1', head, head + NUMBER), 10));
      this.skip = head + (short === 127 ? bytes.readUInt32BE(6) : short);
    }
    this.bytes = bytes;
  }

  /** @param {number} number */
  answered(number) {
    if (number !== ++this.got) failures.wrong++;
    if (!this.publishes) return;
    this.longest = Math.max(this.longest, performance.now() - this.sentAt);
    this.sentAt = 0;
    if (this.kind === 'queued' && !isOver) this.send();
  }

  /** How long the latest message has waited, or the longest. */
  pause() {
    const pause = Math.max(this.longest, this.sentAt === 0 ? 0 : performance.now() - this.sentAt);
    this.longest = 0;
    return pause;
  }
}

/** @param {number} port */
async function startVersion(port) {
  const program = [process.execPath, fileURLToPath(new URL('servers/deployed.mjs', import.meta.url)), String(port), join(folder, 'h.sock')];
  // The first version gets a socket whose connections take few bytes of the kernel's memory: output waits in the process.
  const [command, ...args] = clients.length === 0 ? ['python3', '-c', NARROW, ...program] : program;
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'close');
  const version = { child, exited, handover: /** @type {any} */ (null), cpuTaking: 0, cpuGiving: 0 };
  const listening = new Promise((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      const said = JSON.parse(line);
      if (said.gave) {
        version.cpuGiving = said.cpu;
      } else if (said.listening) {
        version.cpuTaking = said.cpu;
        version.handover = said.handover;
        resolve(undefined);
      } else {
        failures.server++;
        console.error(said.error);
      }
    });
  });
  await listening;
  return version;
}

/** In MiB. @param {number | undefined} pid */
function memory(pid) {
  try {
    const line = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return Number(line?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** @type {(sorted: number[], part: number) => number} */
function quantile(sorted, part) {
  return sorted[Math.min(Math.ceil(sorted.length * part), sorted.length) - 1] ?? 0;
}

const reserved = net.createServer().listen(0, '127.0.0.1');
await once(reserved, 'listening');
const { port } = /** @type {net.AddressInfo} */ (reserved.address());
reserved.close();
await once(reserved, 'close');
/** @type {Client[]} */
const clients = [];
let current = await startVersion(port);
while (clients.length < count) {
  const some = Array.from({ length: Math.min(AT_ONCE, count - clients.length) }, (_, index) => new Client(clients.length + index, port));
  await Promise.all(some.map((client) => client.open()));
  clients.push(...some);
}
for (const topic of new Set(clients.map((client) => client.topic))) {
  const first = clients.find((client) => client.topic === topic);
  if (topic !== '' && first) first.publishes = true;
}
// Evenly over the time.
let turn = 0;
const TICK = 10;
let due = 0;
const sender = setInterval(() => {
  for (due += (clients.length * TICK) / every; due >= 1; due--) clients[turn++ % clients.length].send();
}, TICK);
await sleep(2 * every);

const measured = clients.filter(({ kind, publishes }) => publishes && ['cut', 'echo', 'topic'].includes(kind));
const runs = [];
for (let deploy = 1; deploy <= Number(values.deploys); deploy++) {
  for (const client of clients) client.pause();
  const before = memory(current.child.pid);
  let mostOld = 0;
  const begun = performance.now();
  const old = current;
  const starting = startVersion(port);
  const sampler = setInterval(() => {
    mostOld = Math.max(mostOld, memory(old.child.pid));
  }, 50);
  current = await starting;
  const [code] = await old.exited;
  if (code !== 0) failures.server++;
  const took = performance.now() - begun;
  clearInterval(sampler);
  await sleep(every / 2);
  const pauses = measured.map((client) => client.pause()).sort((a, b) => a - b);
  const { bytes, duration, pause, taken } = current.handover;
  const run = {
    taken,
    bytes,
    deploy_ms: took,
    conversation_ms: 1000 * duration,
    pause_ms: 1000 * pause,
    cpu_old_ms: old.cpuGiving,
    cpu_new_ms: current.cpuTaking,
    p50_ms: quantile(pauses, 0.5),
    p99_ms: quantile(pauses, 0.99),
    longest_ms: pauses.at(-1) ?? 0,
    old_before_mib: before,
    old_most_mib: mostOld,
    new_mib: memory(current.child.pid),
  };
  runs.push(run);
  console.error(deploy, JSON.stringify(run, (_, value) => (typeof value === 'number' ? Math.round(10 * value) / 10 : value)), JSON.stringify(failures));
  if (taken !== count) break;
}
clearInterval(sender);
isOver = true;
// All that is under way.
const deadline = performance.now() + PATIENCE;
while (clients.some((client) => client.sentAt !== 0) && performance.now() < deadline) await sleep(100);
await sleep(1000);
const published = new Map(clients.filter(({ publishes, topic }) => publishes && topic !== '').map(({ number, topic }) => [topic, number]));
const lost = clients.reduce((sum, { got, number, topic }) => sum + Math.abs((published.get(topic) ?? number) - got), 0);
const messages = clients.reduce((sum, { got }) => sum + got, 0);
isDone = true;
current.child.kill('SIGKILL');
for (const { socket } of clients) socket.destroy();
rmSync(folder, { recursive: true });

const of = (/** @type {keyof typeof runs[0]} */ name) => runs.map((run) => run[name]).sort((a, b) => a - b);
const shown = (/** @type {keyof typeof runs[0]} */ name) => `${Math.round(quantile(of(name), 0.5))} (${Math.round(of(name).at(-1) ?? 0)})`;
console.log(`\n${count.toLocaleString('en')} connections, ${runs.length} deploys, ${messages.toLocaleString('en')} answers: ${failures.closed} closed, ${lost} lost or repeated, ${failures.wrong} out of order, ${failures.server} other failures\n`);
console.log('| median of the deploys (highest) | |\n|---|---:|');
console.log(`| not read, as the server counts, ms | ${shown('pause_ms')} |`);
console.log(`| longest wait of a client for an answer, p99, ms | ${shown('p99_ms')} |\n| longest, ms | ${shown('longest_ms')} |`);
console.log(`| CPU time of the old process for it, ms | ${shown('cpu_old_ms')} |\n| of the new one, from its program on, ms | ${shown('cpu_new_ms')} |`);
console.log(`| from the start of the new process to the end of the old one, ms | ${shown('deploy_ms')} |`);
console.log(`| state of the connections, MiB | ${Math.round(quantile(of('bytes'), 0.5) / 2 ** 20)} |`);
console.log(`| memory of the old process before, MiB | ${shown('old_before_mib')} |\n| at most meanwhile, MiB | ${shown('old_most_mib')} |\n| of the new one, MiB | ${shown('new_mib')} |`);
if (values.record) writeOther('deploys', { connections: count, every, messages, lost, failures, runs });
process.exitCode = failures.closed + failures.wrong + failures.server + lost === 0 ? 0 : 1;
