// The tools of a scenario: an implementation, a log, and servers and peers that end with it.
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

import { cert, key } from '../helpers/certificate.mjs';
import { Wrapped } from '../helpers/wrapped.mjs';
import { Peer } from './peer.mjs';
import { show } from './show.mjs';

/**
 * The ways in to a server. `stream` is `handleUpgrade` with a Duplex that is no net.Socket, `tls` a port with option `tls`,
 * and with ws https in its place; `https` (not in WAYS) an https server with both.
 */
export const WAYS = ['port', 'server', 'noServer', 'stream', 'tls'];

const EVENTS = ['message', 'ping', 'pong', 'error', 'close'];

export class Context {
  #lanes = {};
  #ports = new Set();
  #teardowns = [];

  /** @param impl What `require` gives; `way` one of WAYS, or undefined where there is no server. */
  constructor(impl, way) {
    this.impl = impl;
    this.way = way;
    this.WebSocket = impl.WebSocket;
    this.WebSocketServer = impl.WebSocketServer;
  }

  /**
   * Adds a line to a lane. Lines of one lane are compared in their order; events at the two ends of
   * a connection have no order, so each end has its own lane.
   */
  log(lane, ...values) {
    (this.#lanes[lane] ??= []).push(values.map((value, i) => (i === 0 && typeof value === 'string' ? value : show(value))).join(' '));
  }

  /** All lanes, with ports replaced. */
  get lanes() {
    const clean = (line) =>
      [...this.#ports].reduce((text, port) => text.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), '<port>'), line);
    return Object.fromEntries(Object.entries(this.#lanes).map(([lane, lines]) => [lane, lines.map(clean)]));
  }

  /** A port that differs from run to run. */
  hidePort(port) {
    this.#ports.add(port);
    return port;
  }

  teardown(act) {
    this.#teardowns.push(act);
  }

  async end() {
    for (const act of this.#teardowns.reverse()) await act();
  }

  /** Logs events of an emitter with their arguments. */
  watch(lane, emitter, events = EVENTS) {
    for (const event of events) emitter.on(event, (...args) => this.log(lane, event, ...args));
  }

  /** The next uncaught exception, which is logged in the lane `process`. */
  uncaught() {
    this.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
    return new Promise((resolve) => {
      process.setUncaughtExceptionCaptureCallback((error) => {
        this.log('process', 'uncaught', error);
        resolve(error);
      });
    });
  }

  /** A server over the way of the scenario: `wss`, and `http` if there is an HTTP server. */
  async listen(options = {}) {
    const { WebSocketServer } = this;
    const hasTls = this.way === 'tls' && 'emitUpgrades' in this.impl;
    if (this.way === 'port' || this.way === undefined || hasTls) {
      const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', ...(hasTls && { tls: { cert, key } }), ...options });
      await once(wss, 'listening');
      this.#guard(wss);
      return { wss, port: this.hidePort(wss.address().port) };
    }
    const server = await this.httpServer();
    const isServed = ['server', 'tls', 'https'].includes(this.way);
    const wss = new WebSocketServer({ ...(isServed ? { server } : { noServer: true }), ...options });
    if (!isServed) {
      server.on('upgrade', (request, socket, head) => {
        const stream = this.way === 'stream' ? new Wrapped(socket) : socket;
        wss.handleUpgrade(request, stream, head, (ws) => wss.emit('connection', ws, request));
      });
    }
    this.#guard(wss);
    return { wss, http: server, port: server.address().port };
  }

  /** A bare HTTP server. */
  async httpServer(handler) {
    const server = ['tls', 'https'].includes(this.way) ? https.createServer({ cert, key }, handler) : http.createServer(handler);
    const sockets = new Set();
    server.on('connection', (socket) => sockets.add(socket));
    this.teardown(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.hidePort(server.address().port);
    return server;
  }

  #guard(wss) {
    const all = new Set();
    wss.on('connection', (ws) => all.add(ws));
    this.teardown(() => {
      for (const ws of all) ws.terminate();
      wss.close();
    });
  }

  /** A bare client of a server. */
  peer(port, lane) {
    return Peer.connect(this, port, lane);
  }

  /**
   * A connection: a server, its `ws` with all events in the lane `server`, and the `peer`.
   * `onConnection` runs in the 'connection' event, `request` are fields of the upgrade
   * request, `early` is sent with it.
   */
  async open(options, { onConnection, request, early, events } = {}) {
    const listening = await this.listen(options);
    return { ...listening, ...(await this.join(listening, { onConnection, request, early, events })) };
  }

  /**
   * For events that must not come: time enough for them, while this thread has turns. Expected
   * events are waited for by themselves, because a busy machine may not have run the reactor's
   * thread meanwhile.
   */
  async settle() {
    const server = net.createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = net.connect(server.address().port, '127.0.0.1');
    this.teardown(() => {
      server.close();
      socket.destroy();
    });
    for (let i = 0; i < 20; i++) {
      socket.write('x');
      await once(socket, 'data');
      await turn();
    }
  }

  /** A further connection to a server. */
  async join({ wss, port }, { onConnection, request, early, events, lane = 'server', peerLane } = {}) {
    const opened = new Promise((resolve) => {
      wss.once('connection', (ws, req) => {
        this.watch(lane, ws, events);
        ws.on('error', () => {});
        const closed = new Promise((done) => ws.once('close', done));
        if (onConnection) onConnection(ws, req);
        resolve({ ws, req, closed });
      });
    });
    const peer = await this.peer(port, peerLane);
    peer.upgrade(request, early);
    const [{ ws, req, closed }] = await Promise.all([opened, peer.upgraded()]);
    return { ws, req, closed, peer };
  }

  /** The usual scenario: open, `act`, and then wait until both ends have closed. */
  async session(options, act, extra) {
    const session = await this.open(options, extra);
    await act({ c: this, ...session });
    await Promise.all([session.closed, session.peer.closed()]);
    return session;
  }

  /**
   * A bare TCP server for clients: `answer(request, socket, count)` gets the head of each request,
   * and the number of requests before it.
   */
  async origin(answer) {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true });
    const sockets = new Set();
    this.teardown(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    let count = 0;
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      const peer = new Peer(this, socket, 'origin');
      peer.upgraded().then(() => {
        if (peer.head !== '') answer(peer.head, peer, count++);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return this.hidePort(server.address().port);
  }
}

/** The next event of an emitter, or its 'error' as an event like others. */
export function next(emitter, event) {
  return new Promise((resolve) => {
    EventEmitter.prototype.once.call(emitter, event, (...args) => resolve(args));
  });
}
