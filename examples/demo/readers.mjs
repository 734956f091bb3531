// The readers of the feed, in a process of their own: node readers.mjs <port> <count>
//
// The first one stalls when the demo asks for it. Four times a second the demo gets its figures,
// and those of the slowest of the others.

import { WebSocket } from 'reactor-ws';

const REPORT_MS = 250;
const [port, count] = process.argv.slice(2).map(Number);

class Reader {
  /** The number of the last message. */
  last = 0;
  received = 0;
  /** Messages whose number never came. */
  missed = 0;
  /** Milliseconds of the slowest message: of a sample, and of a stall. */
  slowest = { sample: 0, stall: 0 };
  #counted = 0;

  constructor() {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
    this.socket.on('error', () => {});
    this.socket.on('message', (data) => this.#read(data));
  }

  /** Messages per second, and milliseconds that the slowest took, since the last call. */
  take(seconds) {
    const taken = { messages: Math.round((this.received - this.#counted) / seconds), delay: this.slowest.sample };
    this.#counted = this.received;
    this.slowest.sample = 0;
    return taken;
  }

  #read(data) {
    const number = data.readDoubleLE(0);
    const milliseconds = Number(process.hrtime.bigint() - data.readBigInt64LE(8)) / 1e6;
    if (this.received > 0) this.missed += number - this.last - 1;
    this.last = number;
    this.received += 1;
    this.slowest.sample = Math.max(this.slowest.sample, milliseconds);
    this.slowest.stall = Math.max(this.slowest.stall, milliseconds);
  }
}

const [one, ...others] = Array.from({ length: count }, () => new Reader());
let stalledAt = null;
let reported = performance.now();

process.on('disconnect', () => process.exit());
process.on('message', ({ stall }) => stallOne(stall));
setInterval(report, REPORT_MS);

async function stallOne(milliseconds) {
  const before = others.map(({ received }) => received);
  for (const { slowest } of [one, ...others]) slowest.stall = 0;
  one.socket.pause();
  stalledAt = performance.now();
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  const during = Math.min(...others.map(({ received }, index) => received - before[index]));
  const slowest = Math.max(...others.map((other) => other.slowest.stall));
  const newest = Math.max(...others.map(({ last }) => last));
  const lacked = newest - one.last;
  one.socket.resume();
  stalledAt = null;
  while (one.last < newest && one.socket.readyState === WebSocket.OPEN) await new Promise((resolve) => setTimeout(resolve, 10));
  send({ made: { during, slowest, lacked, missed: one.missed } });
}

function report() {
  const now = performance.now();
  const seconds = (now - reported) / 1000;
  reported = now;
  const taken = others.map((other) => other.take(seconds));
  const messages = Math.min(...taken.map((other) => other.messages));
  const delay = Math.max(...taken.map((other) => other.delay));
  const its = one.take(seconds);
  // The message under way, while the reader reads none.
  if (stalledAt !== null) its.delay = Math.max(its.delay, now - stalledAt);
  send({ figures: { others: rounded({ messages, delay }), one: rounded(its) } });
}

function rounded({ delay, messages }) {
  return { messages, delay: Number(delay.toFixed(2)) };
}

function send(message) {
  if (process.connected) process.send(message);
}
