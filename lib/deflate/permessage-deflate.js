'use strict';

const zlib = require('node:zlib');

const { EMPTY_BUFFER, kStatusCode } = require('../base/constants');
const { Fifo } = require('../base/fifo');
const extension = require('./extension');
const { acceptanceOf, zlibWindowBits } = require('./options');
const { INVALID_PAYLOAD } = require('../base/layout');
const { maxPayloadExceeded, orThrow } = require('../base/errors');
const { addon } = require('../reactor/addon');
const { limit } = require('../base/checks');

/** @typedef {(error: Error | null, data?: Buffer) => void} Callback */

/** @template Data @typedef {(data: Data, fin: boolean, callback: Callback) => void} Transform */

/**
 * By name in the header (RFC 7692, 7.1). Windows: 8 to 15; true if a client only knows the parameter.
 *
 * @typedef {{ client_no_context_takeover?: boolean, server_no_context_takeover?: boolean, client_max_window_bits?: number | boolean, server_max_window_bits?: number | boolean }} Params
 */

/** @typedef {(zlib.DeflateRaw | zlib.InflateRaw) & { [kFlow]: Flow }} Stream */

const kFlow = Symbol('kFlow');

/** A sender leaves out these bytes at the end of a message (RFC 7692, 7.2.1). */
const TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff]);

const DEFLATE = 'permessage-deflate';

const CONCURRENCY = 10;

/** Calls to zlib; the first PerMessageDeflate says how many run at once. */
const jobs = { most: 0, running: 0, waiting: /** @type {import('../base/fifo').FifoOf<() => void>} */ (new Fifo()) };

/**
 * permessage-deflate (RFC 7692) over Node's zlib. Connections of this package negotiate with it; their engine
 * compresses.
 */
class PerMessageDeflate {
  /** @param {import('../../types/tools').DeflateOptions} [options] */
  constructor(options = {}) {
    this._options = options;
    this._threshold = options.threshold !== undefined ? options.threshold : 1024;
    this._maxPayload = limit(options.maxPayload);
    this._isServer = !!options.isServer;
    /** Negotiated; null before. @type {any} */
    this.params = null;
    /** Streams of zlib, with output at `kFlow`. @type {Stream | null} */
    this._deflate = null;
    /** @type {Stream | null} */
    this._inflate = null;
    if (jobs.most === 0) {
      jobs.most = (options.concurrencyLimit !== undefined ? options.concurrencyLimit : CONCURRENCY) || Infinity;
    }
  }

  static get extensionName() {
    return DEFLATE;
  }

  offer() {
    const { clientMaxWindowBits, clientNoContextTakeover, serverMaxWindowBits, serverNoContextTakeover } = this._options;
    /** @type {Params} */
    const params = {};
    if (serverNoContextTakeover) params.server_no_context_takeover = true;
    if (clientNoContextTakeover) params.client_no_context_takeover = true;
    if (serverMaxWindowBits) params.server_max_window_bits = serverMaxWindowBits;
    if (clientMaxWindowBits) params.client_max_window_bits = clientMaxWindowBits;
    else if (clientMaxWindowBits == null) params.client_max_window_bits = true;
    return params;
  }

  /** @type {(configurations: Record<string, Array<string | true>>[]) => Params | null} */
  accept(configurations) {
    const header = extension.format({ [DEFLATE]: configurations });
    return this._accept(header);
  }

  /** The header of the other end. Null if it has no offer. @type {(header: string) => Params | null} */
  _accept(header) {
    const answer = orThrow(addon().negotiateDeflate(header, this._isServer, acceptanceOf(this._options)));
    if (answer === '') return null;
    const [params] = extension.parse(answer)[DEFLATE];
    for (const [name, [value]] of Object.entries(params)) {
      Object.assign(params, { [name]: value === true || Number(value) });
    }
    this.params = params;
    return this.params;
  }

  /** Frees what zlib holds. A pending compression ends with an error. */
  cleanup() {
    this._inflate?.close();
    this._inflate = null;
    const deflate = this._deflate;
    this._deflate = null;
    deflate?.close();
    deflate?.[kFlow].finish(new Error('The deflate stream was closed while data was being processed'));
  }

  /** @type {Transform<string | Uint8Array>} */
  compress(data, fin, callback) {
    run((done) => this._compress(data, fin, done), callback);
  }

  /** @type {Transform<Uint8Array>} */
  decompress(data, fin, callback) {
    run((done) => this._decompress(data, fin, done), callback);
  }

  /** @type {Transform<string | Uint8Array>} */
  _compress(data, fin, callback) {
    const side = this._isServer ? 'server' : 'client';
    if (this._deflate === null) {
      const windowBits = zlibWindowBits(this.params[`${side}_max_window_bits`]);
      const stream = zlib.createDeflateRaw({ ...this._options.zlibDeflateOptions, windowBits });
      this._deflate = Object.assign(stream, { [kFlow]: new Flow(stream, 0) });
    }
    const stream = this._deflate;
    const flow = stream[kFlow];
    flow.callback = callback;
    stream.write(data);
    stream.flush(zlib.constants.Z_SYNC_FLUSH, () => {
      // Cleaned up meanwhile.
      if (this._deflate !== stream) return;
      const all = flow.take();
      if (fin && this.params[`${side}_no_context_takeover`]) stream.reset();
      flow.finish(null, fin ? all.subarray(0, -TAIL.length) : all);
    });
  }

  /** @type {Transform<Uint8Array>} */
  _decompress(data, fin, callback) {
    const side = this._isServer ? 'client' : 'server';
    if (this._inflate === null) this._inflate = this._openInflate(side);
    const stream = this._inflate;
    const flow = stream[kFlow];
    flow.callback = callback;
    stream.write(data);
    if (fin) stream.write(TAIL);
    stream.flush(() => {
      if (flow.error !== null) {
        stream.close();
        this._inflate = null;
        flow.finish(flow.error);
        return;
      }
      const all = flow.take();
      // A block with the final bit ends the stream; the next message begins a new one.
      if (stream.readableEnded) {
        stream.close();
        this._inflate = null;
      } else if (fin && this.params[`${side}_no_context_takeover`]) {
        stream.reset();
      }
      flow.finish(null, all);
    });
  }

  /** @param {'server' | 'client'} side */
  _openInflate(side) {
    const windowBits = zlibWindowBits(this.params[`${side}_max_window_bits`]);
    const stream = zlib.createInflateRaw({ ...this._options.zlibInflateOptions, windowBits });
    const flow = new Flow(stream, this._maxPayload);
    stream.on('error', (/** @type {Error & { [kStatusCode]?: number }} */ error) => {
      // zlib has closed it.
      this._inflate = null;
      error[kStatusCode] = INVALID_PAYLOAD;
      flow.finish(flow.error ?? error);
    });
    return Object.assign(stream, { [kFlow]: flow });
  }
}

/** The output of a stream of zlib. */
class Flow {
  /** @param {zlib.DeflateRaw | zlib.InflateRaw} stream @param {number} most Bytes; 0: no limit */
  constructor(stream, most) {
    this.length = 0;
    /** @type {Buffer[]} */
    this.chunks = [];
    /** @type {Error | null} */
    this.error = null;
    /** @type {Callback | null} */
    this.callback = null;
    const onData = (/** @type {Buffer} */ chunk) => {
      this.length += chunk.length;
      if (most === 0 || this.length <= most) {
        this.chunks.push(chunk);
        return;
      }
      this.error = maxPayloadExceeded();
      stream.removeListener('data', onData);
      // Unlike close(), lets the pending flush finish.
      stream.reset();
    };
    stream.on('data', onData);
  }

  take() {
    const { chunks, length } = this;
    this.chunks = [];
    this.length = 0;
    if (chunks.length === 0) return EMPTY_BUFFER;
    return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length);
  }

  /** @type {Callback} */
  finish(error, data) {
    const { callback } = this;
    this.callback = null;
    callback?.(error, data);
  }
}

/**
 * Runs a job when not too many others run, and the next one before `callback`.
 *
 * @type {(job: (done: Callback) => void, callback: Callback) => void}
 */
function run(job, callback) {
  if (jobs.running === jobs.most) {
    jobs.waiting.push(() => run(job, callback));
    return;
  }
  jobs.running++;
  job((error, data) => {
    jobs.running--;
    jobs.waiting.shift()?.();
    callback(error, data);
  });
}

module.exports = { DEFLATE, PerMessageDeflate };
