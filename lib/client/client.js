'use strict';

const { randomBytes } = require('node:crypto');
const http = require('node:http');
const https = require('node:https');

const { CLIENT, ERROR_EMITTED } = require('../base/bits');
const { addon } = require('../reactor/addon');
const { urlFault, credentialsOf, parseAddress, requestOptionsOf } = require('./address');
const { CONNECTING } = require('../base/constants');
const { checkNumbers } = require('../base/checks');
const { DEFAULTS: SHARED, NUMBERS } = require('../connection/options');
const { setCause, startClosing } = require('../connection/state');
const { CAUSE, ORIGIN_FIELDS } = require('../base/layout');
const { checkDeflate } = require('../deflate/options');
const extension = require('../deflate/extension');
const { DEFLATE, PerMessageDeflate } = require('../deflate/permessage-deflate');
const { parse } = require('../upgrade/subprotocol');

/** @import { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http' */
/** @import { AnySocket, WebSocket } from '../connection/state' */

/** @type {Settings} */
const DEFAULTS = {
  ...SHARED,
  closeTimeout: 30_000,
  protocolVersion: 13,
  perMessageDeflate: true,
  followRedirects: false,
  maxRedirects: 10,
};

/** Options of `http.request` that a program cannot set. */
const NOT_GIVEN = { hostname: undefined, protocol: undefined, protocols: undefined, method: 'GET' };

const VERSIONS = [8, 13];
const NEVER_CONNECTED = 'WebSocket was closed before the connection was established';
const KEY_BYTES = 16;

/** @typedef {import('../../index').ClientOptions} ClientOptions */

/**
 * As a program gives them, with the WebSocket of this package.
 *
 * @typedef {Omit<ClientOptions, 'finishRequest'> & { finishRequest?: (request: ClientRequest, ws: WebSocket) => void, protocols?: unknown }} Given
 */

/** Over the defaults, checked. @typedef {Readonly<Record<string, any>>} Settings */

/** @typedef {Omit<https.RequestOptions, 'headers'> & { headers: OutgoingHttpHeaders }} Requested */

/** @typedef {Client} ClientHandshake */

class Client {
  /**
   * @param {WebSocket} ws
   * @param {string[]} protocols
   * @param {Settings} settings
   */
  constructor(ws, protocols, settings) {
    this.ws = ws;
    this.protocols = protocols;
    this.settings = settings;
    /** From the program. @type {OutgoingHttpHeaders} */
    this.headers = settings.headers || {};
    this.redirects = 0;
    // The current request.
    this.url = '';
    this.key = '';
    /** @type {Set<string>} */
    this.offered = new Set();
    /** @type {InstanceType<typeof PerMessageDeflate> | null} */
    this.deflate = null;
    /** @type {ClientRequest | null} */
    this.request = null;
    /** Aborted here: its error is not reported. */
    this.isAborted = false;
    /** Address of the first request. @type {{ host: string, isIpc: boolean, isSecure: boolean } | null} */
    this.origin = null;
  }

  /** Throws for a wrong argument of the constructor. @param {URL} url */
  start(url) {
    const { settings, ws } = this;
    this.url = url.href;
    const wrong = urlFault(url);
    if (wrong !== undefined) {
      if (this.redirects === 0) throw new SyntaxError(wrong);
      fail(ws, new SyntaxError(wrong));
      return;
    }
    const { maxPayload, perMessageDeflate } = settings;
    const given = perMessageDeflate && { ...perMessageDeflate, isServer: false, maxPayload };
    this.deflate = given ? new PerMessageDeflate(given) : null;
    this.key = randomBytes(KEY_BYTES).toString('base64');
    this.offered = offeredProtocols(this.protocols);
    const requested = this.requestOptions(url);
    if (settings.followRedirects) this.stripCredentials(url, requested);

    const request = (url.protocol === 'wss:' ? https : http).request(requested);
    this.request = request;
    if (this.redirects !== 0 && settings.followRedirects) ws.emit('redirect', this.url, request);
    this.listen(request, url);
    if (settings.finishRequest) settings.finishRequest(request, ws);
    else request.end();
  }

  /** @param {URL} url */
  requestOptions(url) {
    const { createConnection, defaultPort, ...where } = requestOptionsOf(url);
    const { deflate, key, settings } = this;
    const { origin, protocolVersion } = settings;
    /** @type {OutgoingHttpHeaders} */
    const headers = {
      ...this.headers,
      'Sec-WebSocket-Version': protocolVersion,
      'Sec-WebSocket-Key': key,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
    };
    if (deflate !== null) headers['Sec-WebSocket-Extensions'] = extension.format({ [DEFLATE]: deflate.offer() });
    if (this.protocols.length !== 0) headers['Sec-WebSocket-Protocol'] = this.protocols.join(',');
    if (origin) headers[ORIGIN_FIELDS[protocolVersion]] = origin;
    return {
      ...settings,
      ...where,
      auth: credentialsOf(url) ?? settings.auth,
      createConnection: settings.createConnection || createConnection,
      defaultPort: settings.defaultPort || defaultPort,
      headers,
      timeout: settings.handshakeTimeout,
    };
  }

  /** Keeps credentials from the host of a redirect. A 'redirect' listener must do so itself. @type {(url: URL, requested: Requested) => void} */
  stripCredentials(url, requested) {
    const isSecure = url.protocol === 'wss:';
    const isIpc = url.protocol === 'ws+unix:';
    const host = isIpc ? String(requested.socketPath) : url.host;
    if (this.origin === null) {
      this.origin = { host, isIpc, isSecure };
      // A copy, as the object is the caller's; in lower case for lookup.
      this.headers = Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name.toLowerCase(), value]));
    } else if (this.ws.listenerCount('redirect') === 0) {
      const isSameHost = isIpc === this.origin.isIpc && host === this.origin.host;
      if (!isSameHost || (this.origin.isSecure && !isSecure)) {
        delete requested.headers.authorization;
        delete requested.headers.cookie;
        if (!isSameHost) delete requested.headers.host;
        requested.auth = undefined;
      }
    }
    // The first credentials stay, as with curl.
    if (requested.auth && !this.headers.authorization) {
      this.headers.authorization = `Basic ${Buffer.from(requested.auth).toString('base64')}`;
    }
  }

  /** @type {(request: ClientRequest, url: URL) => void} */
  listen(request, url) {
    const { settings, ws } = this;
    if (settings.handshakeTimeout) {
      request.on('timeout', () => abortHandshake(this, request, 'Opening handshake has timed out'));
    }
    request.on('error', (error) => {
      if (this.request !== request || this.isAborted) return;
      this.request = null;
      fail(ws, error);
    });
    request.on('response', (response) => this.answered(request, response, url));
    request.on('upgrade', (response, socket, head) => {
      ws.emit('upgrade', response);
      // The listener might have closed the WebSocket.
      if (ws._readyState !== CONNECTING) return;
      this.request = null;
      const fault = this.faultOf(response);
      if (fault !== undefined) {
        abortHandshake(this, socket, fault);
        return;
      }
      ws._extensions = this.deflate?.params ? { [DEFLATE]: this.deflate } : {};
      ws.setSocket(socket, head, settings);
    });
  }

  /** Why the connection must fail (RFC 6455, 4.1). @type {(response: IncomingMessage) => string | undefined} */
  faultOf({ headers }) {
    const { deflate, offered, ws } = this;
    if (headers.upgrade?.toLowerCase() !== 'websocket') return 'Invalid Upgrade header';
    if (headers['sec-websocket-accept'] !== addon().acceptKey(this.key)) return 'Invalid Sec-WebSocket-Accept header';
    const protocol = headers['sec-websocket-protocol'];
    if (protocol === undefined && offered.size !== 0) return 'Server sent no subprotocol';
    if (protocol !== undefined && offered.size === 0) return 'Server sent a subprotocol but none was requested';
    if (protocol !== undefined && !offered.has(protocol)) return 'Server sent an invalid subprotocol';
    // As in ws, it stays if the extensions are wrong.
    ws._protocol = protocol || '';
    const header = headers['sec-websocket-extensions'];
    if (header === undefined) return undefined;
    if (deflate === null) return 'Server sent a Sec-WebSocket-Extensions header but no extension was requested';
    try {
      const names = Object.keys(extension.parse(header));
      if (names.length !== 1 || names[0] !== DEFLATE) return 'Server indicated an extension that was not requested';
      deflate._accept(header);
      return undefined;
    } catch {
      return 'Invalid Sec-WebSocket-Extensions header';
    }
  }

  /** Without an upgrade. @type {(request: ClientRequest, response: IncomingMessage, url: URL) => void} */
  answered(request, response, url) {
    const { settings, ws } = this;
    const { headers } = response;
    const { statusCode = 0 } = response;
    if (!headers.location || !settings.followRedirects || statusCode < 300 || statusCode >= 400) {
      if (ws.emit('unexpected-response', request, response)) return;
      abortHandshake(this, request, `Unexpected server response: ${statusCode}`);
      return;
    }
    if (++this.redirects > settings.maxRedirects) {
      abortHandshake(this, request, 'Maximum redirects exceeded');
      return;
    }
    request.abort();
    let next;
    try {
      next = parseAddress(headers.location, url);
    } catch (error) {
      fail(ws, /** @type {Error} */ (error));
      return;
    }
    this.start(next);
  }
}

/** @type {(options?: Given) => Settings} */
function settingsOf(options) {
  /** @type {Record<string, any>} */
  const settings = { ...DEFAULTS, ...options, ...NOT_GIVEN };
  if (!VERSIONS.includes(settings.protocolVersion)) {
    throw new RangeError(`Unsupported protocol version: ${settings.protocolVersion} (supported versions: ${VERSIONS.join(', ')})`);
  }
  checkNumbers(settings, [...NUMBERS, 'maxRedirects']);
  settings.perMessageDeflate = checkDeflate(settings.perMessageDeflate);
  return Object.freeze(settings);
}

/** @type {(protocols: string[]) => Set<string>} */
function offeredProtocols(protocols) {
  if (protocols.length === 0) return new Set();
  try {
    const offered = parse(protocols.join(','));
    if (offered.size === protocols.length && protocols.every((one) => offered.has(one))) return offered;
  } catch {
    // Thrown below.
  }
  throw new SyntaxError('An invalid or duplicated subprotocol was specified');
}

/**
 * `new WebSocket(...)`: options can be in the place of protocols.
 *
 * @type {(ws: WebSocket, address: string | URL, protocols: unknown, options?: Given) => void}
 */
function connect(ws, address, protocols, options) {
  if (typeof protocols === 'object' && protocols !== null && !Array.isArray(protocols)) {
    options = protocols;
    protocols = undefined;
  }
  if (protocols === undefined) protocols = options?.protocols ?? [];
  // A missing addon throws now, not when the server answers.
  addon();
  ws._bits |= CLIENT;
  const url = parseAddress(address);
  const client = new Client(ws, Array.isArray(protocols) ? protocols : [protocols], settingsOf(options));
  ws._options = client.settings;
  ws._ensureExtra().client = client;
  client.start(url);
}

/** `close()` and `terminate()` before 'open'. @param {WebSocket} ws */
function abort(ws) {
  const client = ws._extra?.client;
  if (!client) throw new Error(NEVER_CONNECTED);
  abortHandshake(client, client.request, NEVER_CONNECTED);
}

/** `stream`: the request, or the socket of its answer. @type {(client: Client, stream: any, message: string) => void} */
function abortHandshake(client, stream, message) {
  const { ws } = client;
  startClosing(ws);
  setCause(ws, CAUSE.HANDSHAKE);
  const error = new Error(message);
  Error.captureStackTrace(error, abortHandshake);
  if (stream.setHeader) {
    client.isAborted = true;
    stream.abort();
    // abort() leaves the socket of an answered request.
    if (stream.socket && !stream.socket.destroyed) stream.socket.destroy();
    process.nextTick(fail, ws, error);
  } else {
    stream.destroy(error);
    stream.once('error', ws.emit.bind(ws, 'error'));
    stream.once('close', ws.emitClose.bind(ws));
  }
}

/** @type {(ws: WebSocket, error: Error) => void} */
function fail(ws, error) {
  startClosing(ws);
  setCause(ws, CAUSE.HANDSHAKE);
  ws._bits |= ERROR_EMITTED;
  ws.emit('error', error);
  ws.emitClose();
}

module.exports = { abort, connect };
