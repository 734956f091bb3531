'use strict';

const EventEmitter = require('node:events');

const { addon } = require('./reactor/addon');
const { requiredHooks } = require('./upgrade/hooks');
const { capture, setContext } = require('./base/async-context');
const { PAUSED } = require('./base/bits');
const { MAX_DELAY, checkOptions, checkValue } = require('./base/checks');
const { NO_SLOT } = require('./base/constants');
const { clientsOf, list, track, trackClients } = require('./connection/clients');
const { generationOf, protocolText, tailText } = require('./connection/handshake-info');
const { scheduleNext } = require('./connection/receive');
const { open } = require('./connection/state');
const { upgradeOf } = require('./listen/http2');
const { Handover } = require('./handover/handover');
const { detach } = require('./handover/attachment');
const { handOff } = require('./listen/handoff');
const { startChecks, withProtocols } = require('./listen/http-option');
const { createListener, takeOver } = require('./listen/http-server');
const { ListenerServer, copyOf } = require('./compat/listener-server');
const { Handshake } = require('./upgrade/handshake');
const { nodeEmit } = require('./base/node-emit');
const { targetOf } = require('./listen/listen-target');
const { admissionOf, parse, ratesOf, watch } = require('./options');
const { Counts } = require('./metrics/counts');
const { drain } = require('./limits/drain');
const { metricsOf, slowest } = require('./metrics/metrics');
const { startListening } = require('./listen/native');
const { OF_SERVER, takeUpgrades, upgradesOf } = require('./listen/routes');
const { deferReply } = require('./reactor/defer-replies');
const { state } = require('./reactor/reactors');
const { createSecureContext } = require('./tls/context');
const { ReactorTls } = require('./tls/listener');
const { NodeTls } = require('./tls/node');
const { receive } = require('./topics/publish');
const { topicsOf } = require('./topics/registry');
const { ClusterNode } = require('./nodes/node');
const { emitConnection, requestAhead } = require('./upgrade/request-visibility');
const { onTls } = require('./upgrade/tls');
const { isRefused } = require('./upgrade/pending-tls');
const { ReactorHandshake, Upgrade, isReactors } = require('./upgrade/pending-upgrade');
const { ASK_ACCEPTED, IN_FLAG_RESUMED, IN_HANDOFF, IN_REQUEST, KIND_MASK, SERVICE_RESTART } = require('./base/layout');
const WebSocket = require('./websocket');

/** @import { IncomingMessage } from 'node:http' */
/** @import { AnySocket, Extensions, WebSocket as Connection } from './connection/state' */
/** @import { DrainOptions, DrainProgress, HandoverCounts, HandoverOptions, Metrics, Waiting } from '../types/running' */

/** @typedef {(ws: any, request: IncomingMessage) => void} OnOpened */

/** @typedef {import('./handover/handover').Foreseen} Foreseen */

const RUNNING = 0;
const CLOSING = 1;
const CLOSED = 2;

/** @type {import('./base/checks').Range} */
const COUNT = { type: 'number', min: 0, max: 2 ** 31 - 1 };

/** Milliseconds. @type {import('./base/checks').Range} */
const DELAY = { type: 'number', min: 0, max: MAX_DELAY };

/** On a port of its own, on an HTTP server, or for upgrades that the program passes in. */
class WebSocketServer extends EventEmitter {
  /** @param {import('./options').ServerOptions} options @param {() => void} [callback] */
  constructor(options, callback) {
    super();
    this._state = RUNNING;
    const { options: merged, settings, tls } = parse(options);
    this.options = merged;
    this._settings = settings;
    // A missing addon throws now, not when a client connects.
    addon();
    this._nativePath = this.options.path; // which the reactor checks
    this._listenerId = -1;
    this._reactors = 0; // that accept for this server
    /** @type {ReturnType<typeof import('./listen/listen-target').addressOf>} */
    this._address = null;
    this._connections = 0;
    this._hooks = -1;
    this._shouldEmitClose = false;
    /** @type {InstanceType<typeof import('./limits/drain').Drain> | null} */
    this._drain = null;
    /** @type {import('./topics/registry').Topics | null} */
    this._topics = null;
    this._counts = new Counts();
    this._rates = ratesOf(settings); // null: no limit
    this._capturesRejections = EventEmitter.captureRejections; // of its listeners
    const target = this.options.port == null ? null : targetOf(this.options);
    this._listens = target !== null; // by itself
    /** The option `handover`. @type {InstanceType<typeof Handover> | null} */
    this._handover = this._listens && settings.handover !== null ? new Handover(this, settings.handover) : null;
    this._admission = admissionOf(settings, this._listens); // null: no limits
    /** The async context of its listener and connections, unless a hook answers in another. */
    this._context = this._listens ? capture() : null;
    /** The option `tls`. @type {InstanceType<typeof ReactorTls> | InstanceType<typeof NodeTls> | null} */
    this._tls = null;
    /** @type {(() => void) | null} */
    this._removeListeners = null;
    // Bound now, as in ws: an `emit` assigned later does not see these events.
    /** @type {EventEmitter['emit']} */
    this._emit = this.emit.bind(this);
    /** null: not read yet; undefined: untracked. @type {Set<Connection> | null | undefined} */
    this._clients = undefined;
    if (this.options.clientTracking) trackClients(this, this._listens ? null : new Set());
    /** Stands for the HTTP server that ws has on its own port. @type {InstanceType<typeof ListenerServer>} */
    this._listener = /** @type {any} */ (null);
    /** Of the HTTP server that it takes some of. @type {ReturnType<typeof upgradesOf> | null} */
    this._upgrades = null;
    /** @type {any} */
    this._server = undefined;
    // They refer back to the server, which must stay printable as JSON, as in ws.
    for (const name of ['_drain', '_handover', '_settings', '_tls', '_topics', '_upgrades']) Object.defineProperty(this, name, { enumerable: false });
    this._tls = tlsOf(this, tls);
    watch(this.options, () => this._updateHooks());
    const { http } = this.options;
    if (http) startChecks(http);
    if (settings.clusterNode !== null) new ClusterNode(topicsOf(this), settings.clusterNode, receive);
    if (target !== null) {
      if (typeof callback === 'function') this.once('listening', callback);
      this._server = this._listener = new ListenerServer(this, this._emit.bind(null, 'connection'));
      if (http) this._removeListeners = takeUpgrades(this, http);
      startListening(this, target);
    } else if (!this.options.noServer) {
      this._server = this.options.server || createListener(this, callback);
      this._removeListeners = takeOver(this, this._server);
    }
  }

  /** @type {typeof createSecureContext} */
  static createSecureContext(options) {
    return createSecureContext(options);
  }

  /** Null unless the server listens; a string for a pipe or a socket with a path. @returns {unknown} @throws {Error} In noServer mode */
  address() {
    if (this.options.noServer) throw new Error('The server is operating in "noServer" mode');
    if (!this._listens) return (this._server ? this._server.address() : null) ?? this._upgrades?.address() ?? null;
    return this._accepts() ? copyOf(this._address) : null;
  }

  /** @param {(error?: Error) => void} [callback] */
  close(callback) {
    if (this._state === CLOSED) {
      if (callback) this.once('close', () => callback(new Error('The server is not running')));
      process.nextTick(emitClose, this);
      return;
    }
    if (callback) this.once('close', callback);
    if (this._state === CLOSING) return;
    this._state = CLOSING;
    this._handover?.close();
    if (!this._listens) return this._leave();
    this._removeListeners?.();
    this._server = null;
    if (this._listenerId === -1) this._closeIfDone();
    else state.native.closeListener(this._listenerId);
  }

  /** @returns {Promise<void>} */
  [Symbol.asyncDispose]() {
    return new Promise((resolve) => this.close(() => resolve()));
  }

  /** @type {(options?: HandoverOptions | null) => Promise<HandoverCounts>} */
  async handover(options) {
    checkOptions(options, ['timeout']);
    const { timeout } = options ?? {};
    if (timeout !== undefined) checkValue(DELAY, timeout, 'options.timeout');
    if (this._handover === null) throw new Error('The server has no option handover');
    return this._handover.wait(timeout);
  }

  /** @type {(options?: DrainOptions | null) => Promise<DrainProgress>} */
  drain(options) {
    return drain(this, options);
  }

  /**
   * For connections that come from now on; open ones stay. If it is rejected, nothing has changed.
   *
   * @param {unknown} options
   */
  async setSecureContext(options) {
    this._withTls().setContext(options);
  }

  /** @type {(host: string, options: unknown) => void} */
  addContext(host, options) {
    const tls = this._withTls();
    if (!host) throw Object.assign(new Error('"servername" is required parameter for Server.addContext'), { code: 'ERR_TLS_REQUIRED_SERVER_NAME' });
    tls.addContext(host, options);
  }

  /** @returns {Buffer} */
  getTicketKeys() {
    return this._withTls().ticketKeys();
  }

  /** @param {unknown} keys */
  setTicketKeys(keys) {
    this._withTls().setTicketKeys(keys);
  }

  metrics() {
    return metricsOf(this);
  }

  /** @type {(count?: number) => Waiting[]} */
  slowest(count = 10) {
    checkValue(COUNT, count, 'count');
    return slowest(this, count);
  }

  /**
   * For a request that an HTTP server of Node has read.
   *
   * @type {(request: IncomingMessage, socket: AnySocket, head: Buffer, callback: OnOpened) => void}
   * @throws {Error} If the socket has a WebSocket already
   */
  handleUpgrade(request, socket, head, callback) {
    handshake(this, request, socket, head, callback).handle();
  }

  /**
   * For a stream of an HTTP/2 server of Node (RFC 8441).
   *
   * @type {(stream: AnySocket, headers: import('node:http2').IncomingHttpHeaders, callback: OnOpened) => void}
   * @throws {TypeError} For anything but a stream and its headers
   * @throws {Error} If the stream has a WebSocket already
   */
  handleConnect(stream, headers, callback) {
    this.handleUpgrade(...upgradeOf(stream, headers), callback);
  }

  /**
   * The end of `handleUpgrade()`, after all checks.
   *
   * @type {(extensions: Extensions, key: string, protocols: Set<string>, request: IncomingMessage, socket: AnySocket, head: Buffer, callback: OnOpened) => void | AnySocket}
   */
  completeUpgrade(extensions, key, protocols, request, socket, head, callback) {
    return handshake(this, request, socket, head, callback).finish(extensions, key, protocols);
  }

  /** @param {IncomingMessage} request */
  shouldHandle(request) {
    const { path } = this.options;
    if (!path) return true;
    const url = /** @type {string} */ (request.url);
    const query = url.indexOf('?');
    return (query === -1 ? url : url.slice(0, query)) === path;
  }

  _withTls() {
    if (this._tls === null) throw new Error('The server has no option tls');
    return this._tls;
  }

  _isRunning() {
    return this._state === RUNNING;
  }

  /** False after `close()`. */
  _accepts() {
    return this._listenerId !== -1 && this._state === RUNNING;
  }

  /** Counts a connection, until `_closed`. */
  _countConnection() {
    this._connections++;
  }

  /** @param {Connection} ws */
  _opened(ws) {
    track(this, ws);
    this._counts.began(ws);
  }

  /** A connection or a handshake has ended. @param {import('./metrics/counts').Counted} connection */
  _closed(connection) {
    this._connections--;
    this._counts.left(connection);
    const clients = clientsOf(this);
    clients?.delete(/** @type {Connection} */ (connection));
    this._drain?.gone(connection);
    if (this._listens) this._closeIfDone();
    else if (this._shouldEmitClose && this._state === CLOSING && clients?.size === 0) process.nextTick(emitClose, this);
  }

  /**
   * `tag`: of an OPEN, a REQUEST or a HANDOFF record; `via`: the server of its port, if that is another one.
   *
   * @type {(slot: number, tag: number, bytes: Buffer, start: number, via?: WebSocketServer) => void}
   */
  _onOpened(slot, tag, bytes, start, via) {
    const { _context: context, _tls: tls } = via ?? this;
    if (tls !== null && isRefused(slot, bytes, start)) return;
    if (context === null) this._show(slot, tag, bytes, start, via);
    else context.runInAsyncScope(this._show, this, slot, tag, bytes, start, via);
  }

  /** @type {WebSocketServer['_onOpened']} */
  _show(slot, tag, bytes, start, via) {
    if ((tag & KIND_MASK) === IN_HANDOFF) return handOff(this, slot, tag, bytes, start);
    this._countConnection();
    const isOpen = (tag & KIND_MASK) !== IN_REQUEST;
    const isResumed = (tag & IN_FLAG_RESUMED) !== 0;
    // The process before has decided.
    if (isOpen && isResumed) return this._welcomeBack(slot, bytes, start, via);
    const isAccepted = this._updateHooks();
    // The reactor might have answered before JavaScript wanted to decide.
    if (isOpen && isAccepted) this._openWebSocket(slot, bytes, start, via);
    else new Upgrade(this, slot, bytes, start, via, isOpen, isResumed).decide();
  }

  /** For a connection that the reactor opened by itself. @type {(slot: number, bytes: Buffer, start: number, via?: WebSocketServer) => void} */
  _openWebSocket(slot, bytes, start, via) {
    const agreed = { extensions: tailText(bytes, start), owner: this, protocol: protocolText(bytes, start), via };
    const ws = this._makeWebSocket(slot, bytes, start, agreed);
    setContext(ws, (via ?? this)._context);
    deferReply(ws);
    // The reactor opened it before it knew that the server was closing.
    if (!this._isRunning()) return ws.terminate();
    this._announce(ws, bytes, start);
    // No handler is running: all records wait for resume().
    if ((ws._bits & PAUSED) !== 0) ws._ensureExtra().pausedIn = -1;
  }

  /** Whether connections of the process before can be made ahead. A class of the program would see those that never come. */
  _foresees() {
    return !this.options.http && this.options.WebSocket === WebSocket;
  }

  /** Makes such a connection, and its request: nothing else refers to them before it comes. @type {(bytes: Buffer, start: number) => Foreseen} */
  _foresee(bytes, start) {
    const agreed = { extensions: tailText(bytes, start), owner: this, protocol: protocolText(bytes, start), tls: '', via: undefined };
    const ws = new this.options.WebSocket(null, undefined, this.options)._read(NO_SLOT, bytes, start, agreed);
    return { ws, request: requestAhead(this, ws, bytes, start) };
  }

  /** For a connection of the process before. @type {(slot: number, bytes: Buffer, start: number, via?: WebSocketServer) => void} */
  _welcomeBack(slot, bytes, start, via) {
    const foreseen = this._handover?.takeForeseen(bytes, start) ?? null;
    /** @type {Connection} */
    let ws;
    if (foreseen === null) {
      const agreed = { extensions: tailText(bytes, start), owner: this, protocol: protocolText(bytes, start), tls: '', via };
      ws = this._makeWebSocket(slot, bytes, start, agreed);
    } else {
      ({ ws } = foreseen);
      ws._arrive(slot, generationOf(bytes, start));
      open(ws);
    }
    setContext(ws, (via ?? this)._context);
    detach(ws, bytes, start);
    if (!this._isRunning()) return ws.close(SERVICE_RESTART);
    this._announce(ws, bytes, start, foreseen?.request);
    if ((ws._bits & PAUSED) !== 0) ws._ensureExtra().pausedIn = -1;
    else scheduleNext(ws);
  }

  /** @type {(ws: WebSocket, bytes: Buffer, start: number, early?: Foreseen['request']) => void} */
  _announce(ws, bytes, start, early) {
    // `emit` makes an array of its arguments, mostly for no listener.
    if (ws.emit !== nodeEmit || ws.listenerCount('open') !== 0) ws.emit('open');
    this._opened(ws);
    emitConnection(this, ws, bytes, start, early);
  }

  /** HELLO, SECURE and TLS_ERROR records. @type {(kind: number, slot: number, bytes: Buffer) => void} */
  _onTls(kind, slot, bytes) {
    if (this._context === null) onTls(this, kind, slot, bytes);
    else this._context.runInAsyncScope(onTls, undefined, this, kind, slot, bytes);
  }

  _onReleased() {
    if (this.options.http) upgradesOf(this.options.http).close(this);
    this._listenerId = -1;
    this._address = null;
    this._listener?._onReleased();
    this._closeIfDone();
  }

  /** Keeps a list of its clients, before the table forgets them. */
  _listClients() {
    list(this);
  }

  /** @param {Error} error */
  _onFailed(error) {
    this._onReleased();
    this._emit('error', error);
  }

  /** @type {(slot: number, bytes: Buffer, start: number, agreed: Partial<import('./connection/profile').Shared>) => Connection} */
  _makeWebSocket(slot, bytes, start, agreed) {
    try {
      const ws = new this.options.WebSocket(null, undefined, this.options)._take(slot, bytes, start, agreed);
      open(ws);
      return ws;
    } catch (error) {
      // The connection must also end in the reactor.
      const ws = new WebSocket(null)._take(slot, bytes, start, agreed);
      open(ws);
      ws.terminate();
      throw error;
    }
  }

  /** Takes no more upgrades of an HTTP server, and closes after its clients. */
  _leave() {
    const { _server: server } = this;
    if (this._removeListeners !== null) {
      this._removeListeners();
      this._removeListeners = this._server = null;
    }
    // Our own server emits 'close' after the last of its connections. Those of `http` are not waited for.
    if (server && !this.options.server && !this.options.http) return void server.close(() => emitClose(this));
    if (server && !this.options.server) server.close();
    if (clientsOf(this)?.size) this._shouldEmitClose = true;
    else process.nextTick(emitClose, this);
  }

  _closeIfDone() {
    if (this._state !== CLOSING || this._listenerId !== -1 || this._connections !== 0) return;
    process.nextTick(emitClose, this);
  }

  /** Why JavaScript answers upgrades; null: the reactors do. */
  _obstacle() {
    if (this._upgrades !== null) return this._upgrades.obstacle();
    if (this._listener === null) return 'the HTTP server passes them on';
    return (this._hooks & ASK_ACCEPTED) === 0 ? null : OF_SERVER;
  }

  /** Returns whether the reactor accepts by itself. */
  _updateHooks() {
    // Without a port, or before there is one, JavaScript is not asked.
    if (this._listener === null && this._upgrades === null) return true;
    this._tls?.update();
    const ask = requiredHooks(this, OWN);
    if (ask !== this._hooks) {
      this._hooks = ask;
      if (this._listenerId !== -1 && this._isRunning()) state.native.setAsk(this._listenerId, ask);
    }
    return this._upgrades === null ? (ask & ASK_ACCEPTED) === 0 : this._upgrades.update();
  }
}

const { completeUpgrade, handleUpgrade, shouldHandle } = WebSocketServer.prototype;
const { listenerCount } = EventEmitter.prototype;

/** The originals of methods that see handshakes. */
const OWN = { completeUpgrade, emit: nodeEmit, handleUpgrade, listenerCount, shouldHandle };

/** @type {(server: WebSocketServer, request: IncomingMessage, socket: AnySocket, head: Buffer, callback: OnOpened) => InstanceType<typeof Handshake>} */
function handshake(server, request, socket, head, callback) {
  const Kind = isReactors(socket) ? ReactorHandshake : Handshake;
  return new Kind(server, request, socket, head, callback);
}

/** @type {(server: WebSocketServer, given: import('./tls/options').Given | null) => WebSocketServer['_tls']} */
function tlsOf(server, given) {
  if (given === null) return null;
  const { handshakeTimeout } = server._settings;
  const settings = withProtocols(given, server.options.http);
  return server._listens ? new ReactorTls(server, settings, handshakeTimeout) : new NodeTls(settings, handshakeTimeout);
}

/** @param {WebSocketServer} server */
function emitClose(server) {
  server._state = CLOSED;
  server._topics?.end();
  server.emit('close');
}

module.exports = WebSocketServer;
