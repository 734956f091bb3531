'use strict';

const { createHash } = require('node:crypto');
const { STATUS_CODES } = require('node:http');

const { GUID } = require('./constants');
const subprotocol = require('./subprotocol');

/** A CR, LF or NUL would let a header line smuggle in another one. */
const FORBIDDEN = /[\r\n\0]/;

/**
 * The part of the opening handshake that JavaScript decides, in the order of ws. What is left to its subclasses is
 * where the request came from and where the answer goes: the reactor, or a stream of Node.
 */
class Handshake {
  /**
   * @param {any} server The WebSocketServer
   * @param {any} request
   * @param {any} socket
   */
  constructor(server, request, socket) {
    this.server = server;
    this.request = request;
    this.socket = socket;
    /** What the answer says of extensions, '' for nothing. */
    this.extensions = '';
  }

  /** From the path on; method, version and key have been checked. */
  decide() {
    const { request, server } = this;
    if (!server.shouldHandle(request)) return this.respond(400);
    const offered = request.headers['sec-websocket-protocol'];
    let protocols = /** @type {Set<string>} */ (new Set());
    try {
      if (offered !== undefined) protocols = subprotocol.parse(offered);
    } catch {
      return this.refuse(400, 'Invalid Sec-WebSocket-Protocol header');
    }
    if (!this.negotiate()) {
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
    const { socket } = request;
    const info = {
      origin: request.headers[version === 8 ? 'sec-websocket-origin' : 'origin'],
      secure: !!(socket.authorized || socket.encrypted),
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
    this.answer(protocols, this.request.headers['sec-websocket-key']);
  }

  /**
   * Answers with 101, unless something has come in between.
   *
   * @param {Set<string>} protocols
   * @param {string} key
   */
  answer(protocols, key) {
    const { request, server, socket } = this;
    if (!socket.readable || !socket.writable) return socket.destroy();
    if (this.isAnswered()) {
      throw new Error(
        'server.handleUpgrade() was called more than once with the same socket, ' +
          'possibly due to a misconfiguration',
      );
    }
    if (!server.isRunning()) return this.respond(503);
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
    this.accept(lines.join('\r\n') + '\r\n\r\n', protocol || '');
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
    if (!this.mayRespond()) return;
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

  /** @returns {boolean} Whether the client's offers of extensions can be answered */
  negotiate() {
    return true;
  }

  /** @returns {boolean} Whether the connection is a WebSocket already, or has been refused */
  isAnswered() {
    return false;
  }

  /** @returns {boolean} Whether a refusal can be written */
  mayRespond() {
    return true;
  }

  /**
   * Writes the 101 and makes the connection a WebSocket.
   *
   * @param {string} _response
   * @param {string} _protocol The subprotocol, '' for none
   */
  accept(_response, _protocol) {}

  /**
   * Writes a refusal and closes the connection.
   *
   * @param {string} _response
   */
  end(_response) {}
}

/**
 * @param {string} line
 * @returns {TypeError}
 */
function invalidLine(line) {
  return new TypeError(`Invalid character in a header line of the handshake: ${JSON.stringify(line)}`);
}

module.exports = { Handshake };
