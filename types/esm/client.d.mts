// Made from types/client.d.ts by scripts/types.mjs.
import { Agent, ClientRequest } from 'node:http';
import { RequestOptions } from 'node:https';
import { Duplex } from 'node:stream';

import * as deflate from './deflate.mjs';
import { WebSocket } from './websocket.mjs';

/** A certificate or a key. */
export type CertMeta = string | string[] | Buffer | Buffer[];

/** Called in place of `request.end()`: can add header fields, and has to end the request. */
export type FinishRequestCallback = (request: ClientRequest, ws: WebSocket) => void;

/** Options with the types of @types/ws, or types that accept the same values. */
type Declared = 'agent' | 'checkServerIdentity' | 'createConnection' | 'headers' | 'host' | 'protocol';

/**
 * Options of a client. Options of `https.request` that the address does not decide are passed on.
 * The constructor also takes Node's `ClientRequestArgs`.
 */
export interface ClientOptions extends Omit<RequestOptions, Declared> {
  /** An agent of Node. Default: none; each client has a connection of its own */
  agent?: Agent | undefined;
  /** Replaces Node's check of the server's certificate; returns an Error to refuse it. */
  checkServerIdentity?(servername: string, certificate: any): boolean | Error | undefined;
  /** Makes the connection, instead of `net.connect` or `tls.connect`. */
  createConnection?: ((options: any, ...rest: any[]) => Duplex) | undefined;
  /** More header fields. */
  headers?: { [name: string]: string } | undefined;
  /** Overridden by the address. */
  host?: string | undefined;
  /** Overridden by the address. */
  protocol?: string | undefined;
  /** The subprotocols, when they are not given as an argument of their own. */
  protocols?: string | readonly string[] | undefined;
  /** The `Origin` header (`Sec-WebSocket-Origin` for version 8). */
  origin?: string | undefined;
  /** The WebSocket version: 8 or 13. Default: 13 */
  protocolVersion?: number | undefined;
  /** Milliseconds that the handshake can take. Default: no limit */
  handshakeTimeout?: number | undefined;
  /**
   * Follow redirects. Credentials are not sent to another host, unless there is a
   * 'redirect' listener. Default: false
   */
  followRedirects?: boolean | undefined;
  /** Most redirects that are followed. Default: 10 */
  maxRedirects?: number | undefined;
  /** Called in place of `request.end()`: can add header fields, and has to end the request. */
  finishRequest?: FinishRequestCallback | undefined;
  /** Fills the four bytes of a masking key. Default: random bytes */
  generateMask?(key: Buffer): void;
  /**
   * Offer compression; true means all defaults. Numbers that zlib would refuse, or a wrong
   * `releaseAfter`, throw a RangeError or a TypeError at once. Default: true
   */
  perMessageDeflate?: boolean | deflate.ClientOptions | undefined;
  /**
   * Emit messages that were received together in one turn; false: one message,
   * ping or pong per turn. Default: true
   */
  allowSynchronousEvents?: boolean | undefined;
  /** Answer pings. Default: true */
  autoPong?: boolean | undefined;
  /** Milliseconds that a closing handshake can take. Default: 30000 */
  closeTimeout?: number | undefined;
  /** Without effect: an unfinished frame is held in one piece. Default: 262144 */
  maxBufferedChunks?: number | undefined;
  /** Most fragments of a message; more closes with 1008. 0 is no limit. Default: 16384 */
  maxFragments?: number | undefined;
  /** Most bytes of a message; more closes with 1009. 0 is no limit. Default: 100 MiB */
  maxPayload?: number | undefined;
  /** Most automatic pongs that wait to be sent; more terminates. 0 is no limit. Default: 60 */
  maxPendingAutoPongs?: number | undefined;
  /** Do not check that text and close reasons are UTF-8. Default: false */
  skipUTF8Validation?: boolean | undefined;
}
