'use strict';

const EventEmitter = require('node:events');

const reactor = require('./reactor');

/**
 * Stands for the HTTP server that ws has on a port of its own: `wss._server`. The reactor listens and answers, so there
 * is no 'request', no 'upgrade' and no 'connection'.
 */
class ListenerServer extends EventEmitter {
  /** @param {any} wss */
  constructor(wss) {
    super();
    this._wss = wss;
    this._unreferenced = false;
  }

  get listening() {
    return this._wss._listenerId !== -1;
  }

  address() {
    const { _address: address } = this._wss;
    return this.listening && address !== null ? { ...address } : null;
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

  /** @param {boolean} does Whether listening keeps the process alive */
  _refer(does) {
    if (this._unreferenced !== does) return;
    this._unreferenced = !does;
    if (!this.listening) return;
    if (does) reactor.hold();
    else reactor.release();
  }

  /** It listens from now on. Called by its owner. */
  _onBound() {
    if (!this._unreferenced) reactor.hold();
  }

  /** It listens no more. Called by its owner. */
  _onReleased() {
    if (!this._unreferenced) reactor.release();
    this.emit('close');
  }
}

module.exports = { ListenerServer };
