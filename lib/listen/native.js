'use strict';

const dns = require('node:dns');
const { isIP } = require('node:net');

const { addressOf, closeGiven, listenError } = require('./listen-target');
const { upgradesOf } = require('./routes');
const { listenOptions } = require('../options');
const { start } = require('../reactor/start');
const { state } = require('../reactor/reactors');
const { addServer } = require('../reactor/table');

/** @import { Server } from '../connection/state' */
/** @import { ListenTarget } from './listen-target' */

/** @type {(server: Server, target: ListenTarget) => void} */
function startListening(server, target) {
  checkMayListen();
  const { _handover: handover } = server;
  if (handover === null) return lookUp(server, target);
  handover.begin(() => lookUp(server, target), (/** @type {number} */ fd) => listen(server, { __proto__: null, fd, port: 0 }, null));
}

/** @type {typeof startListening} */
function lookUp(server, target) {
  const { host } = target;
  if (!host) return listen(server, target, null);
  if (isIP(host) !== 0) return listen(server, target, host);
  dns.lookup(host, (error, address) => {
    if (!server._isRunning()) return;
    if (error) server._emit('error', error);
    else listen(server, target, address);
  });
}

/** `address`: IP literal, or null for every address. @type {(server: Server, target: ListenTarget, address: string | null) => void} */
function listen(server, target, address) {
  server._updateHooks();
  /** @type {any} */
  let native = null;
  try {
    native = start(server._settings.reactor);
    if (state.failure !== null) throw state.failure;
    /** @type {any} */
    const tls = server._tls;
    const options = listenOptions(server, target, address);
    const { id, ...bound } = native.listen(options, server._admission?.native, server._rates, tls?.native);
    server._listenerId = id;
    server._reactors = state.reactors;
    server._address = addressOf(bound);
    closeGiven(target);
  } catch (error) {
    const isOfTarget = native !== null && state.failure === null;
    const failed = isOfTarget ? listenError(/** @type {Error} */ (error), target, address) : error;
    if (server._handover?.retry(failed)) return;
    process.nextTick(() => server._emit('error', failed));
    return;
  }
  addServer(server._listenerId, server);
  if (server.options.http) upgradesOf(server.options.http).open(server);
  server._listener?._onBound();
  // Accepts after this turn: the program attaches its listeners now.
  process.nextTick(() => {
    if (!server._isRunning()) return;
    // By now a subclass has defined its fields, which nothing reports.
    server._updateHooks();
    // Those of the process before come first.
    if (!server._handover?.onBound(server._listenerId)) native.accept(server._listenerId);
    server._emit('listening');
    server._listener?.emit('listening');
  });
}

/**
 * As `net.Server`, throws ERR_ACCESS_DENIED. Node checks only its own servers: --permission does not restrict an addon
 * that it allows.
 */
function checkMayListen() {
  /** @type {{ permission?: { has(scope: string, address?: string): boolean } }} */
  const { permission } = process;
  if (!permission || permission.has('net')) return;
  // Before Node 25, permissions do not cover the network.
  if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) return;
  throw Object.assign(new Error('Access to this API has been restricted. Use --allow-net to manage permissions.'), {
    code: 'ERR_ACCESS_DENIED',
    permission: 'Net',
    resource: '',
  });
}

module.exports = { startListening };
