'use strict';

const net = require('node:net');
const querystring = require('node:querystring');
const tls = require('node:tls');

/** @import { RequestOptions } from 'node:https' */

const WRONG_PROTOCOL = 'The URL\'s protocol must be one of "ws:", "wss:", "http:", "https:", or "ws+unix:"';

/** `http:` and `https:` stand for `ws:` and `wss:`. `urlFault` checks the rest. @type {(address: string | URL, base?: URL) => URL} */
function parseAddress(address, base) {
  let url;
  try {
    url = address instanceof URL ? address : new URL(address, base);
  } catch {
    throw new SyntaxError(`Invalid URL: ${address}`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return url;
  // The caller's object stays unchanged.
  const copy = new URL(url);
  copy.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:';
  return copy;
}

/** Why a client cannot connect. @type {(url: URL) => string | undefined} */
function urlFault(url) {
  if (!['ws:', 'wss:', 'ws+unix:'].includes(url.protocol)) return WRONG_PROTOCOL;
  if (url.protocol === 'ws+unix:' && !url.pathname) return "The URL's pathname is empty";
  return url.hash ? 'The URL contains a fragment identifier' : undefined;
}

/** Options of `http.request` from the address. @type {(url: URL) => RequestOptions} */
function requestOptionsOf(url) {
  const isSecure = url.protocol === 'wss:';
  const { hostname } = url;
  const path = url.pathname + url.search;
  const where = {
    defaultPort: isSecure ? 443 : 80,
    createConnection: isSecure ? connectTls : connectPlain,
    host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: url.port || (isSecure ? 443 : 80),
    path,
    socketPath: /** @type {string | undefined} */ (undefined),
  };
  if (url.protocol === 'ws+unix:') {
    const colon = path.indexOf(':');
    where.socketPath = colon === -1 ? path : path.slice(0, colon);
    where.path = colon === -1 ? '' : path.slice(colon + 1);
  }
  return where;
}

/** `user:password`. @type {(url: URL) => string | undefined} */
function credentialsOf(url) {
  if (!url.username && !url.password) return undefined;
  return `${querystring.unescape(url.username)}:${querystring.unescape(url.password)}`;
}

/** `path` was the path of the request so far. @param {any} options */
function connectPlain(options) {
  options.path = options.socketPath;
  return net.connect(options);
}

/** @param {any} options */
function connectTls(options) {
  options.path = undefined;
  if (!options.servername && options.servername !== '') {
    options.servername = net.isIP(options.host) ? '' : options.host;
  }
  return tls.connect(options);
}

module.exports = { urlFault, credentialsOf, parseAddress, requestOptionsOf };
