'use strict';

const { STATUS_CODES } = require('node:http');
// Not the global ones, which a test can replace.
const { clearTimeout, setTimeout } = require('node:timers');

const { addon } = require('../reactor/addon');
const { capture, setContext } = require('../base/async-context');
const { attach } = require('./adopt');
const { delay } = require('../base/checks');
const { originOf } = require('../limits/admission');
const { list } = require('../connection/clients');
const { kPort, kWebSocket } = require('../base/constants');
const extension = require('../deflate/extension');
const { DEFLATE, PerMessageDeflate } = require('../deflate/permessage-deflate');
const diagnostics = require('../reactor/diagnostics');
const { REFUSALS } = require('../base/layout');
const subprotocol = require('./subprotocol');

/** @import { IncomingMessage } from 'node:http' */
/** @import { AnySocket, Extensions, Server, WebSocket } from '../connection/state' */

/** @typedef {InstanceType<typeof import('../limits/admission').Admission>} Admission */

/**
 * The opening handshake where JavaScript decides, in the order of ws: `handle()` is `handleUpgrade()` of a server, and
 * `finish()` its `completeUpgrade()`. The request and its socket come from an HTTP server of Node, or, in
 * `ReactorHandshake`, from a reactor.
 */
class Handshake {
  /**
   * @param {Server} server
   * @param {IncomingMessage} request
   * @param {AnySocket} socket
   * @param {Buffer} head
   * @param {(ws: WebSocket, request: IncomingMessage) => void} callback
   */
  constructor(server, request, socket, head, callback) {
    this.server = server;
    this.request = request;
    this.socket = socket;
    this.head = head;
    this.callback = callback;
    /** By name. @type {Extensions} */
    this.accepted = {};
  }

  handle() {
    const { headers, method } = this.request;
    this.socket.on('error', destroyOnError);
    const key = textOf(headers['sec-websocket-key']);
    const refusal = addon().checkUpgrade(textOf(method), textOf(headers.upgrade), key, this.version());
    if (refusal !== null) this.refuse(REFUSALS[/** @type {keyof typeof REFUSALS} */ (refusal)]);
    else this.decide(/** @type {string} */ (key));
  }

  /** The checks and hooks from the path on. @param {string} key */
  decide(key) {
    const { request, server } = this;
    // With HTTP/1.1, the parser has checked this.
    const hasPath = request.httpVersionMajor !== 2 || request.url?.startsWith('/');
    if (!hasPath || !server.shouldHandle(request)) return this.respond(REFUSALS.PATH.status, REFUSALS.PATH.message);
    if (this.isTurnedAway() || this.isDenied()) return;
    const { 'sec-websocket-extensions': extensions, 'sec-websocket-protocol': offered } = request.headers;
    let refusal = REFUSALS.PROTOCOL;
    /** @type {Set<string>} */
    let protocols = new Set();
    try {
      if (offered !== undefined) protocols = subprotocol.parse(offered);
      refusal = REFUSALS.EXTENSIONS;
      this.accepted = acceptOffers(extensions, server.options);
    } catch {
      return this.refuse(refusal);
    }
    this.verify(() => {
      const { accepted, callback, head, socket } = this;
      server.completeUpgrade(accepted, key, protocols, request, socket, head, callback);
    });
  }

  /** Calls `complete` if the program admits the client. @param {() => void} complete */
  verify(complete) {
    const { request, server } = this;
    const { verifyClient } = server.options;
    if (!verifyClient) return complete();
    /** @type {AnySocket} */
    const socket = request.socket;
    // Called as a method, as in ws.
    /** @type {any} */
    const { options } = server;
    const info = {
      origin: originOf(request),
      secure: !!(socket.authorized || socket.encrypted),
      req: request,
    };
    /** @type {(verified: unknown, code?: number, message?: string, headers?: Record<string, string>) => void} */
    const decide = (verified, code, message, headers) => {
      if (verified) complete();
      else this.respond(code || 401, message, headers);
    };
    if (verifyClient.length === 2) options.verifyClient(info, decide);
    else decide(options.verifyClient(info));
  }

  /**
   * Answers with 101, unless the connection has ended. Throws if it was answered.
   *
   * @type {(extensions: Extensions, key: string, protocols: Set<string>) => void | AnySocket}
   */
  finish(extensions, key, protocols) {
    const { request, server, socket } = this;
    if (!socket.readable || !socket.writable) return socket.destroy();
    this.checkUnanswered();
    if (this.isTurnedAway()) return;
    if (!this.isServed()) return this.respond(503);
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${addon().acceptKey(key)}`,
    ];
    const { WebSocket } = server.options;
    const ws = new WebSocket(null, undefined, server.options);
    let protocol = '';
    if (protocols.size !== 0) {
      /** @type {any} */
      const { options } = server;
      protocol = options.handleProtocols ? options.handleProtocols(protocols, request) : protocols.values().next().value;
      if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    }
    this.accepted = extensions;
    const { [DEFLATE]: deflate } = extensions;
    const answer = deflate ? extension.format({ [DEFLATE]: deflate.params }) : '';
    if (answer !== '') lines.push(`Sec-WebSocket-Extensions: ${answer}`);
    server.emit('headers', lines, request);
    checkLines(lines, () => this.respond(500));
    this.accept(ws, lines.join('\r\n') + '\r\n\r\n', protocol || '', answer);
  }

  /** The server of its port; undefined: connections of that do not move. @returns {Server | undefined} */
  get port() {
    return this.socket[kPort];
  }

  /** False: the server has closed, or the next process has the port. */
  isServed() {
    return this.server._isRunning() && !this.port?._handover?.isGiven;
  }

  /** 'wsClientError' listeners can take over. @type {(refusal: { status: number, message: string, headers: Record<string, string> }) => void} */
  refuse({ status, message, headers }) {
    if (this.server.listenerCount('wsClientError') === 0) this.respond(status, message, headers);
    else this.server.emit('wsClientError', new Error(message), this.socket, this.request);
  }

  /** Refuses a client if the server is draining (503) or full (no answer). */
  isTurnedAway() {
    const { _drain: drain, _listener: listener } = this.server;
    if (listener?.drops(this.socket)) return true;
    if (!drain) return false;
    this.respond(503, undefined, { 'Retry-After': drain.retryAfter });
    return true;
  }

  /** Refuses a client if a limit is exceeded, or the origin is not allowed. */
  isDenied() {
    const { _admission: admission } = this.server;
    if (admission === null) return false;
    const denial = this.enter(admission) ?? admission.judge(this.request);
    if (denial === null) return false;
    this.respond(denial.status, undefined, denial.headers);
    return true;
  }

  /** @type {(admission: Admission) => import('../limits/admission').Denial | null} */
  enter(admission) {
    const denied = admission.enter(this.request, this.socket);
    if (denied === null) this.socket.once('end', () => this.ended());
    return denied;
  }

  /**
   * The client has ended its side while JavaScript decides. As in the reactor, the socket is destroyed unless an answer
   * comes within `closeTimeout`.
   */
  ended() {
    if (this.isAnswered() || this.socket.destroyed) return;
    const timer = setTimeout(() => this.isAnswered() || this.socket.destroy(), delay(this.server.options.closeTimeout));
    this.socket.once('close', () => clearTimeout(timer));
  }

  /**
   * Answers with an HTTP status, by default with its phrase as body, and ends the connection.
   *
   * @type {(code: number, message?: string, extra?: Record<string, string | number>) => void}
   */
  respond(code, message, extra) {
    if (!this.mayRespond()) return;
    this.server._counts.refusedWith(code);
    diagnostics.refused(this.request, this.server, code);
    const body = message || String(STATUS_CODES[code]);
    const headers = { Connection: 'close', 'Content-Type': 'text/html', 'Content-Length': Buffer.byteLength(body), ...extra };
    const lines = linesOf(code, headers);
    checkLines(lines, () => this.socket.destroy());
    this.end([...lines, '', body].join('\r\n'));
  }

  /** In any form that JavaScript reads as its number. */
  version() {
    return String(Number(this.request.headers['sec-websocket-version']));
  }

  /** `headersSent`: of HTTP/2, where the program might have answered in its own way. */
  isAnswered() {
    return this.socket[kWebSocket] !== undefined || this.socket.headersSent === true;
  }

  /** @throws {Error} */
  checkUnanswered() {
    if (this.isAnswered()) {
      throw new Error('server.handleUpgrade() was called more than once with the same socket, possibly due to a misconfiguration');
    }
  }

  mayRespond() {
    return this.socket.headersSent !== true;
  }

  /**
   * Writes the 101 and makes the connection a WebSocket.
   *
   * @type {(ws: WebSocket, response: string, protocol: string, extensions: string) => void}
   */
  accept(ws, response, protocol, extensions) {
    const { head, request, server, socket } = this;
    ws._profile = ws._profile.variant({ extensions: '', local: 0, localPort: 0, owner: server, protocol, via: socket[kPort] });
    if (extensions !== '') ws._extensions = this.accepted;
    setContext(ws, capture());
    socket.removeListener('error', destroyOnError);
    attach(ws, request, socket, head, response, server);
    server._countConnection();
    // The reactors' table does not know it.
    list(server);
    server._opened(ws);
    diagnostics.opened(ws, request);
    this.callback(ws, request);
  }

  /** Writes a refusal and closes. @type {(response: string) => void} */
  end(response) {
    // Any exception becomes an 'error', which destroys the socket, whatever the program has done to it.
    this.socket.once('finish', this.socket.destroy);
    this.socket.end(response);
  }
}

/**
 * The extensions that a server accepts. Throws for a malformed header, or if no offer of permessage-deflate is
 * acceptable.
 *
 * @type {(header: string | undefined, options: Server['options']) => Extensions}
 */
function acceptOffers(header, { maxPayload, perMessageDeflate }) {
  if (!perMessageDeflate || header === undefined) return {};
  /** @type {import('../deflate/options').Options} */
  const options = Object(perMessageDeflate);
  // Contexts have used up the budget: the client must not refer to earlier messages.
  const clientNoContextTakeover = options.clientNoContextTakeover || addon().deflateBudgetIsFull();
  const accepted = new PerMessageDeflate({ ...options, clientNoContextTakeover, isServer: true, maxPayload });
  return accepted._accept(header) === null ? {} : { [DEFLATE]: accepted };
}

/** A program might have made the request itself, with a value of any type. @type {(value: unknown) => string | undefined} */
function textOf(value) {
  return value === undefined || value === null ? undefined : String(value);
}

/** For errors during the handshake. @this {AnySocket} */
function destroyOnError() {
  this.destroy();
}

/** The head of an answer. @type {(code: number, headers: Record<string, string | number>) => string[]} */
function linesOf(code, headers) {
  return [`HTTP/1.1 ${code} ${STATUS_CODES[code]}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
}

/** To a request without an upgrade, as the reactor answers. @param {number} code */
function plainAnswer(code) {
  const body = String(STATUS_CODES[code]);
  return { body, headers: { 'Content-Length': body.length, 'Content-Type': 'text/plain' } };
}

/** Throws for a line that would be several. @type {(lines: string[], refuse: () => void) => void} */
function checkLines(lines, refuse) {
  const bad = lines.find((line) => /[\r\n\0]/.test(line));
  if (bad === undefined) return;
  refuse();
  throw new TypeError(`Invalid character in a header line of the handshake: ${JSON.stringify(bad)}`);
}

module.exports = { Handshake, destroyOnError, linesOf, plainAnswer };
