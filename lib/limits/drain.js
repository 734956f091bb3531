'use strict';

const { isUint8Array } = require('node:util').types;

const { MAX_DELAY, checkOptions, checkValue, delay, wrongType } = require('../base/checks');
const { CAUSE_BITS, CAUSE_SHIFT } = require('../base/bits');
const { closeReason } = require('../connection/arguments');
const { causeOf } = require('../connection/state');
const { CLOSED } = require('../base/constants');
const { CAUSE, SERVICE_RESTART, isValidStatusCode } = require('../base/layout');
const { Spread } = require('./spread');

/** @import { DrainOptions, DrainProgress } from '../../types/running' */
/** @import { Server, WebSocket } from '../connection/state' */
/** @import { Counted } from '../metrics/counts' */

/** Milliseconds. */
const DURATION = { type: /** @type {const} */ ('number'), min: 0, max: MAX_DELAY };

/** Least milliseconds between checks for due clients. */
const STEP = 5;

/** Least milliseconds between calls of `onProgress`. */
const REPORT_INTERVAL = 100;

/** Milliseconds until a terminated connection counts as timed out: a stream can fail to report its end. */
const CUT_TIMEOUT = 1000;

/** Closes the clients of a server over some time, and refuses new ones. */
class Drain {
  /** @param {Server} server @param {ReturnType<typeof checked>} options */
  constructor(server, { code, duration, onProgress, reason, signal }) {
    this.server = server;
    this.code = code;
    this.reason = reason;
    this.onProgress = onProgress;
    this.signal = signal;
    this.closeTimeout = delay(server.options.closeTimeout);
    const now = performance.now();
    this.end = now + duration;
    /** @type {WebSocket[]} */
    this.clients = [.../** @type {{ clients: Set<WebSocket> }} */ (/** @type {unknown} */ (server)).clients];
    /** @type {Set<Counted>} */
    this.open = new Set(this.clients);
    /** Clients with a sent close frame, and their deadlines, in order. @type {Map<WebSocket, number>} */
    this.closing = new Map();
    /** Terminated clients. @type {Set<Counted>} */
    this.cut = new Set();
    this.spread = new Spread(this.clients.length, duration, now);
    /** Clients to close now. */
    this.due = 0;
    this.closed = 0;
    this.timedOut = 0;
    this.isOver = false;
    this.timer = this.reporter = /** @type {NodeJS.Timeout | undefined} */ (undefined);
    this.abort = () => this.finish();
    /** @type {Promise<DrainProgress>} */
    this.result = new Promise((resolve) => {
      this.resolve = resolve;
    });
    signal?.addEventListener('abort', this.abort, { once: true });
    if (this.open.size === 0 || signal?.aborted) this.finish();
    else this.wait(now);
  }

  /** Value of Retry-After: seconds until other processes serve a refused client. */
  get retryAfter() {
    return Math.max(1, Math.ceil((this.end - performance.now()) / 1000));
  }

  /** @returns {DrainProgress} */
  get progress() {
    const { closed, open, timedOut } = this;
    return { closed, timedOut, left: open.size };
  }

  /** @param {Counted} ws */
  gone(ws) {
    if (this.isOver) return;
    if (!this.open.delete(ws)) return;
    this.closing.delete(/** @type {WebSocket} */ (ws));
    if (this.cut.has(ws) || causeOf(ws) === CAUSE.CLOSE_TIMEOUT) this.timedOut++;
    else this.closed++;
    this.changed();
  }

  /** Names the drain as the cause of an end that it caused. @param {WebSocket} ws */
  explain(ws) {
    let cause = causeOf(ws);
    if (cause === CAUSE.CLOSED && this.closing.has(ws)) cause = CAUSE.DRAIN;
    if (cause === CAUSE.TERMINATE && this.cut.has(ws)) cause = CAUSE.CLOSE_TIMEOUT;
    ws._bits = (ws._bits & ~CAUSE_BITS) | (cause << CAUSE_SHIFT);
  }

  changed() {
    if (this.isOver) return;
    if (this.open.size === 0) this.finish();
    else if (this.onProgress) this.reporter ??= setTimeout(() => this.report(), REPORT_INTERVAL);
  }

  report() {
    this.reporter = undefined;
    this.onProgress?.(this.progress);
  }

  /** @param {number} now Milliseconds */
  wait(now) {
    const [until = Infinity] = this.closing.values();
    const next = this.spread.left === 0 ? until : Math.min(until, this.spread.next);
    this.timer = undefined;
    const wait = this.due > 0 ? 0 : next - now;
    this.timer = setTimeout(() => this.step(), Math.max(wait, STEP));
  }

  step() {
    const now = performance.now();
    try {
      this.due += this.spread.take(now);
      while (this.due > 0) this.close(now);
      for (const [ws, until] of this.closing) {
        if (until > now) break;
        this.giveUp(ws, now);
      }
    } finally {
      if (!this.isOver) this.wait(now);
    }
  }

  /** @param {number} now */
  close(now) {
    this.due--;
    const ws = /** @type {WebSocket} */ (this.clients.pop());
    // The client might have closed it.
    if (!this.open.has(ws)) return;
    this.closing.set(ws, now + this.closeTimeout);
    ws.close(this.code, this.reason);
  }

  /** `closeTimeout` is over. @type {(ws: WebSocket, now: number) => void} */
  giveUp(ws, now) {
    this.closing.delete(ws);
    if (ws.readyState !== CLOSED && !this.cut.has(ws)) {
      this.cut.add(ws);
      this.closing.set(ws, now + CUT_TIMEOUT);
      ws.terminate();
      return;
    }
    this.open.delete(ws);
    this.timedOut++;
    this.changed();
  }

  finish() {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    clearTimeout(this.reporter);
    this.signal?.removeEventListener('abort', this.abort);
    const { onProgress, progress } = this;
    // Not while the last client is closing: the callback can throw.
    process.nextTick(() => {
      this.resolve?.(progress);
      onProgress?.(progress);
    });
  }
}

/** @param {DrainOptions | null} [options] */
function checked(options) {
  const { code = SERVICE_RESTART, duration = 10_000, onProgress, reason = '', signal } = options ?? {};
  checkOptions(options, ['code', 'duration', 'onProgress', 'reason', 'signal']);
  checkValue(DURATION, duration, 'options.duration');
  if (typeof code !== 'number' || !isValidStatusCode(code)) throw wrongType('options.code', 'a status code', code);
  if (typeof reason !== 'string' && !isUint8Array(reason)) throw wrongType('options.reason', 'a string or a Uint8Array', reason);
  closeReason(code, reason);
  if (onProgress !== undefined) checkValue({ type: 'function' }, onProgress, 'options.onProgress');
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw wrongType('options.signal', 'an AbortSignal', signal);
  }
  return { code, duration, onProgress, reason, signal };
}

/**
 * Resolves when all clients have ended or `signal` is aborted.
 *
 * @type {(server: Server, options?: DrainOptions | null) => Promise<DrainProgress>}
 */
async function drain(server, options) {
  if (!(/** @type {{ clients?: object }} */ (/** @type {unknown} */ (server)).clients)) throw new Error('drain() needs clientTracking');
  const given = checked(options);
  if (server._drain === null || server._drain.isOver) server._drain = new Drain(server, given);
  server._updateHooks();
  return server._drain.result;
}

module.exports = { Drain, drain };
