'use strict';

const { randomBytes } = require('node:crypto');
const http = require('node:http');
const https = require('node:https');

const { CLIENT, ERROR_EMITTED } = require('../base/bits');
const { addon } = require('../reactor/addon');
const { complaint, credentialsOf, parseAddress, whereOf } = require('./address');
const { faultOf, faultOfExtensions } = require('./response');
const { CONNECTING } = require('../base/constants');
const { checkNumbers } = require('../base/checks');
const { endsBy, startClosing } = require('../connection/state');
const { CAUSE } = require('../base/layout');
const { applyMemoryOptions, check } = require('../deflate/options');
const { format } = require('../deflate/extension');
const { DEFLATE, PerMessageDeflate } = require('../deflate/permessage-deflate');
const { parse } = require('../handshake/subprotocol');

/** @import { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http' */
/** @import { Options as DeflateOptions } from '../deflate/options' */
/** @import { AnySocket, WebSocket } from '../connection/state' */

const DEFAULTS = {
  allowSynchronousEvents: true,
  autoPong: true,
  closeTimeout: 30_000,
  protocolVersion: 13,
  maxBufferedChunks: 256 * 1024,
  maxFragments: 16 * 1024,
  maxPayload: 100 * 1024 * 1024,
  maxPendingAutoPongs: 60,
  skipUTF8Validation: false,
  perMessageDeflate: true,
  followRedirects: false,
  maxRedirects: 10,
};

/** The numbers among the options of ws. */
const NUMBERS = ['closeTimeout', 'maxBufferedChunks', 'maxFragments', 'maxPayload', 'maxPendingAutoPongs', 'maxRedirects'];

/** Options of `http.request` that a program cannot set. */
const NOT_GIVEN = { hostname: undefined, protocol: undefined, protocols: undefined, method: 'GET' };

const VERSIONS = [8, 13];
const NEVER_CONNECTED = 'WebSocket was closed before the connection was established';
const KEY_BYTES = 16;

/** @typedef {import('../../index').ClientOptions} ClientOptions */

/**
 * The options as a program gives them, with the WebSocket of this package.
 *
 * @typedef {Omit<ClientOptions, 'finishRequest'> & {
 *   finishRequest?: (request: ClientRequest, ws: WebSocket) => void, protocols?: unknown }} Given
 */

/**
 * The options laid over the defaults.
 *
 * @typedef {Omit<typeof DEFAULTS, 'perMessageDeflate'> & Given} Settings
 */

/**
 * @typedef {Omit<https.RequestOptions, 'headers'> & { headers: OutgoingHttpHeaders }} Requested
 */

/** @typedef {Client} ClientHandshake */

/** The opening handshake of a client. */
class Client {
  /**
   * @param {WebSocket} ws
   * @param {string[]} protocols
   * @param {Given | undefined} options Not checked yet
   */
  constructor(ws, protocols, options) {
    this.ws = ws;
    this.protocols = protocols;
    this.options = options;
    this.redirects = 0;
    this.url = '';
    /** The request that is under way. @type {ClientRequest | null} */
    this.request = null;
    /** Whether the request was aborted here, so that its error is not reported. */
    this.isAborted = false;
    /**
     * The address of the first request.
     *
     * @type {{ host: string, isIpc: boolean, isSecure: boolean } | null}
     */
    this.origin = null;
  }

  /**
   * Sends a request.
   *
   * @type {(url: URL) => void}
   * @throws {SyntaxError | RangeError | TypeError} For wrong arguments of the constructor
   */
  start(url) {
    const { ws } = this;
    const settings = /** @type {Settings} */ ({ ...DEFAULTS, ...this.options, ...NOT_GIVEN });
    ws._options = /** @type {typeof ws._options} */ (/** @type {unknown} */ (settings));
    if (!VERSIONS.includes(settings.protocolVersion)) {
      const versions = VERSIONS.join(', ');
      throw new RangeError(
        `Unsupported protocol version: ${settings.protocolVersion} (supported versions: ${versions})`,
      );
    }
    checkNumbers(settings, NUMBERS);
    if (settings.perMessageDeflate) check(/** @type {DeflateOptions} */ (settings.perMessageDeflate));
    settings.perMessageDeflate = applyMemoryOptions(settings.perMessageDeflate);
    this.url = url.href;
    const wrong = complaint(url);
    if (wrong !== undefined) {
      if (this.redirects === 0) throw new SyntaxError(wrong);
      fail(ws, new SyntaxError(wrong));
      return;
    }
    const { maxPayload, perMessageDeflate } = settings;
    const offered = {
      deflate: perMessageDeflate
        ? new PerMessageDeflate({ .../** @type {DeflateOptions} */ (perMessageDeflate), isServer: false, maxPayload })
        : null,
      key: randomBytes(KEY_BYTES).toString('base64'),
      protocols: offeredProtocols(this.protocols),
    };
    const requested = this.requestOptions(url, settings, offered);
    if (settings.followRedirects) this.guardSecrets(url, requested);

    const send = url.protocol === 'wss:' ? https.request : http.request;
    const request = send(requested);
    this.request = request;
    if (this.redirects !== 0 && settings.followRedirects) ws.emit('redirect', this.url, request);
    this.listen(request, url, settings, offered);
    if (settings.finishRequest) settings.finishRequest(request, ws);
    else request.end();
  }

  /** @type {(url: URL, settings: Settings, offered: import('./response').Offered) => Requested} */
  requestOptions(url, settings, { deflate, key }) {
    const { createConnection, defaultPort, ...where } = whereOf(url);
    const { origin, protocolVersion } = settings;
    /** @type {OutgoingHttpHeaders} */
    const headers = {
      ...settings.headers,
      'Sec-WebSocket-Version': protocolVersion,
      'Sec-WebSocket-Key': key,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
    };
    if (deflate !== null) headers['Sec-WebSocket-Extensions'] = format({ [DEFLATE]: deflate.offer() });
    if (this.protocols.length !== 0) headers['Sec-WebSocket-Protocol'] = this.protocols.join(',');
    if (origin) headers[protocolVersion < 13 ? 'Sec-WebSocket-Origin' : 'Origin'] = origin;
    return {
      .../** @type {https.RequestOptions} */ (settings),
      ...where,
      auth: credentialsOf(url) ?? settings.auth,
      createConnection: settings.createConnection || createConnection,
      defaultPort: settings.defaultPort || defaultPort,
      headers,
      timeout: settings.handshakeTimeout,
    };
  }

  /**
   * Keeps credentials from the host that a redirect leads to. A 'redirect' listener has to do so
   * itself.
   *
   * @type {(url: URL, requested: Requested) => void}
   */
  guardSecrets(url, requested) {
    const isSecure = url.protocol === 'wss:';
    const isIpc = url.protocol === 'ws+unix:';
    const host = isIpc ? /** @type {string} */ (requested.socketPath) : url.host;
    if (this.origin === null) {
      this.origin = { host, isIpc, isSecure };
      // A copy, as the object is the caller's, with names in lower case to look up.
      const given = Object.entries(this.options?.headers || {});
      const headers = Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value]));
      this.options = { ...this.options, headers };
    } else if (this.ws.listenerCount('redirect') === 0) {
      const isSameHost = isIpc === this.origin.isIpc && host === this.origin.host;
      if (!isSameHost || (this.origin.isSecure && !isSecure)) {
        delete requested.headers.authorization;
        delete requested.headers.cookie;
        if (!isSameHost) delete requested.headers.host;
        requested.auth = undefined;
      }
    }
    const { headers } = /** @type {{ headers: OutgoingHttpHeaders }} */ (this.options);
    // The first credentials stay, as with curl.
    if (requested.auth && !headers.authorization) {
      headers.authorization = `Basic ${Buffer.from(requested.auth).toString('base64')}`;
    }
  }

  /** @type {(request: ClientRequest, url: URL, settings: Settings, offered: import('./response').Offered) => void} */
  listen(request, url, settings, offered) {
    const { ws } = this;
    if (settings.handshakeTimeout) {
      request.on('timeout', () => abortHandshake(this, request, 'Opening handshake has timed out'));
    }
    request.on('error', (error) => {
      if (this.request !== request || this.isAborted) return;
      this.request = null;
      fail(ws, error);
    });
    request.on('response', (response) => this.answered(request, response, url, settings));
    request.on('upgrade', (response, socket, head) => {
      ws.emit('upgrade', response);
      // The listener may have closed the WebSocket.
      if (ws._readyState !== CONNECTING) return;
      this.request = null;
      let fault = faultOf(response, offered);
      if (fault === undefined) {
        // As in ws it stays if the extensions are wrong.
        ws._protocol = response.headers['sec-websocket-protocol'] || '';
        fault = faultOfExtensions(response, offered);
      }
      if (fault !== undefined) {
        abortHandshake(this, socket, fault);
        return;
      }
      ws._extensions = offered.deflate?.params ? { [DEFLATE]: offered.deflate } : {};
      ws.setSocket(socket, head, settings);
    });
  }

  /**
   * The server answers without an upgrade.
   *
   * @type {(request: ClientRequest, response: IncomingMessage, url: URL, settings: Settings) => void}
   */
  answered(request, response, url, settings) {
    const { ws } = this;
    const { headers } = response;
    const statusCode = /** @type {number} */ (response.statusCode);
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

/**
 * Checks the subprotocols of a client.
 *
 * @type {(protocols: string[]) => Set<string>}
 * @throws {SyntaxError}
 */
function offeredProtocols(protocols) {
  if (protocols.length === 0) return new Set();
  try {
    const offered = parse(protocols.join(','));
    if (offered.size === protocols.length && protocols.every((one) => offered.has(one))) return offered;
  } catch {
    // Said below.
  }
  throw new SyntaxError('An invalid or duplicated subprotocol was specified');
}

/**
 * `new WebSocket(address, protocols, options)`.
 *
 * @param {WebSocket} ws
 * @param {string | URL} address
 * @param {unknown} protocols
 * @param {Given | undefined} options The options; undefined where `protocols` has them
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
  const client = new Client(ws, Array.isArray(protocols) ? protocols : [protocols], options);
  ws._ensureExtra().client = client;
  client.start(parseAddress(address));
}

/** `close()` and `terminate()` before the connection is open. @type {(ws: WebSocket) => void} */
function abort(ws) {
  const client = ws._extra?.client;
  if (!client) throw new Error(NEVER_CONNECTED);
  abortHandshake(client, /** @type {ClientRequest} */ (client.request), NEVER_CONNECTED);
}

/**
 * Fails a handshake: `stream` is the request, or the socket of its answer.
 *
 * @type {(client: Client, stream: ClientRequest | AnySocket, message: string) => void}
 */
function abortHandshake(client, stream, message) {
  const { ws } = client;
  startClosing(ws);
  endsBy(ws, CAUSE.HANDSHAKE);
  const error = new Error(message);
  Error.captureStackTrace(error, abortHandshake);
  if (stream.setHeader) {
    client.isAborted = true;
    stream.abort();
    // abort() leaves the socket of a request that was answered.
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
  endsBy(ws, CAUSE.HANDSHAKE);
  ws._bits |= ERROR_EMITTED;
  ws.emit('error', error);
  ws.emitClose();
}

module.exports = { abort, connect };
