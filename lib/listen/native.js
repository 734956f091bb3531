'use strict';

const dns = require('node:dns');
const { isIP } = require('node:net');

const { addressOf, closeGiven, differs, listenError } = require('./listen-target');
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
  lookUp(server, target, (address) => {
    const listenHere = () => listen(server, target, address);
    if (handover === null) listenHere();
    else handover.begin(listenHere, (/** @type {number} */ fd) => takePort(server, target, address, fd));
  });
}

/** `then` gets an IP literal, or null for every address. @type {(server: Server, target: ListenTarget, then: (address: string | null) => void) => void} */
function lookUp(server, { host }, then) {
  if (!host || isIP(host) !== 0) return then(host || null);
  dns.lookup(host, (error, address) => {
    if (!server._isRunning()) return;
    if (error) server._emit('error', error);
    else then(address);
  });
}

/** `address`: as of `lookUp`. @type {(server: Server, target: ListenTarget, address: string | null) => void} */
function listen(server, target, address) {
  server._updateHooks();
  /** @type {any} */
  let native = null;
  try {
    native = start(server._settings.reactor);
    if (state.failure !== null) throw state.failure;
    bind(server, native, listenOptions(server, target, address));
    closeGiven(target);
  } catch (error) {
    const isOfTarget = native !== null && state.failure === null;
    const failed = isOfTarget ? listenError(/** @type {Error} */ (error), target, address) : error;
    if (server._handover?.retry(failed)) return;
    process.nextTick(() => server._emit('error', failed));
    return;
  }
  bound(server);
}

/**
 * Listens at a socket of the process before. Throws if it is not the one that the options ask for.
 *
 * @type {(server: Server, target: ListenTarget, address: string | null, fd: number) => void}
 */
function takePort(server, target, address, fd) {
  server._updateHooks();
  const native = start(server._settings.reactor);
  if (state.failure !== null) throw state.failure;
  // Throws if it is not open: then there is no listener yet.
  closeGiven(target);
  const id = bind(server, native, listenOptions(server, { __proto__: null, fd, port: 0 }, null));
  const other = differs(target, address, /** @type {any} */ (server._address));
  if (other !== null) {
    native.closeListener(id);
    server._listenerId = -1;
    throw Object.assign(new Error(`options.${other}: with options.handover, the port of the process before moves unchanged`), { code: 'WS_ERR_HANDOVER' });
  }
  bound(server);
}

/** @type {(server: Server, native: import('../reactor/reactors').Native, options: any) => number} */
function bind(server, native, options) {
  /** @type {any} */
  const tls = server._tls;
  const { id, ...at } = native.listen(options, server._admission?.native, server._rates, tls?.native);
  server._listenerId = id;
  server._reactors = state.reactors;
  server._address = addressOf(at);
  return id;
}

/** @param {Server} server */
function bound(server) {
  addServer(server._listenerId, server);
  if (server.options.http) upgradesOf(server.options.http).open(server);
  server._listener?._onBound();
  const serve = () => {
    state.native.accept(server._listenerId);
    server._emit('listening');
    server._listener?.emit('listening');
  };
  // Accepts after this turn: the program attaches its listeners now.
  process.nextTick(() => {
    if (!server._isRunning()) return;
    // By now a subclass has defined its fields, which nothing reports.
    server._updateHooks();
    // Connections of the process before come first.
    if (server._handover === null) serve();
    else server._handover.onBound(serve);
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
