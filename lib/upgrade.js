'use strict';

const { createHash } = require('node:crypto');
const { STATUS_CODES } = require('node:http');

const {
  EMPTY_BUFFER,
  GUID,
  IN_FLAG_BAD_EXTENSIONS,
  IN_FLAG_BEFORE_SHOULD_HANDLE,
  IN_CLOSED,
  IN_END,
  IN_SENT,
  OUT_ACCEPT,
  OUT_RESPOND,
  OUT_TERMINATE,
} = require('./constants');
const outbox = require('./outbox');
const { abandonSends, sent } = require('./outgoing');
const reactor = require('./reactor');
const { UpgradeRequest, extensionsText, requestText } = require('./request');
const { Socket, readPeer } = require('./socket');
const subprotocol = require('./subprotocol');

/**
 * What the reactor's checks refuse before `shouldHandle` is asked, by number: status, body, header fields.
 *
 * @type {Array<[number, string, Record<string, string>?]>}
 */
const REFUSALS = [
  [405, 'Invalid HTTP method'],
  [400, 'Invalid Upgrade header'],
  [400, 'Missing or invalid Sec-WebSocket-Key header'],
  [400, 'Missing or invalid Sec-WebSocket-Version header', { 'Sec-WebSocket-Version': '13, 8' }],
  [400, 'Unexpected request body'],
];

/** A CR, LF or NUL would let a header line smuggle in another one. */
const FORBIDDEN = /[\r\n\0]/;

/** A handshake that JavaScript answers. It holds the slot in the table until it is a WebSocket or gone. */
class Upgrade {
  /**
   * @param {any} server The WebSocketServer
   * @param {number} slot
   * @param {Buffer} bytes
   * @param {number} start Where in it the payload of the REQUEST record begins
   */
  constructor(server, slot, bytes, start) {
    this._slot = 0;
    this._generation = 0;
    this._ports = 0;
    this._local = /** @type {number | string} */ (0);
    this._remote = /** @type {number | string} */ (0);
    this._accepted = 0;
    // One of the bits of NOT_PLAIN: dispatch must not take it for an open WebSocket.
    this._bits = 0x80;
    this._extra = { callbacks: /** @type {Function[] | null} */ (null) };
    readPeer(this, slot, bytes, start);
    this.server = server;
    this.socket = /** @type {any} */ (new Socket(this));
    this.request = new UpgradeRequest(requestText(bytes, start), this);
    this.extensions = extensionsText(bytes, start);
    this.answered = false;
    this.gone = false;
    this.isPaused = false;
    this.bufferedAmount = 0;
    reactor.state.connections[slot] = this;
  }

  get _socket() {
    return this.socket;
  }

  pause() {}

  resume() {}

  _ensureExtra() {
    return this._extra;
  }

  /** @param {number} tag @param {number} _offset @param {number} length */
  _onRecord(tag, _offset, length) {
    const kind = tag & 0xff;
    if (kind === IN_SENT) sent(this, length);
    if (kind === IN_END) this.socket._onEnd();
    if (kind !== IN_CLOSED) return;
    reactor.state.connections[this._slot] = undefined;
    this._onFailed();
  }

  _onFailed() {
    this.gone = true;
    reactor.release();
    this.server.closed(this);
    abandonSends(this);
    this.socket._onClosed();
  }

  _destroy() {
    if (!this.gone) outbox.pushEmpty(this._slot, this._generation, OUT_TERMINATE);
  }

  /**
   * The reactor's verdict and the server's hooks, in the order of ws.
   *
   * @param {number} tag Of the REQUEST record
   */
  handle(tag) {
    const { request, server } = this;
    if ((tag & (IN_FLAG_BEFORE_SHOULD_HANDLE << 8)) !== 0) {
      const [status, message, headers] = REFUSALS[(tag >>> 16) - 1] || [400, 'Bad Request'];
      return this.refuse(status, message, headers);
    }
    if (!server.shouldHandle(request)) return this.respond(400);
    const offered = request.headers['sec-websocket-protocol'];
    let protocols = /** @type {Set<string>} */ (new Set());
    try {
      if (offered !== undefined) protocols = subprotocol.parse(offered);
    } catch {
      return this.refuse(400, 'Invalid Sec-WebSocket-Protocol header');
    }
    if ((tag & (IN_FLAG_BAD_EXTENSIONS << 8)) !== 0) {
      return this.refuse(400, 'Invalid or unacceptable Sec-WebSocket-Extensions header');
    }
    this.verify(protocols, Number(request.headers['sec-websocket-version']));
  }

  /**
   * @param {Set<string>} protocols
   * @param {number} version
   */
  verify(protocols, version) {
    const { request, server } = this;
    const { verifyClient } = server.options;
    if (!verifyClient) return this.complete(protocols);
    const info = {
      origin: request.headers[version === 8 ? 'sec-websocket-origin' : 'origin'],
      secure: false,
      req: request,
    };
    if (verifyClient.length !== 2) {
      if (server.options.verifyClient(info)) this.complete(protocols);
      else this.respond(401);
      return;
    }
    /** @type {(verified: any, code?: any, message?: any, headers?: any) => void} */
    const decide = (verified, code, message, headers) => {
      if (verified) this.complete(protocols);
      else this.respond(code || 401, message, headers);
    };
    server.options.verifyClient(info, decide);
  }

  /** @param {Set<string>} protocols */
  complete(protocols) {
    const { request, server } = this;
    if (!this.socket.readable || !this.socket.writable) return this.socket.destroy();
    if (this.answered) {
      throw new Error(
        'server.handleUpgrade() was called more than once with the same socket, ' +
          'possibly due to a misconfiguration',
      );
    }
    if (!server.isRunning()) return this.respond(503);
    const key = request.headers['sec-websocket-key'];
    const digest = createHash('sha1').update(key + GUID).digest('base64');
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${digest}`,
    ];
    let protocol = '';
    if (protocols.size !== 0) {
      const { handleProtocols } = server.options;
      protocol = handleProtocols
        ? server.options.handleProtocols(protocols, request)
        : protocols.values().next().value;
      if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    }
    if (this.extensions !== '') lines.push(`Sec-WebSocket-Extensions: ${this.extensions}`);
    server.emit('headers', lines, request);
    const bad = lines.find((line) => FORBIDDEN.test(line));
    if (bad !== undefined) {
      this.respond(500);
      throw invalidLine(bad);
    }
    if (this.gone || this.socket.destroyed) return;
    this.answered = true;
    this.push(OUT_ACCEPT, lines.join('\r\n') + '\r\n\r\n');
    server.opened(this, protocol || '', this.extensions, request, EMPTY_BUFFER, 0);
  }

  /**
   * A refusal that 'wsClientError' listeners may take over.
   *
   * @param {number} code
   * @param {string} message
   * @param {Record<string, string>} [headers]
   */
  refuse(code, message, headers) {
    if (this.server.listenerCount('wsClientError') === 0) this.respond(code, message, headers);
    else this.server.emit('wsClientError', new Error(message), this.socket, this.request);
  }

  /**
   * Answers with an HTTP status and ends the connection.
   *
   * @param {number} code
   * @param {string} [message] Body; the status phrase when it is empty
   * @param {Record<string, any>} [extra] Header fields
   */
  respond(code, message, extra) {
    if (!this.socket.writable || this.answered) return;
    this.answered = true;
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
    this.push(OUT_RESPOND, head + body);
  }

  /**
   * @param {number} kind
   * @param {string} text
   */
  push(kind, text) {
    outbox.pushText(this._slot, this._generation, kind, text);
  }
}

/**
 * @param {string} line
 * @returns {TypeError}
 */
function invalidLine(line) {
  return new TypeError(`Invalid character in a header line of the handshake: ${JSON.stringify(line)}`);
}

module.exports = { Upgrade };
