'use strict';

const { isRegExp } = require('node:util').types;

const { wrongType } = require('../base/checks');
const { addon } = require('../reactor/addon');
const { DENIALS, MAX_SHOWN, ORIGIN_FIELDS } = require('../base/layout');

/** @import { IncomingMessage } from 'node:http' */
/** @import { AnySocket } from '../connection/state' */

/** Characters of an origin in a warning. */
const MAX_CHARACTERS = 200;

const [HEAD, ORIGIN] = ['head', 'origin'].map((name) => DENIALS.findIndex((denial) => denial.name === name) + 1);

/** The answer to a client that is refused. @typedef {{ status: number, headers: Record<string, string> }} Denial */

/** @typedef {Record<'handshakesPerSecond' | 'maxConnections' | 'maxConnectionsPerAddress' | 'maxHeaderBytes' | 'maxHeaders', number>} Limits */

/** Limits of a server. The native part counts, for the reactors and for JavaScript. */
class Admission {
  /** @param {Limits} limits @param {ReturnType<typeof originsOf>} origins */
  constructor({ handshakesPerSecond, maxConnections, maxConnectionsPerAddress, maxHeaderBytes, maxHeaders }, { patterns, judges }) {
    this.maxHeaderBytes = maxHeaderBytes;
    this.maxHeaders = maxHeaders;
    this.native = new (addon().Admission)(maxConnections, maxConnectionsPerAddress, handshakesPerSecond, patterns);
    this.isForAll = patterns === undefined;
    this.judges = judges;
    /** Origins with a warning. @type {Set<string>} */
    this.shown = new Set();
  }

  /** Whether a reactor cannot judge origins by itself. */
  get asksJavaScript() {
    return this.judges.length !== 0;
  }

  /** Counts a connection of a Node HTTP server until its socket closes. @type {(request: IncomingMessage, socket: AnySocket) => Denial | null} */
  enter({ rawHeaders, socket: { remoteAddress }, url }, socket) {
    let bytes = /** @type {string} */ (url).length;
    // Each field has a colon, a space and an end of line.
    for (const part of rawHeaders) bytes += part.length + 2;
    if (bytes > this.maxHeaderBytes || rawHeaders.length > 2 * this.maxHeaders) return this.deny(HEAD);
    if (socket.destroyed) return null;
    // A stream around a socket has no address: the socket of the request has it.
    const address = String(socket.remoteAddress ?? remoteAddress);
    const denied = this.native.enter(address);
    if (denied !== 0) return DENIALS[denied - 1];
    this.leaveWith(socket, address);
    return null;
  }

  /** Counts a connection of another process, which no limit refuses. @param {AnySocket} socket */
  takeOver(socket) {
    const address = String(socket.remoteAddress);
    this.native.takeOver(address);
    this.leaveWith(socket, address);
  }

  /** @type {(socket: AnySocket, address: string) => void} */
  leaveWith(socket, address) {
    socket.once('close', () => this.native.leave(address));
  }

  /** @type {(request: IncomingMessage) => Denial | null} */
  judge(request) {
    if (this.isForAll) return null;
    const origin = originOf(request);
    if (this.allows(origin, request)) return null;
    if (origin !== undefined && this.shown.size < MAX_SHOWN && !this.shown.has(origin)) warn(this.shown, origin);
    return this.deny(ORIGIN);
  }

  /** Only functions judge a request without an origin. A Promise allows nothing. @type {Judge} */
  allows(origin, request) {
    if (origin === undefined && !this.judges.some(isFunction)) return true;
    if (origin !== undefined && this.native.allows(origin)) return true;
    return this.judges.some((judge) =>
      isFunction(judge) ? judge(origin, request) === true : origin !== undefined && origin.search(judge) !== -1,
    );
  }

  /** `number`: 1 + index in DENIALS. @type {(number: number) => Denial} */
  deny(number) {
    this.native.deny(number);
    return DENIALS[number - 1];
  }
}

/** As `verifyClient` gets it: several fields are one value, which is no origin. @type {(request: IncomingMessage) => any} */
function originOf({ headers }) {
  return headers[ORIGIN_FIELDS[Number(headers['sec-websocket-version'])].toLowerCase()];
}

/** @typedef {(origin: string | undefined, request: IncomingMessage) => boolean} Judge */

/** @type {(judge: RegExp | Judge) => judge is Judge} */
function isFunction(judge) {
  return typeof judge === 'function';
}

/** @type {(shown: Set<string>, origin: string) => void} */
function warn(shown, origin) {
  shown.add(origin);
  if (origin.length > MAX_CHARACTERS) origin = `${origin.slice(0, MAX_CHARACTERS)}...`;
  // Any site can make a page with this origin: programs should not allow it.
  const text =
    origin === 'null'
      ? 'A WebSocket of a file, or of a sandboxed page, was refused: such pages have no origin'
      : `A WebSocket of a page of ${origin} was refused. To allow it, add '${origin}' to allowedOrigins`;
  process.emitWarning(text, { code: 'REACTOR_WS_ORIGIN' });
}

/** Without `patterns`, every origin is allowed. @type {(allowed: unknown) => { patterns: string[] | undefined, judges: Array<RegExp | Judge> }} */
function originsOf(allowed) {
  if (allowed === undefined || allowed === null) return { patterns: undefined, judges: [] };
  const all = Array.isArray(allowed) ? allowed : [allowed];
  const patterns = all.filter((one) => typeof one === 'string');
  const judges = all.filter((one) => typeof one === 'function' || isRegExp(one));
  if (patterns.length + judges.length !== all.length) {
    throw wrongType('options.allowedOrigins', 'a string, a RegExp, a function or an array of them', allowed);
  }
  return { patterns, judges };
}

module.exports = { Admission, originOf, originsOf };
