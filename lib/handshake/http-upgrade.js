'use strict';

// Not the global ones: a test may have put others in their place.
const { clearTimeout, setTimeout } = require('node:timers');

const { capture, setContext } = require('../base/async-context');
const { list } = require('../connection/clients');
const { attach } = require('./attach');
const { kWebSocket } = require('../base/constants');
const diagnostics = require('../reactor/diagnostics');
const { Handshake, destroyOnError } = require('./handshake');
const { delay } = require('../base/checks');

/** @import { WebSocket } from '../connection/state' */

/** A handshake with `server` or `noServer`: an HTTP server of Node has read the request. */
class HttpUpgrade extends Handshake {
  /** @param {InstanceType<typeof import('../running/admission').Admission>} admission */
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

  isAnswered() {
    return this.socket[kWebSocket] !== undefined;
  }

  /** @type {(ws: WebSocket, response: string, protocol: string, extensions: string) => void} */
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

  /** @type {(response: string) => void} */
  end(response) {
    // An exception, whatever the program has done to the socket, becomes an 'error', which destroys
    // it.
    this.socket.once('finish', this.socket.destroy);
    this.socket.end(response);
  }
}

module.exports = { HttpUpgrade };
