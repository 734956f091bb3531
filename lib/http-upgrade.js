'use strict';

const { capture, setContext } = require('./async-context');
const { attach, kWebSocket } = require('./attach');
const { Handshake } = require('./handshake');
const { acceptOffers, headerOf } = require('./negotiation');

/** 16 bytes in base64 (RFC 6455, 4.1). */
const KEY = /^[+/0-9A-Za-z]{22}==$/;

/** A handshake whose request an HTTP server of Node has read: `server` and `noServer`. */
class HttpUpgrade extends Handshake {
  /**
   * @param {any} server The WebSocketServer
   * @param {any} request
   * @param {any} socket Any Duplex
   * @param {Buffer} head What was read behind the request
   * @param {(ws: any, request: any) => void} callback
   */
  constructor(server, request, socket, head, callback) {
    super(server, request, socket);
    this.head = head;
    this.callback = callback;
    /** The accepted extensions by name. @type {any} */
    this.accepted = {};
  }

  /** All checks and hooks. */
  handle() {
    const { headers, method } = this.request;
    this.socket.on('error', destroyOnError);
    if (method !== 'GET') return this.refuse(405, 'Invalid HTTP method');
    const { upgrade } = headers;
    if (upgrade === undefined || upgrade.toLowerCase() !== 'websocket') {
      return this.refuse(400, 'Invalid Upgrade header');
    }
    const key = headers['sec-websocket-key'];
    if (key === undefined || !KEY.test(key)) {
      return this.refuse(400, 'Missing or invalid Sec-WebSocket-Key header');
    }
    const version = Number(headers['sec-websocket-version']);
    if (version !== 13 && version !== 8) {
      return this.refuse(400, 'Missing or invalid Sec-WebSocket-Version header', {
        'Sec-WebSocket-Version': '13, 8',
      });
    }
    this.decide();
  }

  negotiate() {
    try {
      this.accepted = acceptOffers(this.request.headers['sec-websocket-extensions'], this.server.options);
      return true;
    } catch {
      return false;
    }
  }

  /** @param {Set<string>} protocols */
  complete(protocols) {
    const { accepted, callback, head, request, server, socket } = this;
    server.completeUpgrade(accepted, request.headers['sec-websocket-key'], protocols, request, socket, head, callback);
  }

  /**
   * The end, when all checks have passed.
   *
   * @param {any} extensions The accepted ones by name
   * @param {Set<string>} protocols
   * @param {string} key
   */
  finish(extensions, protocols, key) {
    this.accepted = extensions;
    this.extensions = headerOf(extensions);
    this.answer(protocols, key);
  }

  isAnswered() {
    return this.socket[kWebSocket] !== undefined;
  }

  /** @param {string} response @param {string} protocol */
  accept(response, protocol) {
    const { head, request, server, socket } = this;
    const { options } = server;
    const ws = new options.WebSocket(null, undefined, options);
    ws._shared = ws._shared.opened(server, protocol, '', 0, 0);
    if (this.extensions !== '') ws._extensions = this.accepted;
    setContext(ws, capture());
    socket.removeListener('error', destroyOnError);
    attach(ws, socket, head, response, options);
    server.joined(ws);
    this.callback(ws, request);
  }

  /** @param {string} response */
  end(response) {
    // Whatever the user has done to the socket shows as an 'error', which destroys it.
    this.socket.once('finish', this.socket.destroy);
    this.socket.end(response);
  }
}

/** @this {any} */
function destroyOnError() {
  this.destroy();
}

module.exports = { HttpUpgrade };
