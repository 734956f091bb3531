'use strict';

const EventEmitter = require('node:events');

const { hold, release } = require('../reactor/lifetime');
const { warn } = require('../base/log');

/** @import { IncomingMessage } from 'node:http' */
/** @import { Server, WebSocket } from '../connection/state' */

const { emit } = EventEmitter.prototype;

/**
 * Stands for the HTTP server that ws has on a port of its own: `wss._server`. The reactor listens
 * and answers, so there is no 'request', and 'upgrade' only where a listener decides.
 */
class ListenerServer extends EventEmitter {
  /**
   * @param {Server} wss
   * @param {(ws: WebSocket, request: IncomingMessage) => void} connected
   */
  constructor(wss, connected) {
    super();
    this._wss = wss;
    // Not enumerable: the two refer to each other, and JSON would not end.
    Object.defineProperty(this, '_wss', { value: wss, enumerable: false });
    /** @type {(request: IncomingMessage, socket: import('node:stream').Duplex, head: Buffer) => void} */
    this._upgrade = (request, socket, head) => wss.handleUpgrade(request, socket, head, connected);
    super.on('upgrade', this._upgrade);
    this._unreferenced = false;
    /** undefined: no limit. @type {number | undefined} */
    this._most = undefined;
  }

  get maxConnections() {
    return this._most;
  }

  /** Upgrades above that number are dropped, so JavaScript has to see each. */
  set maxConnections(most) {
    this._most = most;
    this._wss._updateAsk();
  }

  /** @param {(error: Error | null, count: number) => void} callback */
  getConnections(callback) {
    const { _connections: count } = this._wss;
    process.nextTick(callback, null, count);
    return this;
  }

  /** Closes a connection that is one too many. @type {(socket: import('node:net').Socket) => boolean} */
  drops(socket) {
    if (this._most == null || this._wss._connections <= this._most) return false;
    const { localAddress, localFamily, localPort, remoteAddress, remoteFamily, remotePort } = socket;
    socket.destroy();
    this.emit('drop', { localAddress, localPort, localFamily, remoteAddress, remotePort, remoteFamily });
    return true;
  }

  /** Whether upgrades have another listener than ours, or none. */
  get isHandedOn() {
    return /** @type {{ _events: Record<string, unknown> }} */ (/** @type {unknown} */ (this))._events.upgrade !== this._upgrade || this.emit !== emit;
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
    this._refer(true);
    return this;
  }

  unref() {
    this._refer(false);
    return this;
  }

  /** @type {(does: boolean) => void} */
  _refer(does) {
    if (this._unreferenced !== does) return;
    this._unreferenced = !does;
    if (this._wss._listenerId === -1) return;
    if (does) hold();
    else release();
  }

  /** The server listens from now on. The owner calls it. */
  _onBound() {
    if (!this._unreferenced) hold();
  }

  /** Descriptors have run out, or the kernel's memory to watch them. @type {(count: number) => void} */
  _onRefused(count) {
    warn('REACTOR_WS_EXHAUSTED', 'no descriptors are left, or no more can be watched: connections are closed as they come');
    this._wss._counts.exhausted += count;
    this._wss._emit('exhausted', count);
  }

  /** The server listens no more. The owner calls it. */
  _onReleased() {
    if (!this._unreferenced) release();
    this.emit('close');
  }
}

/** @type {(address: string | object | null) => unknown} */
function copyOf(address) {
  return typeof address === 'object' && address !== null ? { ...address } : address;
}

module.exports = { ListenerServer, copyOf };
