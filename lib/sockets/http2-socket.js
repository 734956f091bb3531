'use strict';

// Not the global ones, which a test can replace.
const { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = require('node:timers');

const { EMPTY_BUFFER, kPort } = require('../base/constants');
const { TLS_FIELDS, TLS_METHODS } = require('./tls-socket');
const { parseResponseHead } = require('./response-head');

/** @import { AnySocket } from '../connection/state' */

/** Error codes (RFC 9113, 7). RFC 8441, 5 says which one stands for a TCP RST. */
const NO_ERROR = 0;
const CANCEL = 8;

const OK = 200;

/** Milliseconds for a refusal to leave: a client can let no DATA through. */
const REFUSAL_TIMEOUT = 10_000;

/** Milliseconds between checks of whether the peer of a session has ended its connection. */
const POLL_MILLISECONDS = 1000;

/** Members that are read when the stream begins, as they are shown after its end. */
const FIELDS = ['localAddress', 'localFamily', 'localPort', 'remoteAddress', 'remoteFamily', 'remotePort', ...TLS_FIELDS];

/**
 * Fields of a stream. `_head`: bytes of an unfinished head of an answer. `_isCut`: this side has reset the stream.
 * `_leaves`: it was refused, and ends when the refusal has left.
 */
const INITIAL = { _head: EMPTY_BUFFER, _isCut: false, _leaves: false, _received: 0, _written: 0 };

/**
 * The class of HTTP/2 streams that stand for the socket of an HTTP/1.1 upgrade: a program can write an
 * answer, and read and write bytes after that. The head of an answer becomes HEADERS, 101 becomes 200 (RFC 8441, 5);
 * `destroy()` is a RST_STREAM, as Node's `end()` is END_STREAM.
 *
 * @type {(Stream: new (...args: any[]) => any) => any}
 */
const withAnswers = (Stream) =>
  class Http2Socket extends Stream {
    /** @type {(data: any, encoding?: any, callback?: any) => boolean} */
    write(data, encoding, callback) {
      if (!isUnanswered(this)) {
        this._written += data?.length ?? 0;
        return super.write(data, encoding, callback);
      }
      if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
      const bytes = typeof data === 'string' ? Buffer.from(data, encoding) : data;
      const head = Buffer.concat([this._head, bytes]);
      const answer = parseResponseHead(head);
      this._written += bytes.length - (answer?.body.length ?? 0);
      this._head = answer === null ? head : EMPTY_BUFFER;
      if (answer !== null) this.answer(answer);
      if (answer !== null && answer.body.length !== 0) return this.write(answer.body, callback);
      if (typeof callback === 'function') process.nextTick(callback);
      return true;
    }

    /** Sends HEADERS. @param {import('./response-head').ResponseHead} response */
    answer({ fields, status }) {
      try {
        this.respond({ ...fields, ':status': status });
      } catch (error) {
        // A line of the program that is no field of HTTP/2.
        super.destroy(error);
      }
    }

    /** As in Node, the callback can be in any place. @type {(data?: any, encoding?: any, callback?: any) => this} */
    end(data, encoding, callback) {
      if (!isUnanswered(this)) {
        super.end(data, encoding, callback);
        return isRefused(this) ? this.leave() : this;
      }
      if (typeof data === 'function') [data, encoding, callback] = [undefined, undefined, data];
      else if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
      if (data !== undefined && data !== null) this.write(data, encoding);
      // A socket would end without an answer; a stream of HTTP/2 would answer with 200.
      if (isUnanswered(this)) return this.destroy();
      if (isRefused(this)) return this.leave(callback);
      return super.end(callback);
    }

    /** Node destroys a stream with an error, or that is closed. @param {Error} [error] */
    destroy(error) {
      if (this.destroyed || error || this.closed || this.session?.destroyed) return super.destroy(error);
      return isRefused(this) ? this.leave() : this.cut(this.writableFinished ? NO_ERROR : CANCEL);
    }

    /**
     * The end of a refused stream: when all has left, or after a time. Bytes written before `destroy()` leave, as from
     * a socket.
     *
     * @param {() => void} [callback]
     */
    leave(callback) {
      super.end(callback);
      if (this._leaves) return this;
      this._leaves = true;
      const timer = setTimeout(() => this.cut(CANCEL), REFUSAL_TIMEOUT).unref();
      this.once('close', () => clearTimeout(timer));
      // A client that gets both at once might not see the answer; Node waits as well.
      const done = () => setImmediate(() => this.cut(NO_ERROR));
      if (this.writableFinished) done();
      else this.once('finish', done);
      return this;
    }

    /** @param {number} code */
    cut(code) {
      this._isCut = true;
      this.close(code);
      return super.destroy();
    }

    /** A peer that cancels a stream causes no error in Node. */
    get errored() {
      return super.errored ?? (this.aborted && !this._isCut ? RESET : null);
    }

    get bytesRead() {
      return this._received;
    }

    get bytesWritten() {
      return this._written;
    }

    /** A reset is no end: Node reports it as one. @type {(chunk: any, encoding?: any) => boolean} */
    push(chunk, encoding) {
      if (chunk === null && this.aborted && this.rstCode !== NO_ERROR) return false;
      if (chunk === null && this.closed && this.writableLength !== 0 && !this.destroyed) {
        // Node waits for its writes, which a closed stream never makes.
        process.nextTick(() => super.destroy());
        return false;
      }
      this._received += chunk?.length ?? 0;
      return super.push(chunk, encoding);
    }

    address() {
      return { address: this.localAddress, family: this.localFamily, port: this.localPort };
    }
  };

const RESET = Object.assign(new Error('The peer has reset the stream'), { code: 'ECONNRESET' });

/** Whether it waits for an answer. @param {any} stream */
function isUnanswered(stream) {
  return !stream.headersSent && !stream.closed && !stream.destroyed;
}

/** @param {any} stream */
function isRefused(stream) {
  return stream.headersSent && stream.sentHeaders[':status'] !== OK;
}

/** Methods that would change the session, which others use too. */
const OF_SESSION = ['setNoDelay', 'setKeepAlive', 'ref', 'unref'];

/** @this {unknown} */
function returnThis() {
  return this;
}

/** The classes of Node, which does not export them. @type {WeakMap<object, object>} */
const prototypes = new WeakMap();

/** Sessions. @type {WeakSet<object>} */
const watched = new WeakSet();

/**
 * Node keeps a session for ever that does not read the end of its connection: after an error of its client, which makes
 * nghttp2 refuse all further frames, and after a failed write to a TLS socket, as the next one never completes.
 *
 * @param {AnySocket} session
 */
function watch(session) {
  watched.add(session);
  // A session that closes hides its socket, and its `destroy()` waits for the write.
  const { _handle: handle, destroySoon, once } = session.socket;
  const poll = () => {
    // A reset socket has no peer's address. Bytes that came before the reset are read first.
    if (handle.getpeername?.({})) setImmediate(destroySoon);
    // Refused frames are dropped. While a write waits, all others would be kept.
    else if (handle.writeQueueSize === 0 && !session.destroyed) handle.readStart();
  };
  const pollTimer = setInterval(poll, POLL_MILLISECONDS).unref();
  once('close', () => clearInterval(pollTimer));
}

/**
 * The same stream, as a socket.
 *
 * @type {(stream: AnySocket) => AnySocket}
 */
function asSocket(stream) {
  if ('_head' in stream) return stream;
  const { session } = stream;
  // The client might be gone, after a program that took long.
  const socket = session === undefined || session.destroyed ? {} : session.socket;
  const Stream = /** @type {any} */ (stream.constructor);
  /** @type {any} */
  let prototype = prototypes.get(Stream);
  if (prototype === undefined) {
    ({ prototype } = withAnswers(Stream));
    for (const name of OF_SESSION) {
      Object.defineProperty(prototype, name, { configurable: true, value: returnThis, writable: true });
    }
    for (const name of TLS_METHODS) {
      /** Undefined without TLS, and after the end. @type {(this: AnySocket, ...args: unknown[]) => unknown} */
      const value = function (...args) {
        return this.session?.socket[name]?.(...args);
      };
      Object.defineProperty(prototype, name, { configurable: true, value, writable: true });
    }
    prototypes.set(Stream, prototype);
  }
  for (const name of FIELDS) stream[name] = socket[name];
  stream[kPort] = session?.[kPort];
  if (socket._handle && !watched.has(session)) watch(session);
  Object.assign(stream, INITIAL);
  // An error ends this stream. It must not end the process while the stream has no owner.
  stream.on('error', () => {});
  return Object.setPrototypeOf(stream, prototype);
}

module.exports = { asSocket };
