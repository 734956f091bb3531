'use strict';

const dns = require('node:dns');
const { isIP } = require('node:net');

const { addressOf, closeGiven, listenError } = require('./place');
const { listenOptions } = require('../options');
const { start } = require('../reactor/start');
const { state } = require('../reactor/link');
const { enlist } = require('../reactor/table');

/** @import { Server } from '../connection/state' */
/** @import { Place } from './place' */

/** @type {(server: Server, place: Place) => void} */
function startListening(server, place) {
  checkMayListen();
  const { host } = place;
  if (!host) return listen(server, place, null);
  if (isIP(host) !== 0) return listen(server, place, host);
  dns.lookup(host, (error, address) => {
    if (!server._isRunning()) return;
    if (error) server._emit('error', error);
    else listen(server, place, address);
  });
}

/** `address`: IP literal, or null for every address. @type {(server: Server, place: Place, address: string | null) => void} */
function listen(server, place, address) {
  server._updateAsk();
  /** @type {any} */
  let native = null;
  try {
    native = start(server._settings.reactor);
    if (state.failure !== null) throw state.failure;
    /** @type {any} */
    const tls = server._tls;
    const options = listenOptions(server, place, address);
    const { id, ...bound } = native.listen(options, server._admission?.native, server._rates ?? undefined, tls?.native);
    server._listenerId = id;
    server._reactors = state.reactors;
    server._address = addressOf(bound);
    closeGiven(place);
  } catch (error) {
    const isOfPlace = native !== null && state.failure === null;
    const failed = isOfPlace ? listenError(/** @type {Error} */ (error), place, address) : error;
    process.nextTick(() => server._emit('error', failed));
    return;
  }
  enlist(server._listenerId, server);
  server._listener?._onBound();
  // Accepts after this turn, in which listeners are attached.
  process.nextTick(() => {
    if (!server._isRunning()) return;
    // By now a subclass has defined its fields, which nothing reports.
    server._updateAsk();
    native.accept(server._listenerId);
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
