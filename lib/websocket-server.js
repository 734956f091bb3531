'use strict';

const dns = require('node:dns');
const EventEmitter = require('node:events');
const { isIP } = require('node:net');

const { addon } = require('./addon');
const { ASK_ALWAYS, ASK_CONNECTIONS, ASK_REFUSED, IN_REQUEST } = require('./constants');
const { capture, setContext } = require('./async-context');
const { list, track, trackClients } = require('./clients');
const { attachTo } = require('./http-server');
const { HttpUpgrade } = require('./http-upgrade');
const { ListenerServer } = require('./listener-server');
const { listenOptions, merge, reactorOptions, watch } = require('./options');
const { checkMayListen } = require('./permission');
const reactor = require('./reactor');
const { UpgradeRequest, extensionsText, protocolText, requestText } = require('./request');
const { emitTwo, isHeard, isSecondSeen } = require('./request-visibility');
const { createListener, isShared } = require('./shared-listener');
const { readPeer } = require('./socket');
const { Upgrade } = require('./upgrade');
const { watchListeners } = require('./watched-listeners');
const { WebSocket } = require('./websocket');

const RUNNING = 0;
const CLOSING = 1;
const CLOSED = 2;

/** Listeners of these events see handshakes. */
const ASKING_EVENTS = new Set(['headers', 'wsClientError']);

/** Slot, generation and addresses of the connection that is opening, until its WebSocket has them. */
const opening = { _slot: 0, _generation: 0, _local: 0, _localPort: 0, _remote: 0, _remotePort: 0, socket: /** @type {any} */ (null) };

/**
 * @this {any}
 * @param {any} req
 * @returns {boolean} Whether the path of the request is the one of the `path` option
 */
function shouldHandle(req) {
  const { path } = this.options;
  if (!path) return true;
  const query = req.url.indexOf('?');
  return (query === -1 ? req.url : req.url.slice(0, query)) === path;
}

/** A WebSocket server: on a port of its own, behind an HTTP server, or for upgrades that the user hands to it. */
class WebSocketServer extends EventEmitter {
  /**
   * @param {any} options See index.d.ts
   * @param {() => void} [callback] A listener for 'listening'
   */
  constructor(options, callback) {
    super();
    this._state = RUNNING;
    this.options = merge(options);
    // Who has none hears of it now, not when a client comes.
    addon();
    this._nativePath = this.options.path; // which the reactor checks by itself
    this._listenerId = -1;
    this._reactors = 0; // that take connections of the listener
    this._address = null;
    this._connections = 0;
    this._ask = -1;
    this._shouldEmitClose = false;
    this._listens = this.options.port != null && !isShared(); // by itself
    /** Where the events of its own listener and connections run, unless a hook answers somewhere else. */
    this._context = this._listens ? capture() : null;
    /** @type {(() => void) | null} */
    this._removeListeners = null;
    /** null until somebody looks, undefined if clients are not tracked. @type {Set<any> | null | undefined} */
    this._clients = undefined;
    if (this.options.clientTracking) trackClients(this, this._listens ? null : new Set());
    /** What stands for that listener. @type {any} */
    this._listener = null;
    this._server = /** @type {any} */ (undefined);
    watch(this.options, () => this._updateAsk());
    if (this._listens) {
      if (typeof callback === 'function') this.once('listening', callback);
      this._server = this._listener = new ListenerServer(this);
      this._start();
    } else if (!this.options.noServer) {
      this._server = this.options.server || createListener(this.options, callback);
      this._removeListeners = attachTo(this, this._server);
    }
  }

  /**
   * @returns {any} null unless the server listens; a string for a pipe or a socket of the file system
   * @throws {Error} In noServer mode
   */
  address() {
    if (this.options.noServer) throw new Error('The server is operating in "noServer" mode');
    if (!this._listens) return this._server ? this._server.address() : null;
    return this._state === RUNNING && this._address !== null ? { ...this._address } : null;
  }

  /** @param {(error?: Error) => void} [callback] A listener for 'close' */
  close(callback) {
    if (this._state === CLOSED) {
      if (callback) this.once('close', () => callback(new Error('The server is not running')));
      process.nextTick(emitClose, this);
      return;
    }
    if (callback) this.once('close', callback);
    if (this._state === CLOSING) return;
    this._state = CLOSING;
    if (!this._listens) return this._leave();
    this._server = null;
    if (this._listenerId === -1) process.nextTick(emitClose, this);
    else reactor.state.native.closeListener(this._listenerId);
  }

  /**
   * Answers an upgrade request that an HTTP server of Node has read.
   *
   * @param {any} request
   * @param {any} socket Any Duplex
   * @param {Buffer} head What was read behind the request
   * @param {(ws: any, request: any) => void} callback
   * @throws {Error} When the socket is a WebSocket's already
   */
  handleUpgrade(request, socket, head, callback) {
    new HttpUpgrade(this, request, socket, head, callback).handle();
  }

  /**
   * The end of `handleUpgrade()`, when all checks have passed.
   *
   * @param {any} extensions The accepted ones by name
   * @param {string} key The value of the `Sec-WebSocket-Key` header
   * @param {Set<string>} protocols
   * @param {any} request
   * @param {any} socket
   * @param {Buffer} head
   * @param {(ws: any, request: any) => void} callback
   * @throws {Error} When the socket is a WebSocket's already
   */
  completeUpgrade(extensions, key, protocols, request, socket, head, callback) {
    new HttpUpgrade(this, request, socket, head, callback).finish(extensions, protocols, key);
  }

  /** @returns {(req: any) => boolean} */
  get shouldHandle() {
    return /** @type {any} */ (this)._shouldHandle;
  }

  // An accessor, because assigning it decides which handshakes JavaScript sees.
  set shouldHandle(check) {
    this._shouldHandle = check;
    if (this.options !== undefined) this._updateAsk();
  }

  /** @returns {boolean} Whether new connections are taken */
  isRunning() {
    return this._state === RUNNING;
  }

  /**
   * A connection is open: makes its WebSocket and shows it.
   *
   * @param {any} peer Slot, generation and addresses; with a request the Upgrade
   * @param {string} protocol
   * @param {string} extensions As in the answer
   * @param {any} request The one that hooks have seen; null to make it if somebody can see it
   * @param {Buffer} bytes What to make it of
   * @param {number} start Where in it the payload of the OPEN record begins
   */
  opened(peer, protocol, extensions, request, bytes, start) {
    const ws = this._makeWebSocket(peer, protocol, extensions);
    setContext(ws, request === null ? this._context : capture());
    if (peer.socket !== null) ws._adopt(peer.socket);
    // Opened by the reactor before it knew. Who has decided a handshake here has looked before the hooks that closed the server.
    if (request === null && !this.isRunning()) {
      ws.terminate();
      return;
    }
    if (isHeard(ws, 'open')) ws.emit('open');
    if (this._clients !== undefined) track(this, ws);
    if (request === null && isSecondSeen(this, 'connection')) {
      request = new UpgradeRequest(requestText(bytes, start), ws);
    }
    emitTwo(this, 'connection', ws, request);
    // Nothing was received together with a message yet: everything waits for resume().
    if (ws.isPaused) ws._ensureExtra().pausedIn = -1;
  }

  /**
   * A connection that an HTTP server has accepted is a WebSocket now.
   *
   * @param {any} ws
   */
  joined(ws) {
    this._connections++;
    list(this)?.add(ws);
  }

  /**
   * A connection is gone.
   *
   * @param {any} connection
   */
  closed(connection) {
    this._connections--;
    this._clients?.delete(connection);
    if (this._listens) this._closeIfDone();
    else if (this._shouldEmitClose && this._clients?.size === 0) process.nextTick(emitClose, this);
  }

  /**
   * OPEN or REQUEST.
   *
   * @param {number} slot
   * @param {number} tag
   * @param {Buffer} bytes
   * @param {number} start Where in it the payload begins
   */
  _onOpened(slot, tag, bytes, start) {
    const early = this._listener.take(slot, tag);
    if (early === null) return;
    if (this._context === null) this._show(slot, tag, bytes, start, early);
    else this._context.runInAsyncScope(this._show, this, slot, tag, bytes, start, early);
  }

  /**
   * @param {number} slot
   * @param {number} tag
   * @param {Buffer} bytes
   * @param {number} start
   * @param {any} early The connection, if it was shown before its request came
   */
  _show(slot, tag, bytes, start, early) {
    if ((tag & 0xff) === IN_REQUEST) {
      new Upgrade(this, slot, bytes, start, early).handle(tag);
    } else {
      readPeer(opening, slot, bytes, start);
      opening.socket = early === undefined ? null : early.socket;
      const protocol = protocolText(bytes, start);
      this.opened(opening, protocol, extensionsText(bytes, start), null, bytes, start);
    }
  }

  /** The listener is closed. */
  _onReleased() {
    this._listenerId = -1;
    this._listener?._onReleased();
    this._closeIfDone();
  }

  /**
   * The reactor died.
   *
   * @param {Error} error
   */
  _onFailed(error) {
    this._onReleased();
    this.emit('error', error);
  }

  /**
   * @param {any} peer Slot, generation and addresses
   * @param {string} protocol
   * @param {string} extensions As in the answer
   * @returns {any} A WebSocket of the class that the options name
   */
  _makeWebSocket(peer, protocol, extensions) {
    try {
      const ws = new this.options.WebSocket(null, undefined, this.options);
      ws._attach(this, peer, protocol, extensions);
      return ws;
    } catch (error) {
      // The connection is open in the reactor and must end there.
      const ws = new WebSocket(null);
      ws._attach(this, peer, protocol, extensions);
      ws.terminate();
      throw error;
    }
  }

  /** Takes no more upgrades of an HTTP server, which goes on; done when the clients are gone that it knows of. */
  _leave() {
    const { _server: server } = this;
    if (this._removeListeners !== null) {
      this._removeListeners();
      this._removeListeners = this._server = null;
    }
    // One that is not the user's: its 'close' follows the last of its connections.
    if (server && !this.options.server) return void server.close(() => emitClose(this));
    if (this._clients?.size) this._shouldEmitClose = true;
    else process.nextTick(emitClose, this);
  }

  _closeIfDone() {
    if (this._state !== CLOSING || this._listenerId !== -1 || this._connections !== 0) return;
    process.nextTick(emitClose, this);
  }

  _start() {
    checkMayListen();
    const { host } = this.options;
    if (!host) return this._listen(null);
    if (isIP(host) !== 0) return this._listen(host);
    dns.lookup(host, (error, address) => {
      if (this._state !== RUNNING) return;
      if (error) this.emit('error', error);
      else this._listen(address);
    });
  }

  /** @param {string | null} address IP literal; null is every address */
  _listen(address) {
    this._ask = this._wantedAsk();
    let native = /** @type {any} */ (null);
    try {
      native = reactor.start(reactorOptions(this.options));
      if (reactor.state.failure !== null) throw reactor.state.failure;
      const { id, ...bound } = native.listen(listenOptions(this.options, address, this._ask));
      this._listenerId = id;
      this._reactors = reactor.state.reactors;
      this._address = { address: bound.address, family: bound.family, port: bound.port };
    } catch (error) {
      process.nextTick(() => this.emit('error', error));
      return;
    }
    reactor.enlist(this._listenerId, this);
    this._listener?._onBound();
    // Accepting starts when the listeners that this turn attaches are known.
    process.nextTick(() => {
      if (this._state !== RUNNING) return;
      native.accept(this._listenerId);
      this.emit('listening');
      this._listener?.emit('listening');
    });
  }

  /** @returns {number} Which handshakes somebody here wants to see */
  _wantedAsk() {
    const { handleProtocols, path, verifyClient } = this.options;
    let ask = 0;
    if (
      verifyClient ||
      handleProtocols ||
      path !== this._nativePath ||
      this.shouldHandle !== shouldHandle ||
      this.listenerCount('headers') !== 0
    ) {
      ask |= ASK_ALWAYS;
    }
    if (this.listenerCount('wsClientError') !== 0) ask |= ASK_REFUSED;
    if (this._listener?.listenerCount('connection')) ask |= ASK_CONNECTIONS;
    return ask;
  }

  _updateAsk() {
    const ask = this._wantedAsk();
    if (ask === this._ask) return;
    this._ask = ask;
    if (this._listenerId !== -1 && this.isRunning()) reactor.state.native.setAsk(this._listenerId, ask);
  }
}

/** @type {any} */ (WebSocketServer.prototype)._shouldHandle = shouldHandle;
watchListeners(WebSocketServer.prototype, function (event) {
  if (event === undefined || ASKING_EVENTS.has(/** @type {string} */ (event))) this._updateAsk();
});

/** @param {WebSocketServer} server */
function emitClose(server) {
  server._state = CLOSED;
  server.emit('close');
}

module.exports = { WebSocketServer };
