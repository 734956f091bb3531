'use strict';

// Who answers the upgrades of an HTTP server: the reactors of a port whose other connections it gets, or JavaScript.

const http = require('node:http');

const { nodeEmit } = require('../base/node-emit');
const { isOwnEmit, emitUpgrades, isHttp2 } = require('./http2');
const { connect, kAll, kindOf } = require('./http-option');
const { listenOptions } = require('../options');
const { addon } = require('../reactor/addon');
const { state } = require('../reactor/reactors');
const { addServer } = require('../reactor/table');

/** @import EventEmitter from 'node:events' */
/** @import { IncomingMessage } from 'node:http' */
/** @import { Duplex } from 'node:stream' */
/** @import { AnySocket, Server } from '../connection/state' */

/** Settings by which an HTTP server judges requests, or changes what is seen of them. */
const SETTINGS = ['httpValidation', 'insecureHTTPParser', 'joinDuplicateHeaders', 'listenerCount', 'maxHeaderSize', 'maxHeadersCount', 'requireHostHeader', 'shouldUpgradeCallback'];

/** Listeners of these events see an upgrade before its answer. */
const SEEING = new Set(['connection', 'secureConnection', 'upgrade']);

/** Events that show a connection, by the kind of the server. @type {Record<string, string[]>} */
const EVENTS = { connection: ['connection'], secureConnection: ['connection', 'secureConnection'] };

/** Why JavaScript answers: `requiredHooks` has found something. */
const OF_SERVER = 'an option, a listener or a method of a WebSocketServer';

/** @type {WeakMap<object, Upgrades>} */
const known = new WeakMap();

/** @param {EventEmitter} server */
function upgradesOf(server) {
  let upgrades = known.get(server);
  if (upgrades === undefined) known.set(server, (upgrades = new Upgrades(server)));
  return upgrades;
}

/** The upgrades of one HTTP server. */
class Upgrades {
  /** @param {any} server */
  constructor(server) {
    this.server = server;
    /** WebSocketServers that take them, oldest first. @type {Set<Server>} */
    this.takers = new Set();
    /** Their listeners. @type {Set<Function>} */
    this.listeners = new Set();
    /** Ports of reactors. @type {Map<Server, Port>} */
    this.ports = new Map();
    /** The event by which it gets connections. */
    this.kind = '';
    /** As they were when they were usual; null: unknown, or not. @type {unknown[] | null} */
    this.settings = null;
    /** @param {unknown} event */
    this.onChange = (event) => {
      if (SEEING.has(String(event))) this.change();
    };
  }

  /** The result ends that. @type {(wss: Server) => () => void} */
  add(wss) {
    const { listeners, server, takers } = this;
    if (isHttp2(server)) emitUpgrades(server);
    const emitConnection = wss.emit.bind(wss, 'connection');
    /** @type {(request: IncomingMessage, socket: Duplex, head: Buffer) => void} */
    const listener = (request, socket, head) => {
      // No event reports the removal of a hook: it counts from the next connection on, as with `port`.
      if (this.ports.size !== 0) wss._updateHooks();
      if (this.isFor(wss, request)) wss.handleUpgrade(request, socket, head, emitConnection);
    };
    wss._upgrades = this;
    takers.add(wss);
    listeners.add(listener);
    server.on('upgrade', listener);
    return () => {
      takers.delete(wss);
      listeners.delete(listener);
      wss._upgrades = null;
      server.removeListener('upgrade', listener);
      this.update();
    };
  }

  /**
   * Each server gets its own requests; the first one also gets, and refuses, requests that none handles. In ws, each refuses
   * the requests of the others. One with option `http` leaves them to the HTTP server.
   *
   * @type {(wss: Server, request: IncomingMessage) => boolean}
   */
  isFor(wss, request) {
    if (wss.options.http) return isWebSocket(request) && wss.shouldHandle(request);
    if (this.takers.size < 2 || wss.shouldHandle(request)) return true;
    const others = [...this.takers].filter((other) => other !== wss);
    return !others.some((other) => other.shouldHandle(request)) && wss === [...this.takers].find(({ options }) => !options.http);
  }

  /**
   * The HTTP server gets a connection of a port. As there, an upgrade is a request if nothing takes it: listeners of servers with
   * option `http` count for their own only.
   *
   * @type {(socket: AnySocket, read: Buffer) => void}
   */
  give(socket, read) {
    connect(this.server, socket, read);
    const { parser } = socket;
    const onIncoming = parser?.onIncoming;
    if (typeof onIncoming !== 'function' || this.takers.size === 0) return;
    parser.onIncoming = (/** @type {any} */ request, /** @type {boolean} */ keepsAlive) => {
      const isOfHttp = (/** @type {Server} */ wss) => Boolean(wss.options.http) && !this.isFor(wss, request);
      const isLeft = request.upgrade && request.method !== 'CONNECT' && !this.isWatched();
      if (isLeft && [...this.takers].every(isOfHttp)) request.upgrade = false;
      return onIncoming(request, keepsAlive);
    };
  }

  /** That of the first port: the HTTP server itself does not listen. */
  address() {
    const [listener] = this.ports.keys();
    return listener?.address() ?? null;
  }

  /** A port listens. @param {Server} listener */
  open(listener) {
    this.kind = String(kindOf(this.server));
    if (this.ports.size === 0) for (const event of ['newListener', 'removeListener']) this.server.on(event, this.onChange);
    this.ports.set(listener, new Port(listener));
    this.change();
  }

  /** @param {Server} listener */
  close(listener) {
    this.ports.get(listener)?.close();
    if (!this.ports.delete(listener) || this.ports.size !== 0) return;
    for (const event of ['newListener', 'removeListener']) this.server.removeListener(event, this.onChange);
  }

  /** JavaScript answers until the program has done what it does in this turn. */
  change() {
    this.settings = null;
    this.update();
    process.nextTick(() => {
      this.settings = isUsual(this.server) ? SETTINGS.map((name) => this.server[name]) : null;
      // Subclasses have defined fields, which nothing reports.
      for (const wss of this.takers) wss._updateHooks();
      this.update();
    });
  }

  /** Whether the reactors answer. */
  update() {
    const isNative = this.obstacle() === null;
    for (const port of this.ports.values()) port.serve(isNative ? [...this.takers] : [], this.takers);
    return isNative;
  }

  /** Whether 'upgrade' has another listener, or lacks one: a program can replace them. */
  isWatched() {
    const all = this.server.listeners('upgrade');
    return all.length !== this.listeners.size || !all.every((/** @type {Function} */ one) => this.listeners.has(one));
  }

  /** The one rule: why JavaScript answers; null: the reactors answer. */
  obstacle() {
    const { ports, server, settings, takers } = this;
    if (ports.size === 0) return 'the HTTP server is not behind a port of the reactors';
    if ([...takers].some((wss) => wss._hooks !== 0)) return OF_SERVER;
    if (this.isWatched()) return "another listener of 'upgrade'";
    const seen = EVENTS[this.kind].find((event) => server.listenerCount(event) !== 1);
    if (seen !== undefined) return `a listener of '${seen}'`;
    const hasKept = settings?.every((one, index) => one === server[SETTINGS[index]]);
    if (!hasKept || (server.emit !== nodeEmit && !isOwnEmit(server))) return 'a setting or a method of the HTTP server';
    return takers.size < 2 || arePathsDistinct([...takers]) ? null : 'WebSocketServers that take the same path';
  }
}

/** A port of reactors, with its routes. */
class Port {
  /** @param {Server} listener */
  constructor(listener) {
    this.listener = listener;
    /** Listeners without sockets. @type {Map<Server, number>} */
    this.ids = new Map();
    /** @type {Server[]} */
    this.served = [];
  }

  /** `takers`: whose routes can be used again. @type {(served: Server[], takers: Set<Server>) => void} */
  serve(served, takers) {
    const isSame = served.length === this.served.length && served.every((wss, index) => wss === this.served[index]);
    if (!isSame && state.failure === null) {
      this.served = served;
      state.native.setRoutes(this.listener._listenerId, served.map((wss) => this.ids.get(wss) ?? this.addRoute(wss)));
    }
    for (const wss of this.ids.keys()) if (!takers.has(wss)) this.remove(wss);
  }

  /** @param {Server} wss */
  addRoute(wss) {
    const { _listenerId: listenerId } = this.listener;
    /** @type {any} */
    const options = { ...listenOptions(wss, { __proto__: null, port: 0 }, null), http: null };
    const id = state.native.addRoute(listenerId, options, wss._admission?.native, wss._rates);
    this.ids.set(wss, id);
    addServer(id, /** @type {any} */ (new Route(wss, this.listener)));
    return id;
  }

  /** @param {Server} wss */
  remove(wss) {
    const id = this.ids.get(wss);
    this.ids.delete(wss);
    if (id !== undefined && state.failure === null) state.native.closeListener(id);
  }

  close() {
    for (const wss of this.ids.keys()) this.remove(wss);
  }
}

/** In the table of servers: connections of a port for a WebSocketServer. */
class Route {
  /** @param {Server} wss @param {Server} listener */
  constructor(wss, listener) {
    this.wss = wss;
    this.via = wss === listener ? undefined : listener;
    this._reactors = state.reactors;
  }

  /** @type {Server['_onOpened']} */
  _onOpened(slot, tag, bytes, start) {
    this.wss._onOpened(slot, tag, bytes, start, this.via);
  }

  _updateHooks() {
    this.wss._updateHooks();
  }

  _listClients() {
    this.wss._listClients();
  }

  _onFailed() {}

  _onReleased() {}
}

/** Whether requests are judged and seen as by a new HTTP server. @type {(server: any) => boolean} */
function isUsual(server) {
  if (kindOf(server) === null || isHttp2(server)) return true;
  /** @type {any} */
  const usual = http.createServer();
  const symbol = Object.getOwnPropertySymbols(usual).find(({ description }) => description === 'IncomingMessage');
  const [listener] = usual.listeners('connection');
  const isNodes = server.listeners(kindOf(server)).includes(listener);
  return isNodes && SETTINGS.every((name) => String(server[name]) === String(usual[name])) && (symbol === undefined || server[symbol] === usual[symbol]);
}

/** As `is_websocket` of src/engine/handshake. @param {IncomingMessage} request */
function isWebSocket({ headers, method }) {
  const refusal = addon().checkUpgrade(method, headers.upgrade);
  return refusal !== 'METHOD' && refusal !== 'UPGRADE';
}

/** @param {Server[]} takers */
function arePathsDistinct(takers) {
  const paths = takers.map(({ options }) => options.path);
  return paths.every(Boolean) && new Set(paths).size === paths.length;
}

/** The result ends that. @type {(wss: Server, server: EventEmitter) => () => void} */
function takeUpgrades(wss, server) {
  const { [kAll]: isPort, http: given } = wss.options;
  return isPort ? () => {} : upgradesOf(given ?? server).add(wss);
}

module.exports = { OF_SERVER, takeUpgrades, upgradesOf };
