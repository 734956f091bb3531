'use strict';

const tls = require('node:tls');

const { checkValue, wrongType } = require('../base/checks');
const { Socket } = require('./socket');
const { state } = require('../reactor/reactors');
const { GROUPS, SUITES, VERSIONS, versionName } = require('../tls/parameters');
const { detailed, legacy, parsed } = require('../tls/peer-certificate');
const { sessionOf } = require('../tls/session');

/** @import { AnySocket, Connection, Server } from '../connection/state' */
/** @import { ReactorTls } from '../tls/listener' */
/** @import { Session } from '../tls/session' */

/** @type {new () => { destroyed: boolean, _listener?: Server, _owner: Connection }} */
const Base = /** @type {any} */ (Object);

/**
 * Members of a server's tls.TLSSocket about TLS. As there, most of it is null after the end. A socket needs `destroyed`,
 * and an `_owner` with `_tlsText`, a slot and, unless the socket has its `_listener`, the server as `via` or `owner`.
 */
class Secure extends Base {
  /** Settings of the server that accepted it. */
  get _tls() {
    return /** @type {InstanceType<typeof ReactorTls>} */ ((this._listener ?? this._owner._profile.shared.via ?? this._owner._owner)?._tls);
  }

  /** @returns {Session} */
  get _session() {
    const value = sessionOf(this._owner._tlsText);
    Object.defineProperty(this, '_session', { value });
    return value;
  }

  get encrypted() {
    return true;
  }

  /** False if the handshake failed. */
  get _secureEstablished() {
    return this._session.version !== 0;
  }

  get authorized() {
    return this._session.isAuthorized;
  }

  get authorizationError() {
    return this._session.error || null;
  }

  get servername() {
    return this._session.servername || false;
  }

  get alpnProtocol() {
    return this._session.protocol || false;
  }

  getProtocol() {
    return this.destroyed ? null : versionName(this._session.version);
  }

  getCipher() {
    return this.destroyed ? null : { ...SUITES.get(this._session.suite) };
  }

  getEphemeralKeyInfo() {
    return this.destroyed ? null : { ...GROUPS.get(this._session.group) };
  }

  isSessionReused() {
    return this.destroyed ? null : this._session.isReused;
  }

  /** @param {unknown} [isDetailed] */
  getPeerCertificate(isDetailed) {
    if (this.destroyed) return null;
    const chain = this._session.certificates.map(parsed);
    if (chain.length === 0) return {};
    return isDetailed ? detailed(chain, this._tls.authorities()) : legacy(chain[0]);
  }

  getPeerX509Certificate() {
    const [certificate] = this.destroyed ? [] : this._session.certificates;
    return certificate === undefined ? undefined : parsed(certificate);
  }

  getCertificate() {
    const certificate = this.getX509Certificate();
    if (certificate === undefined) return this.destroyed ? null : {};
    return legacy(certificate);
  }

  getX509Certificate() {
    return this.destroyed ? undefined : (this._tls.certificate() ?? undefined);
  }

  /** @type {(length: number, label: string, context?: Uint8Array) => Buffer} */
  exportKeyingMaterial(length, label, context) {
    checkValue({ type: 'number', min: 1, max: MAX_MATERIAL }, length, 'length');
    checkValue({ type: 'string' }, label, 'label');
    if (this._session.version === VERSIONS.get('TLSv1.3') && Buffer.byteLength(label) > MAX_LABEL) throw wrongType('label', `at most ${MAX_LABEL} bytes`, label);
    if (context !== undefined && !ArrayBuffer.isView(context)) throw wrongType('context', 'a Buffer, a TypedArray or undefined', context);
    const { _generation: generation, _slot: slot } = this._owner;
    const material = this.destroyed ? null : state.native.exportKeyingMaterial(slot, generation, length, label, context ?? null);
    if (material !== null) return material;
    const error = new Error('TLS socket connection must be securely established');
    throw Object.assign(error, { code: 'ERR_TLS_INVALID_STATE' });
  }

  // Not exposed by rustls: Node's results for "none".

  getFinished() {}

  getPeerFinished() {}

  getSession() {}

  getTLSTicket() {}

  getSharedSigalgs() {
    return [];
  }

  setMaxSendFragment() {
    return false;
  }

  enableTrace() {}

  setServername() {
    throw Object.assign(new Error('Cannot issue SNI from a TLS server-side socket'), { code: 'ERR_TLS_SNI_FROM_SERVER' });
  }

  disableRenegotiation() {}

  /** @type {(options: unknown, callback?: (error: Error) => void) => boolean} */
  renegotiate(options, callback) {
    const error = new Error('TLS session renegotiation disabled for this socket');
    if (callback) process.nextTick(callback, Object.assign(error, { code: 'ERR_TLS_RENEGOTIATION_DISABLED' }));
    return false;
  }
}

const MEMBERS = Object.entries(Object.getOwnPropertyDescriptors(Secure.prototype));

/** Fields and methods that only show something: also of the streams of a session. */
const TLS_FIELDS = MEMBERS.flatMap(([name, { get }]) => (get === undefined || name.startsWith('_') ? [] : [name]));
const TLS_METHODS = MEMBERS.flatMap(([name]) => (/^(?:export|get|is)[A-Z]/.test(name) ? [name] : []));

/** Longest result of `exportKeyingMaterial()`, in bytes: 255 times a hash (RFC 5869, 2.3). */
const MAX_MATERIAL = 255 * 32;

/** The longest label of TLS 1.3, after "tls13 ", in bytes (RFC 8446, 7.1). */
const MAX_LABEL = 249;

/** The prototype of a kind of socket, over TLS. @param {object[]} prototypes With its members */
function asTls(...prototypes) {
  const prototype = Object.create(tls.TLSSocket.prototype);
  for (const one of [...prototypes, Secure.prototype]) {
    const members = Object.getOwnPropertyDescriptors(one);
    Reflect.deleteProperty(members, 'constructor');
    Object.defineProperties(prototype, members);
  }
  return prototype;
}

/**
 * A Socket that is also an instance of tls.TLSSocket.
 *
 * @this {unknown}
 */
function TLSSocket() {}
TLSSocket.prototype = asTls(Object.getPrototypeOf(Socket).prototype, Socket.prototype);
Object.defineProperty(TLSSocket.prototype, 'constructor', { configurable: true, value: TLSSocket, writable: true });

/** The stand-in for the socket of a connection. @type {(owner: Connection) => AnySocket} */
function socketOf(owner) {
  return Reflect.construct(Socket, [owner], owner._tlsText === '' ? Socket : TLSSocket);
}

/** The prototype of the stand-in. @param {Connection} owner */
function prototypeOf({ _tlsText: text }) {
  return text === '' ? Socket.prototype : TLSSocket.prototype;
}

module.exports = { TLS_FIELDS, TLS_METHODS, asTls, prototypeOf, socketOf };
