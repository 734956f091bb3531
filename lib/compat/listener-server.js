'use strict';

const EventEmitter = require('node:events');

const { watchListeners } = require('../base/emitter');
const { ref, refer, unref } = require('../reactor/lifetime');
const { warn } = require('../base/log');

/** @import { IncomingMessage } from 'node:http' */
/** @import { AnySocket, Server, WebSocket } from '../connection/state' */

const { emit } = EventEmitter.prototype;

/**
 * Stands for the HTTP server that ws has on its own port: `wss._server`. The reactor listens and answers: 'request'
 * never comes, and 'upgrade' only where a listener decides.
 */
class ListenerServer extends EventEmitter {
  /**
   * @param {Server} wss
   * @param {(ws: WebSocket, request: IncomingMessage) => void} connected
   */
  constructor(wss, connected) {
    super();
    this._wss = wss;
    // Not enumerable: as the two refer to each other, JSON would not end.
    Object.defineProperty(this, '_wss', { value: wss, enumerable: false });
    /** @type {(request: IncomingMessage, socket: import('node:stream').Duplex, head: Buffer) => void} */
    this._upgrade = (request, socket, head) => wss.handleUpgrade(request, socket, head, connected);
    super.on('upgrade', this._upgrade);
    this._unreferenced = false;
    /** Undefined: no limit. @type {number | undefined} */
    this._most = undefined;
  }

  get maxConnections() {
    return this._most;
  }

  /** JavaScript must see each upgrade, to drop those above the number. */
  set maxConnections(most) {
    this._most = most;
    this._wss._updateHooks();
  }

  /** @param {(error: Error | null, count: number) => void} callback */
  getConnections(callback) {
    const { _connections: count } = this._wss;
    process.nextTick(callback, null, count);
    return this;
  }

  /** Closes a connection above the limit. @type {(socket: AnySocket) => boolean} */
  drops(socket) {
    if (this._most == null || this._wss._connections <= this._most) return false;
    const { localAddress, localFamily, localPort, remoteAddress, remoteFamily, remotePort } = socket;
    socket.destroy();
    this.emit('drop', { localAddress, localPort, localFamily, remoteAddress, remotePort, remoteFamily });
    return true;
  }

  /** Whether upgrades have another listener than ours, or none. */
  get hasOtherListener() {
    return /** @type {any} */ (this)._events.upgrade !== this._upgrade || this.emit !== emit;
  }

  get listening() {
    return this._wss._accepts();
  }

  address() {
    const { _address: address } = this._wss;
    return this.listening ? copyOf(address) : null;
  }

  /** @param {(error?: Error) => void} [callback] */
  close(callback) {
    this._wss.close(callback);
    return this;
  }

  ref() {
    return this._refer(true);
  }

  unref() {
    return this._refer(false);
  }

  /** @param {boolean} does */
  _refer(does) {
    // Before it listens, it holds nothing.
    if (this._wss._listenerId === -1) this._unreferenced = !does;
    else refer(this, does);
    return this;
  }

  _onBound() {
    if (!this._unreferenced) ref();
  }

  /** Descriptors have run out, or kernel memory to watch them. @param {number} count */
  _onRefused(count) {
    warn('REACTOR_WS_EXHAUSTED', 'no descriptors are left, or no more can be watched: connections are closed as they come');
    this._wss._counts.exhausted += count;
    this._wss._emit('exhausted', count);
  }

  _onReleased() {
    if (!this._unreferenced) unref();
    this.emit('close');
  }
}

watchListeners(ListenerServer.prototype, ({ _wss: wss }) => wss._updateHooks());

/** @type {(address: string | object | null) => unknown} */
function copyOf(address) {
  return typeof address === 'object' && address !== null ? { ...address } : address;
}

module.exports = { ListenerServer, copyOf };
