'use strict';

// Not the global ones, which a test can replace.
const { clearTimeout, setTimeout } = require('node:timers');

const { END_WAITS, OWN_PONG, PAUSED } = require('../base/bits');
const { capture, setContext } = require('../base/async-context');
const { list, joinBroadcast } = require('../connection/clients');
const { Endpoint } = require('../connection/endpoint');
const { endOf, protocolText, requestText, tailOf, tailText } = require('../connection/handshake-info');
const { open } = require('../connection/state');
const { EMPTY_BUFFER, kUpgrade } = require('../base/constants');
const { DEFLATE } = require('../deflate/permessage-deflate');
const { detach } = require('../handover/attachment');
const diagnostics = require('../reactor/diagnostics');
const { payload } = require('../reactor/batch');
const { reportEnd } = require('../reactor/loop-turns');
const { Handshake, destroyOnError, linesOf, plainAnswer } = require('./handshake');
const receive = require('../connection/receive');
const { hasOwnPong, servedOptions, socketOptions } = require('../options');
const outbox = require('../reactor/outbox');
const { state } = require('../reactor/reactors');
const { UpgradeRequest } = require('./request');
const { socketOf } = require('../sockets/tls-socket');
const {
  AUX_SHIFT,
  IN_CLOSED,
  IN_END,
  IN_SENT,
  KIND_MASK,
  OUT_ACCEPT,
  OUT_HEAD,
  OUT_PAUSE,
  OUT_RESPOND,
  OUT_RESUME,
} = require('../base/layout');

/** @import { AnySocket, Extensions, Server, WebSocket } from '../connection/state' */

/** @typedef {{ protocol: string, extensions: string, record: Buffer, timer: NodeJS.Timeout | null }} Resumed */

/** Milliseconds for the program to accept a connection of the process before. */
const PATIENCE = 10_000;

/** In the URL of an engine.io session. */
const SESSION = /[?&]EIO=\d/;

/**
 * A connection that the reactor has accepted and JavaScript decides on, until there is a WebSocket, or the connection is
 * closed. `handleUpgrade()` gets its socket.
 */
class Upgrade extends Endpoint {
  /**
   * @param {Server} server
   * @param {number} slot
   * @param {Buffer} bytes
   * @param {number} start
   * @param {Server | undefined} via The server of its port, if that is another one
   * @param {boolean} isLate The reactor answered before it knew that it had to ask: an OPEN record
   * @param {boolean} isResumed The process before has answered
   */
  constructor(server, slot, bytes, start, via, isLate, isResumed) {
    super(server.options);
    this._take(slot, bytes, start, isResumed ? { owner: server, tls: '', via: via ?? server } : { owner: server, via });
    if (this._socket === null) this._adopt(socketOf(this));
    this._socket[kUpgrade] = this;
    this.request = new UpgradeRequest(requestText(bytes, start), this);
    this.head = isLate || isResumed ? EMPTY_BUFFER : tailOf(bytes, start);
    /** The answer of the process before, and what the connection brings. @type {Resumed | null} */
    this.resumed = null;
    if (isResumed) {
      this.request.resumed = true;
      this.resumed = { protocol: protocolText(bytes, start), extensions: tailText(bytes, start), record: copyOf(bytes, start), timer: setTimeout(() => this.decline(), PATIENCE) };
      if (this.handover !== null) this.handover.undecided++;
    }
    /** @type {Array<[number, Buffer]>} */
    const records = [];
    /** The reactor's answer, if JavaScript was asked too late, and the records since. */
    this.late = isLate ? { protocol: protocolText(bytes, start), extensions: tailText(bytes, start), records } : null;
    this.answered = false;
    /** Moves the connection to its WebSocket. @type {((ws: WebSocket) => void) | null} */
    this.open = null;
    // The reactor's answer has not left, unless `earlyHandshake` is on.
    if (isLate) outbox.pushEmpty(slot, this._generation, OUT_PAUSE | (1 << AUX_SHIFT));
  }

  /** The handover of the port. */
  get handover() {
    const { owner, via } = this._profile.shared;
    return (via ?? owner)?._handover ?? null;
  }

  /** @type {import('../reactor/reactors').OnRecord} */
  _onRecord(tag, offset, length) {
    const kind = tag & KIND_MASK;
    if (kind === IN_CLOSED || kind === IN_SENT) return super._onRecord(tag, offset, length);
    if (this.late !== null) {
      this.late.records.push([tag, payload(tag, offset, length)]);
    } else if (kind === IN_END) {
      this._bits |= END_WAITS;
      reportEnd(ended, this);
    }
  }

  _onFailed() {
    if (this.resumed !== null) this.handover?.noteDeclined();
    this.settle();
    ended(this);
    this._owner._closed(this);
    super._onFailed();
  }

  /** Emits 'upgrade'. Without a listener, the answer is 426, as for a request without an upgrade. */
  decide() {
    const { _owner: server, _socket: socket, head, request } = this;
    // An engine.io session has state in JavaScript, which does not move.
    if (this.resumed !== null && SESSION.test(request.url)) return this.decline();
    const http = server._upgrades?.server ?? (this.resumed === null ? undefined : server.options.http);
    // Of a server that is closed by now, neither is left.
    if ((http ?? server._listener)?.emit('upgrade', request, socket, head)) return;
    const { body, headers } = plainAnswer(426);
    this.respond([...linesOf(426, { Connection: 'close', ...headers }), '', body].join('\r\n'));
  }

  /** The connection of the process before goes on as one of a server. @param {Server} server */
  goOn(server) {
    const { perMessageDeflate } = server.options;
    const carrier = { _extensions: perMessageDeflate ? { [DEFLATE]: { params: {}, _options: perMessageDeflate } } : {} };
    state.native.serve(this._slot, this._generation, servedOptions(server, /** @type {any} */ (carrier)), server._rates);
    this.push(OUT_ACCEPT, '');
  }

  /**
   * Answers with 101. `head` is read first, as if put back into a stream.
   *
   * @type {(response: string, server: Server, extensions: Extensions, head: Buffer) => void}
   */
  accept(response, server, extensions, head) {
    const served = servedOptions(server, { _extensions: extensions });
    if (served.deflate !== undefined || server !== this._owner || hasOwnPong(server.options)) {
      state.native.serve(this._slot, this._generation, served, server._rates);
    }
    if (head.length !== 0) outbox.push(this._slot, this._generation, OUT_HEAD, head);
    this.push(OUT_ACCEPT, response);
    this._socket._answered = Buffer.byteLength(response);
  }

  /** A connection of the process before is closed with 1012. */
  decline() {
    if (!this.answered) this.respond('');
  }

  /** The connection ends after this answer. @param {string} response */
  respond(response) {
    this.push(OUT_RESPOND, response);
    // A second answer comes too late, as with an ended stream.
    this._socket._ended = true;
  }

  /** @type {(tag: number, text: string) => void} */
  push(tag, text) {
    this.answered = true;
    outbox.push(this._slot, this._generation, tag, text);
    this.settle();
  }

  /** The program has decided about a connection of the process before, or the connection has ended. */
  settle() {
    const timer = this.resumed?.timer ?? null;
    if (this.resumed === null || timer === null) return;
    clearTimeout(timer);
    this.resumed.timer = null;
    this.handover?.onDecided();
  }
}

/** The handshake of an `Upgrade`, in `handleUpgrade()` of any server. */
class ReactorHandshake extends Handshake {
  get upgrade() {
    return this.socket[kUpgrade];
  }

  get port() {
    const { owner, via } = this.upgrade._profile.shared;
    return via ?? owner ?? undefined;
  }

  isAnswered() {
    return this.upgrade.answered;
  }

  handle() {
    const { callback, head, request, server, socket, upgrade } = this;
    if (upgrade.resumed === null) return super.handle();
    socket.on('error', destroyOnError);
    if (!server.shouldHandle(request)) return upgrade.decline();
    server.completeUpgrade({}, String(request.headers['sec-websocket-key']), new Set(), request, socket, head, callback);
  }

  /** @type {InstanceType<typeof Handshake>['finish']} */
  finish(extensions, key, protocols) {
    const { server, upgrade } = this;
    const { resumed } = upgrade;
    if (resumed === null) return super.finish(extensions, key, protocols);
    // Anything else that the program has done has declined it.
    if (!this.socket.writable || upgrade._accepted !== 0) return;
    this.checkUnanswered();
    if (!this.isServed()) return upgrade.decline();
    const { WebSocket } = server.options;
    this.accept(new WebSocket(null, undefined, server.options), '', resumed.protocol, resumed.extensions);
  }

  mayRespond() {
    return this.socket.writable && !this.upgrade.answered;
  }

  /** Compared by character, as in the reactor (RFC 6455, 4.4). */
  version() {
    return String(this.request.headers['sec-websocket-version']);
  }

  /** Counts the handshake, unless its reactor has done so for the same server. @param {import('./handshake').Admission} admission */
  enter(admission) {
    return this.server === this.upgrade._owner ? null : admission.enter(this.request, this.socket);
  }

  /** @type {InstanceType<typeof Handshake>['accept']} */
  accept(ws, response, protocol, extensions) {
    const { accepted, head, server, socket, upgrade } = this;
    if (socket.destroyed) return;
    const { late, resumed } = upgrade;
    const isServedAlike = server === upgrade._owner;
    if (resumed !== null) {
      upgrade.goOn(server);
    } else if (late === null) {
      upgrade.accept(response, server, accepted, head);
    } else if (!isServedAlike || late.protocol !== protocol || late.extensions !== extensions) {
      // Another answer waits for its record, or has left with `earlyHandshake`: then the connection ends.
      this.respond(503);
      return;
    }
    upgrade.answered = true;
    upgrade.open = (/** @type {WebSocket} */ opened) => {
      upgrade.open = null;
      upgrade._moveTo(opened, { extensions, owner: server, protocol });
      open(opened);
      if (resumed !== null) resume(opened, resumed.record);
      if (late === null && hasOwnPong(server.options)) opened._bits |= OWN_PONG;
      joinBroadcast(opened);
      if (late !== null) {
        for (const [tag, data] of late.records) receive.buffer(opened, tag, data);
        outbox.pushEmpty(opened._slot, opened._generation, OUT_RESUME);
      }
      opened.emit('open');
    };
    if (!isServedAlike) {
      upgrade._owner._closed(upgrade);
      upgrade._change({ owner: server });
      server._countConnection();
      if (resumed !== null) server._admission?.takeOver(socket);
    }
    setContext(ws, capture());
    socket.removeListener('error', destroyOnError);
    ws.setSocket(socket, head, socketOptions(server.options));
    // If `setSocket()` keeps the socket, the table does not know this client.
    if (ws._owner !== server) list(server);
    server._opened(ws);
    diagnostics.opened(ws, this.request);
    this.callback(ws, this.request);
    // No handler is running: all records wait for resume().
    if ((ws._bits & PAUSED) !== 0) ws._ensureExtra().pausedIn = -1;
    else if (resumed !== null) receive.scheduleNext(ws);
  }

  /** @param {string} response */
  end(response) {
    this.upgrade.respond(response);
  }
}

/** @type {(bytes: Buffer, start: number) => Buffer} */
function copyOf(bytes, start) {
  return Buffer.from(bytes.subarray(start, endOf(bytes, start)));
}

/** @type {(ws: WebSocket, record: Buffer) => void} */
function resume(ws, record) {
  const port = ws._profile.shared.via ?? ws._owner;
  // Its topics come before the memberships.
  port?._handover?.importInto(/** @type {Server} */ (ws._owner))?.catch(() => {});
  detach(ws, record, 0);
}

/** @param {AnySocket} socket */
function isReactors(socket) {
  return socket[kUpgrade] !== undefined;
}

/** The peer has ended its side. A WebSocket that has the connection by now reports that itself. @param {Upgrade} upgrade */
function ended(upgrade) {
  if ((upgrade._bits & END_WAITS) === 0) return;
  upgrade._bits &= ~END_WAITS;
  const { _socket: socket } = upgrade;
  if (socket._owner === upgrade) socket._onEnd();
}

module.exports = { ReactorHandshake, Upgrade, isReactors };
