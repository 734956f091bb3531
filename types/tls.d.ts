import { SecureVersion } from 'node:tls';

/** Keys and certificates in PEM, several certificates in a row, or one of them in DER. */
export type Pem = string | NodeJS.ArrayBufferView;

/** A private key with a passphrase of its own. */
export interface EncryptedKey {
  /** The key, in PEM or DER. */
  pem: Pem;
  /** Decrypts the key. Default: the `passphrase` beside it */
  passphrase?: string | undefined;
}

/** Keys, certificates and parameters, as `tls.createSecureContext()` takes them. */
export interface SecureContextOptions {
  /**
   * The private key of each certificate in `cert`, in any order: RSA of 2048 bits and more, ECDSA on P-256, P-384 and
   * P-521, or Ed25519, as PKCS #8, PKCS #1 or SEC 1, also encrypted.
   */
  key?: Pem | ReadonlyArray<Pem | EncryptedKey> | null | undefined;
  /**
   * The certificate, followed by its issuers' certificates. Several chains in an array, such as for ECDSA and for RSA: the
   * client decides. One that has expired throws.
   */
  cert?: Pem | readonly Pem[] | null | undefined;
  /** What encrypted keys are encrypted with. */
  passphrase?: string | null | undefined;
  /** Trusted issuers of client certificates. Default: the ones that Node trusts */
  ca?: Pem | readonly Pem[] | null | undefined;
  /** Lists of revoked certificates; each issuer of a chain needs one then. */
  crl?: Pem | readonly Pem[] | null | undefined;
  /** `'TLSv1.2'` or `'TLSv1.3'`. Default: `tls.DEFAULT_MIN_VERSION`, at least TLS 1.2 */
  minVersion?: SecureVersion | null | undefined;
  /** `'TLSv1.2'` or `'TLSv1.3'`. Default: `tls.DEFAULT_MAX_VERSION` */
  maxVersion?: SecureVersion | null | undefined;
  /**
   * Suites under their names in OpenSSL or at IANA, with `:` in between; the first one that the client has counts. A list
   * without one of TLS 1.3 leaves all three of them. Default: all of TLS 1.3, and of ECDHE with AES-GCM and ChaCha20
   */
  ciphers?: string | null | undefined;
  /** Only true: the order of `ciphers` counts; without them the client's. */
  honorCipherOrder?: true | null | undefined;
  /** Only `'auto'`: X25519MLKEM768, X25519, P-256 and P-384. */
  ecdhCurve?: 'auto' | null | undefined;
  /** Without effect: an authority need not be self-signed. */
  allowPartialTrustChain?: boolean | null | undefined;
}

/** Option `tls` of a server: what `https.createServer()` takes for TLS, as far as the reactors can do it. */
export interface TlsOptions extends SecureContextOptions {
  /**
   * Chooses the context for a name that a client asks for, at once or later: one of
   * `WebSocketServer.createSecureContext()`, or options, which are read each time. Without a context the one of
   * `addContext()` or the default counts; an error ends the handshake.
   */
  SNICallback?:
    | ((servername: string, callback: (error: Error | null, context?: SecureContext | SecureContextOptions | null) => void) => void)
    | null
    | undefined;
  /**
   * Names of protocols, the preferred one first. A client that offers others only is refused. Default: `['http/1.1']`
   */
  ALPNProtocols?: ReadonlyArray<string | Uint8Array> | NodeJS.ArrayBufferView | null | undefined;
  /** Chooses one of the protocols that a client offers; undefined refuses it. Instead of `ALPNProtocols` */
  ALPNCallback?: ((offer: { servername: string; protocols: string[] }) => string | undefined) | null | undefined;
  /** Ask clients for a certificate. Default: false */
  requestCert?: boolean | null | undefined;
  /**
   * With `requestCert`: refuse clients without a certificate, or with one that cannot be verified. False: they connect, and
   * `request.socket.authorized` is false. Default: true
   */
  rejectUnauthorized?: boolean | null | undefined;
  /** Milliseconds from accept to the end of the handshake. Default: `handshakeTimeout` of the server, in Node 120000 */
  handshakeTimeout?: number | null | undefined;
  /** Seconds for which a session can be resumed. Default: 300 */
  sessionTimeout?: number | null | undefined;
  /** 48 bytes. Servers with the same resume each other's sessions. Default: random ones, changed now and then */
  ticketKeys?: NodeJS.ArrayBufferView | null | undefined;
}

/**
 * Keys and certificates that have been read and checked: what `WebSocketServer.createSecureContext()` returns. Not a
 * SecureContext of node:tls, which cannot be read.
 */
export interface SecureContext {
  readonly [Symbol.toStringTag]: 'SecureContext';
}
