'use strict';

const { maxHeaderSize } = require('node:http');

const { MAX_DELAY, checkNumbers, checkValue, limit, readOptions, wrongType } = require('./base/checks');
const connection = require('./connection/options');
const { checkDeflate, deflateOptions, negotiatedDeflate } = require('./deflate/options');
const { Admission, originsOf } = require('./limits/admission');
const { proxiesOf } = require('./limits/proxies');
const { handoff } = require('./base/descriptors');
const { BACKLOG, MAX_HEAD, MAX_HEADERS } = require('./base/layout');
const { checkPath } = require('./handover/place');
const { checkHttp, kAll } = require('./listen/http-option');
const { checkPort, targetOf } = require('./listen/listen-target');
const { reportUnknown } = require('./base/log');
const { checkGiven, shownOf } = require('./tls/options');
const { adapterOf } = require('./topics/arguments');
const WebSocket = require('./websocket');
const { addon } = require('./reactor/addon');
const { AUTO } = require('./reactor/start');

/** @import { Server } from './connection/state' */

/**
 * Over the defaults, as given: like ws, we coerce options where they are used.
 *
 * @typedef {import('../index').ServerOptions & { WebSocket?: any, [kAll]?: boolean }} ServerOptions
 */

const { pong } = WebSocket.prototype;

/** For one environment. */
const MAX_REACTORS = 64;

const MAX_COUNT = 2 ** 31 - 1;

/** Milliseconds: the maximum of Linux is 32,767 s. */
const MAX_PROBE_DELAY = 32_767_000;

const DEFAULTS = {
  ...connection.DEFAULTS,
  perMessageDeflate: false,
  handleProtocols: null,
  clientTracking: true,
  closeTimeout: 30_000,
  verifyClient: null,
  noServer: false,
  backlog: null,
  server: null,
  host: null,
  path: null,
  port: null,
  WebSocket,
};

/**
 * Options that ws does not have. `server.options` has only the given ones, to look as in ws.
 *
 * @type {Record<string, import('./base/checks').Range & { initial: number | boolean | string | null }>}
 */
const OWN = {
  earlyHandshake: { type: 'boolean', initial: false },
  handshakeTimeout: { type: 'number', initial: 10_000, min: 1, max: MAX_DELAY },
  healthCheck: { type: 'string', initial: null },
  maxConnections: { type: 'number', initial: 0, min: 0, max: MAX_COUNT },
  maxConnectionsPerAddress: { type: 'number', initial: 0, min: 0, max: MAX_COUNT },
  handshakesPerSecond: { type: 'number', initial: 0, min: 0, max: 1_000_000 },
  // As in servers of Node, the process decides: --max-http-header-size.
  maxHeaderBytes: { type: 'number', initial: Math.min(Math.max(maxHeaderSize ?? MAX_HEAD, 256), 2 ** 20), min: 256, max: 2 ** 20 },
  maxHeaders: { type: 'number', initial: MAX_HEADERS, min: 8, max: MAX_HEADERS },
  messagesPerSecond: { type: 'number', initial: 0, min: 0, max: MAX_COUNT },
  bytesPerSecond: { type: 'number', initial: 0, min: 0, max: Number.MAX_SAFE_INTEGER },
  limit: { type: 'string', initial: 'pause', values: ['pause', 'close'] },
  pingInterval: { type: 'number', initial: 0, min: 0, max: MAX_DELAY },
  idleTimeout: { type: 'number', initial: 0, min: 0, max: MAX_DELAY },
  handover: { type: 'string', initial: null },
  ipv6Only: { type: 'boolean', initial: false },
  reusePort: { type: 'boolean', initial: false },
  noDelay: { type: 'boolean', initial: true },
  keepAlive: { type: 'boolean', initial: false },
  keepAliveInitialDelay: { type: 'number', initial: 0, min: 0, max: MAX_PROBE_DELAY },
  spin: { type: 'number', initial: -1, min: -1, max: MAX_DELAY },
  unfinishedBudget: { type: 'number', initial: 256 * 2 ** 20, min: 0, max: Number.MAX_SAFE_INTEGER },
  sendBudget: { type: 'number', initial: 0, min: 0, max: Number.MAX_SAFE_INTEGER },
  historyBudget: { type: 'number', initial: null, min: 0, max: Number.MAX_SAFE_INTEGER },
  topicOptions: { type: 'function', initial: null },
  adapterLimit: { type: 'number', initial: 64 * 2 ** 20, min: 0, max: Number.MAX_SAFE_INTEGER },
  presenceGrace: { type: 'number', initial: 15_000, min: 0, max: MAX_DELAY },
  presenceInterval: { type: 'number', initial: 1000, min: 0, max: MAX_DELAY },
  presenceLimit: { type: 'number', initial: 1000, min: 0, max: MAX_COUNT },
  adapterOverflow: { type: 'string', initial: 'drop', values: ['drop', 'reject'] },
  // Default: the environment variable; see `reactorsOf`.
  reactors: { type: 'number', initial: null, min: 0, max: MAX_REACTORS, or: AUTO },
};

const KNOWN = [...Object.keys(DEFAULTS), ...Object.keys(OWN), 'adapter', 'allowedOrigins', 'http', 'proxyProtocol', 'tls'];

/** Options of reactors: all servers of a thread share them. */
const SHARED = ['reactors', 'spin', 'unfinishedBudget', 'sendBudget'];

const ADMISSION = ['maxConnections', 'maxConnectionsPerAddress', 'handshakesPerSecond', 'maxHeaderBytes', 'maxHeaders'];

/** Options that decide which handshakes JavaScript sees. A program can assign them at any time. */
const WATCHED = /** @type {const} */ (['handleProtocols', 'path', 'verifyClient']);

/** The options that ws does not have, checked once, and what follows from them. @typedef {Readonly<Record<string, any>> & import('./limits/admission').Limits & Record<'idleTimeout' | 'pingInterval', number> & Record<'ipv6Only' | 'reusePort', boolean>} Settings */

/**
 * Lays the options over the defaults. As in ws, an undefined option overrides its default. `tls`: has secrets.
 *
 * @type {(given: ServerOptions) => { options: ServerOptions, settings: Settings, tls: any }}
 */
function parse(given) {
  /** @type {any} */
  const options = { ...DEFAULTS, ...given };
  const { noServer, port, server } = options;
  if (Number(port != null) + Number(!!server) + Number(!!noServer) !== 1) {
    throw new TypeError(
      'One and only one of the "port", "server", or "noServer" options must be specified',
    );
  }
  if (options.perMessageDeflate === true) options.perMessageDeflate = {};
  if (server && typeof server.on !== 'function') throw wrongType('options.server', 'an HTTP server', server);
  if (port != null) options.port = checkPort(options);
  reportUnknown(given, KNOWN, 'options');
  checkNumbers(options, ['backlog', ...connection.NUMBERS]);
  const settings = settingsOf(options);
  checkPlace(options, settings);
  checkHealth(options, settings);
  checkHandover(options, settings);
  checkHttpOf(options);
  const tls = (Object.hasOwn(given, 'tls') ? given.tls : null) ?? null;
  if (tls !== null) {
    if (port == null) throw new TypeError('options.tls needs a port. The TLS of options.server is that of https.createServer()');
    checkGiven(tls, 'options.tls');
    // Options are printed, and handed on.
    options.tls = shownOf(tls);
  }
  options.perMessageDeflate = checkDeflate(options.perMessageDeflate);
  return { options, settings, tls };
}

/** Not coerced, unlike the options of ws; undefined is the default. @type {(options: any) => Settings} */
function settingsOf(options) {
  /** @type {any} */
  const all = readOptions(OWN, options, 'options');
  // If 0, one reactor runs on the JavaScript thread; if AUTO, while that is better.
  const variable = process.env.REACTOR_WS_REACTORS;
  all.reactors ??= variable ? checkValue(OWN.reactors, variable === AUTO ? AUTO : Number(variable), 'REACTOR_WS_REACTORS') : 1;
  const { adapterLimit, adapterOverflow, keepAlive, keepAliveInitialDelay, noDelay, reactors, sendBudget, spin, unfinishedBudget } = all;
  const origins = originsOf(options.allowedOrigins);
  const adapter = adapterOf(options);
  return Object.freeze({
    ...all,
    origins,
    presence: { grace: all.presenceGrace, interval: all.presenceInterval, limit: all.presenceLimit },
    proxies: proxiesOf(options),
    reactor: { given: SHARED.filter((name) => options[name] != null), reactors, sendBudget, spin, unfinishedBudget },
    clusterNode: adapter === null ? null : { adapter, adapterLimit, adapterOverflow },
    // Under Node's names. The delay is a multiple of 1000 ms; 0: the default of the system.
    tcp: { keepAlive, keepAliveInitialDelay: Math.ceil(keepAliveInitialDelay / 1000) * 1000, noDelay },
  });
}

/**
 * Calls `changed` after an assignment to one of WATCHED.
 *
 * @type {(options: ServerOptions, changed: () => void) => void}
 */
function watch(options, changed) {
  for (const name of WATCHED) {
    let value = options[name];
    /** @type {any} */
    const descriptor = {
      __proto__: null,
      configurable: true,
      enumerable: true,
      get: () => value,
      set(/** @type {ServerOptions[typeof name]} */ assigned) {
        value = assigned;
        changed();
      },
    };
    Object.defineProperty(options, name, descriptor);
  }
}

/**
 * `host`: IP literal, or null for every address.
 *
 * @type {(server: Server, target: import('./listen/listen-target').ListenTarget, host: string | null) => any}
 */
function listenOptions(server, { backlog, fd, ipv6Only, mode, path, port, reusePort }, host) {
  const { _hooks: ask, _settings: settings, options } = server;
  return {
    ...settings,
    host,
    port,
    socketPath: path ?? null,
    mode: mode ?? null,
    fd: fd ?? null,
    reusePort: reusePort === undefined ? settings.reusePort : !!reusePort,
    keepAlive: settings.keepAlive ? settings.tcp.keepAliveInitialDelay : -1,
    backlog: limit(backlog) || BACKLOG,
    ipv6Only: ipv6Only === undefined ? settings.ipv6Only : !!ipv6Only,
    path: options.path ? String(options.path) : null,
    http: options.http ? { sockets: handoff.asSockets } : null,
    ask,
    movable: settings.handover !== null,
    perMessageDeflate: deflateOptions(options.perMessageDeflate),
    connection: connectionOptions(server),
  };
}

/** For connections of a reactor. @param {Server} server */
function connectionOptions({ _settings: settings, options }) {
  return connection.engineOptions(options, options, settings, !!options.autoPong && !hasOwnPong(options));
}

/** For one whose handshake JavaScript has answered. @type {(server: Server, carrier: Parameters<typeof negotiatedDeflate>[0]) => ReturnType<typeof connectionOptions>} */
function servedOptions(server, carrier) {
  const options = connectionOptions(server);
  options.deflate = negotiatedDeflate(carrier);
  return options;
}

/** Whether the `pong()` of a subclass answers pings, instead of the reactor. @param {ServerOptions} options */
function hasOwnPong({ WebSocket: Class }) {
  return Class?.prototype?.pong !== pong;
}

/** @param {ServerOptions} options */
function socketOptions(options) {
  const { allowSynchronousEvents, maxBufferedChunks, maxFragments, maxPayload, skipUTF8Validation } = options;
  return { allowSynchronousEvents, maxBufferedChunks, maxFragments, maxPayload, skipUTF8Validation };
}

/**
 * Null without limits. A server that listens itself always limits the head of a request.
 *
 * @type {(settings: Settings, listens: boolean) => InstanceType<typeof Admission> | null}
 */
function admissionOf(settings, listens) {
  const isLimited = listens || ADMISSION.some((name) => settings[name] !== OWN[name].initial);
  return isLimited || settings.origins.patterns !== undefined ? new Admission(settings, settings.origins) : null;
}

const ALONE = 'on which the server listens by itself, not in a worker of a cluster';

/** Checks options that depend on where the server listens. @type {(options: ServerOptions, settings: Settings) => void} */
function checkPlace(options, { proxies, reusePort }) {
  const target = options.port == null ? null : targetOf(options);
  const isTcp = target !== null && target.path === undefined;
  if (proxies.length !== 0 && !isTcp) throw new TypeError(`options.proxyProtocol needs a TCP port ${ALONE}`);
  if (reusePort && !(isTcp && target.fd === undefined)) throw wrongType('options.reusePort', 'false without a TCP port', true);
  const { mode } = Object(options.port);
  if (mode === undefined || mode === null) return;
  checkValue({ type: 'number', min: 0, max: 0o777 }, mode, 'options.port.mode');
  if (target?.path === undefined) throw new TypeError(`options.port.mode needs a path ${ALONE}`);
}

/** @type {(options: ServerOptions, settings: Settings) => void} */
function checkHealth({ port }, { healthCheck: path }) {
  if (path === null) return;
  if (!/^\/[!-~]*$/.test(path) || /[?#]/.test(path)) throw wrongType('options.healthCheck', "a path, such as '/healthz'", path);
  if (port == null) throw wrongType('options.healthCheck', 'undefined without a port', path);
}

/** @type {(options: ServerOptions, settings: Settings) => void} */
function checkHandover(options, { handover, reusePort }) {
  if (handover === null) return;
  const target = options.port == null ? null : targetOf(options);
  if (options.server || options.noServer) throw new TypeError('options.handover belongs to a port of the reactors: listen(server, { port, handover })');
  if (target === null || target.path !== undefined) throw new TypeError(`options.handover needs a TCP port ${ALONE}`);
  if (options.tls) throw new TypeError('options.handover cannot be used with options.tls: the keys of a connection do not move');
  if (reusePort) throw new TypeError('options.handover cannot be used with options.reusePort: the port moves');
  checkPath(handover);
}

/** @param {ServerOptions} options */
function checkHttpOf(options) {
  const { [kAll]: isAll = false, http, port, tls } = options;
  if (!isAll && (http === undefined || http === null)) return;
  if (port == null) throw new TypeError('options.http needs options.port: beside options.server and options.noServer there is an HTTP server already');
  checkHttp(http, isAll ? 'server' : 'options.http', tls);
}

/** How fast clients can send; the reactors count. @type {(settings: Settings) => import('./native/binding').Rates | null} */
function ratesOf({ bytesPerSecond, limit: action, messagesPerSecond }) {
  if (messagesPerSecond === 0 && bytesPerSecond === 0) return null;
  return new (addon().Rates)(messagesPerSecond, bytesPerSecond, action === 'close');
}

module.exports = { admissionOf, hasOwnPong, listenOptions, parse, ratesOf, servedOptions, socketOptions, watch };
