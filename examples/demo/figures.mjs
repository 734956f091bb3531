// What the demo shows about its server, taken once a second from the outside: nothing here asks the addon.

import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;

export class Figures {
  #received = 0;
  #sent = 0;
  #turns = 0;
  #turnIsOpen = false;
  #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #since = process.hrtime.bigint();
  #cpu = threadTimes();

  constructor() {
    this.#delay.enable();
  }

  /** A message came in. Those that come before the event loop turns were delivered together. */
  received() {
    this.#received += 1;
    if (this.#turnIsOpen) return;
    this.#turnIsOpen = true;
    this.#turns += 1;
    setImmediate(() => (this.#turnIsOpen = false));
  }

  sent() {
    this.#sent += 1;
  }

  /** The figures since the last call, as the page shows them. */
  take(connections) {
    const now = process.hrtime.bigint();
    const cpu = threadTimes();
    const seconds = Number(now - this.#since) / 1e9;
    const share = (thread) => (cpu === null ? null : round(Number(cpu[thread] - this.#cpu[thread]) / seconds / 1e7, 1));
    const figures = {
      connections,
      received: Math.round(this.#received / seconds),
      sent: Math.round(this.#sent / seconds),
      perTurn: this.#turns === 0 ? 0 : round(this.#received / this.#turns, 1),
      delayP99: this.#delayMs(this.#delay.percentile(99)),
      delayMax: this.#delayMs(this.#delay.max),
      javascriptCpu: share('javascript'),
      reactorCpu: share('reactor'),
      memory: Math.round(process.memoryUsage.rss() / 2 ** 20),
    };
    this.#received = this.#sent = this.#turns = 0;
    this.#delay.reset();
    this.#since = now;
    this.#cpu = cpu;
    return figures;
  }

  /** The histogram has the time between two timers; the time they were set to is no delay. */
  #delayMs(nanoseconds) {
    return round(Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS), 1);
  }
}

/** Nanoseconds that the JavaScript thread and the reactor's have run so far; null where there is no /proc. */
function threadTimes() {
  const times = { javascript: 0n, reactor: 0n };
  try {
    for (const id of readdirSync('/proc/self/task')) {
      const name = readFileSync(`/proc/self/task/${id}/comm`, 'utf8');
      const thread = Number(id) === process.pid ? 'javascript' : name.startsWith('reactor') ? 'reactor' : null;
      if (thread === null) continue;
      times[thread] += BigInt(readFileSync(`/proc/self/task/${id}/schedstat`, 'utf8').split(' ')[0]);
    }
  } catch {
    return null;
  }
  return times;
}

function round(value, digits) {
  return Number.isFinite(value) ? Number(value.toFixed(digits)) : 0;
}
