'use strict';

const { STATUS_CODES } = require('node:http');
// Not the global ones: a test may have put others in their place.
const { clearTimeout, setTimeout } = require('node:timers');

const { addon } = require('../reactor/addon');
const { capture, setContext } = require('../base/async-context');
const { attach } = require('./attach');
const { delay } = require('../base/checks');
const { list } = require('../connection/clients');
const { kWebSocket } = require('../base/constants');
const extension = require('../deflate/extension');
const { DEFLATE, PerMessageDeflate } = require('../deflate/permessage-deflate');
const diagnostics = require('../reactor/diagnostics');
const { REFUSALS } = require('../base/layout');
const subprotocol = require('./subprotocol');

/** @import { IncomingMessage } from 'node:http' */
/** @import { AnySocket, Extensions, Server, WebSocket } from '../connection/state' */

/**
 * Hooks of the program.
 *
 * @typedef {object} Hooks
 * @property {Function} verifyClient
 * @property {Function} [handleProtocols]
 */

/** With a CR, LF or NUL one header line would be several. */
const FORBIDDEN = /[\r\n\0]/;

/**
 * The opening handshake where JavaScript decides it, in the order of ws: `handle()` is
 * `handleUpgrade()` of a server, and `finish()` its `completeUpgrade()`. The request comes from an
 * HTTP server of Node, to whose socket the answer goes; `ReactorHandshake` has those of reactors.
 */
class Handshake {
  /**
   * @param {Server} server
   * @param {IncomingMessage} request
   * @param {AnySocket} socket
   * @param {Buffer} head
   * @param {(ws: WebSocket, request: IncomingMessage) => void} callback Called with the connection
   *   when it is open
   */
  constructor(server, request, socket, head, callback) {
    this.server = server;
    this.request = request;
    this.socket = socket;
    this.head = head;
    this.callback = callback;
    /** The accepted extensions by name. @type {Extensions} */
    this.accepted = {};
  }

  /** Goes through all checks and hooks. */
  handle() {
    const { headers, method } = this.request;
    this.socket.on('error', destroyOnError);
    const key = textOf(headers['sec-websocket-key']);
    const refusal = addon().checkUpgrade(textOf(method), textOf(headers.upgrade), key, this.version(), this.hasBody());
    if (refusal !== null) this.refuse(REFUSALS[/** @type {keyof typeof REFUSALS} */ (refusal)]);
    else this.decide(/** @type {string} */ (key));
  }

  /** Goes through the checks and hooks from the path on. @param {string} key */
  decide(key) {
    const { request, server } = this;
    if (!server.shouldHandle(request)) return this.respond(REFUSALS.PATH.status, REFUSALS.PATH.message);
    if (this.isTurnedAway() || this.isDenied()) return;
    const offered = request.headers['sec-websocket-protocol'];
    let protocols = /** @type {Set<string>} */ (new Set());
    try {
      if (offered !== undefined) protocols = subprotocol.parse(offered);
    } catch {
      return this.refuse(REFUSALS.PROTOCOL);
    }
    try {
      this.accepted = acceptOffers(request.headers['sec-websocket-extensions'], server.options);
    } catch {
      return this.refuse(REFUSALS.EXTENSIONS);
    }
    this.verify(protocols, key);
  }

  /**
   * @param {Set<string>} protocols
   * @param {string} key
   */
  verify(protocols, key) {
    const { request, server } = this;
    const { verifyClient } = server.options;
    if (!verifyClient) return this.complete(protocols, key);
    const version = Number(request.headers['sec-websocket-version']);
    const socket = /** @type {AnySocket} */ (request.socket);
    // Called as a method, as in ws.
    const options = /** @type {Hooks} */ (server.options);
    const info = {
      origin: request.headers[version === 8 ? 'sec-websocket-origin' : 'origin'],
      secure: !!(socket.authorized || socket.encrypted),
      req: request,
    };
    if (verifyClient.length !== 2) {
      if (options.verifyClient(info)) this.complete(protocols, key);
      else this.respond(401);
      return;
    }
    /**
     * @type {(verified: unknown, code?: number, message?: string, headers?: Record<string, string>)
     *   => void}
     */
    const decide = (verified, code, message, headers) => {
      if (verified) this.complete(protocols, key);
      else this.respond(code || 401, message, headers);
    };
    options.verifyClient(info, decide);
  }

  /** @type {(protocols: Set<string>, key: string) => void} */
  complete(protocols, key) {
    const { accepted, callback, head, request, server, socket } = this;
    server.completeUpgrade(accepted, key, protocols, request, socket, head, callback);
  }

  /**
   * Answers with 101, unless the connection has ended or was answered.
   *
   * @param {Extensions} extensions
   * @param {string} key
   * @param {Set<string>} protocols
   */
  finish(extensions, key, protocols) {
    const { request, server, socket } = this;
    if (!socket.readable || !socket.writable) return socket.destroy();
    if (this.isAnswered()) {
      throw new Error(
        'server.handleUpgrade() was called more than once with the same socket, ' +
          'possibly due to a misconfiguration',
      );
    }
    if (this.isTurnedAway()) return;
    if (!server._isRunning()) return this.respond(503);
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
      const options = /** @type {Hooks} */ (server.options);
      protocol = options.handleProtocols ? options.handleProtocols(protocols, request) : protocols.values().next().value;
      if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    }
    this.accepted = extensions;
    const { [DEFLATE]: deflate } = extensions;
    const answer = deflate ? extension.format({ [DEFLATE]: deflate.params }) : '';
    if (answer !== '') lines.push(`Sec-WebSocket-Extensions: ${answer}`);
    server.emit('headers', lines, request);
    const bad = lines.find((line) => FORBIDDEN.test(line));
    if (bad !== undefined) {
      this.respond(500);
      throw invalidLine(bad);
    }
    this.accept(ws, lines.join('\r\n') + '\r\n\r\n', protocol || '', answer);
  }

  /**
   * A refusal that 'wsClientError' listeners may take over.
   *
   * @type {(refusal: { status: number, message: string, headers: Record<string, string> }) => void}
   */
  refuse({ status, message, headers }) {
    if (this.server.listenerCount('wsClientError') === 0) this.respond(status, message, headers);
    else this.server.emit('wsClientError', new Error(message), this.socket, this.request);
  }

  /** Turns a client away if the server is draining (503) or full (no answer). */
  isTurnedAway() {
    const { _drain: drain, _listener: listener } = this.server;
    if (listener?.drops(/** @type {import('node:net').Socket} */ (/** @type {unknown} */ (this.socket)))) return true;
    if (!drain?.refuses) return false;
    this.respond(503, undefined, { 'Retry-After': drain.retryAfter });
    return true;
  }

  /** Refuses a client that is over a limit, or has an origin that is not allowed. */
  isDenied() {
    const { _admission: admission } = this.server;
    if (admission === null) return false;
    const denial = this.enter(admission) ?? admission.judge(this.request);
    if (denial !== null) this.respond(denial.status, undefined, denial.headers);
    return denial !== null;
  }

  /**
   * Counts the connection.
   *
   * @type {(admission: InstanceType<typeof import('../running/admission').Admission>) => import('../running/admission').Denial | null}
   */
  enter(admission) {
    const denied = admission.enter(this.request, this.socket);
    if (denied === null) this.socket.once('end', () => this.ended());
    return denied;
  }

  /**
   * The client has ended its side while JavaScript decides. Without an answer within `closeTimeout`
   * the socket is destroyed, as by the reactor.
   */
  ended() {
    if (this.isAnswered() || this.socket.destroyed) return;
    const timer = setTimeout(() => this.isAnswered() || this.socket.destroy(), delay(this.server.options.closeTimeout));
    this.socket.once('close', () => clearTimeout(timer));
  }

  /**
   * Answers with an HTTP status and ends the connection. The default body is the phrase of the
   * status.
   *
   * @type {(code: number, message?: string, extra?: Record<string, string | number>) => void}
   */
  respond(code, message, extra) {
    if (!this.mayRespond()) return;
    this.server._counts.refusedWith(code);
    diagnostics.refused(this.request, this.server, code);
    const phrase = STATUS_CODES[code];
    const body = message || String(phrase);
    const headers = {
      Connection: 'close',
      'Content-Type': 'text/html',
      'Content-Length': Buffer.byteLength(body),
      ...extra,
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const bad = lines.find((line) => FORBIDDEN.test(line));
    if (bad !== undefined) {
      this.socket.destroy();
      throw invalidLine(bad);
    }
    const head = [`HTTP/1.1 ${code} ${phrase}`, ...lines, '', ''].join('\r\n');
    this.end(head + body);
  }

  /** The version that the client wants, in any form that JavaScript reads as its number. */
  version() {
    return String(Number(this.request.headers['sec-websocket-version']));
  }

  /** Whether the request has a body that could be mistaken for frames. */
  hasBody() {
    return false;
  }

  isAnswered() {
    return this.socket[kWebSocket] !== undefined;
  }

  mayRespond() {
    return true;
  }

  /**
   * Writes the 101 and makes the connection a WebSocket.
   *
   * @type {(ws: WebSocket, response: string, protocol: string, extensions: string) => void}
   */
  accept(ws, response, protocol, extensions) {
    const { head, request, server, socket } = this;
    ws._common = ws._common.opened(server, protocol, '', 0, 0);
    if (extensions !== '') ws._extensions = this.accepted;
    setContext(ws, capture());
    socket.removeListener('error', destroyOnError);
    attach(ws, socket, head, response, server.options);
    server._came();
    // The table of the reactors does not know this connection.
    list(server);
    server._opened(ws);
    diagnostics.opened(ws, request);
    this.callback(ws, request);
  }

  /** Writes a refusal and closes the connection. @type {(response: string) => void} */
  end(response) {
    // An exception, whatever the program has done to the socket, becomes an 'error', which destroys
    // it.
    this.socket.once('finish', this.socket.destroy);
    this.socket.end(response);
  }
}

/**
 * The extensions that a server accepts from a `Sec-WebSocket-Extensions` header.
 *
 * @type {(header: string | undefined, options: Server['options']) => Extensions}
 * @throws {Error} For a malformed header, or if no offer of permessage-deflate is acceptable
 */
function acceptOffers(header, { maxPayload, perMessageDeflate }) {
  if (!perMessageDeflate || header === undefined) return {};
  const options = /** @type {import('../deflate/options').Options} */ (perMessageDeflate);
  // Contexts have used the budget up: the client may not refer to earlier messages.
  const clientNoContextTakeover = options.clientNoContextTakeover || addon().deflateBudgetIsFull();
  const accepted = new PerMessageDeflate({ ...options, clientNoContextTakeover, isServer: true, maxPayload });
  return accepted._accept(header) === null ? {} : { [DEFLATE]: accepted };
}

/**
 * A field of a request that a program may have made itself, with a value of any type.
 *
 * @type {(value: unknown) => string | undefined}
 */
function textOf(value) {
  return value === undefined || value === null ? undefined : String(value);
}

/** The listener for errors of a socket while the handshake is under way. @this {AnySocket} */
function destroyOnError() {
  this.destroy();
}

/** @type {(line: string) => TypeError} */
function invalidLine(line) {
  return new TypeError(`Invalid character in a header line of the handshake: ${JSON.stringify(line)}`);
}

module.exports = { Handshake, destroyOnError };
