import { ClientRequest } from 'node:http';
import { RequestOptions } from 'node:https';

import * as deflate from './deflate';

/** Options of a client. Those of `https.request` that the address does not decide are passed on. */
export interface ClientOptions<WebSocket> extends Omit<RequestOptions, 'protocol' | 'timeout'> {
  /** The subprotocols, when they are not given by themselves. */
  protocols?: string | readonly string[];
  /** The `Origin` header (`Sec-WebSocket-Origin` for version 8). */
  origin?: string;
  /** The WebSocket version: 8 or 13. Default: 13 */
  protocolVersion?: number;
  /** Milliseconds that the handshake may take. Default: no limit */
  handshakeTimeout?: number;
  /** Follow redirects. Credentials are not sent to another host, unless there is a 'redirect' listener. Default: false */
  followRedirects?: boolean;
  /** Most redirects that are followed. Default: 10 */
  maxRedirects?: number;
  /** Called in the place of `request.end()`: may add header fields, and has to end the request. */
  finishRequest?(request: ClientRequest, ws: WebSocket): void;
  /** Fills the four bytes of a masking key. Default: random bytes */
  generateMask?(key: Buffer): void;
  /**
   * Offer compression; true is all defaults. Numbers that zlib would refuse, or a wrong `releaseAfter`, throw a RangeError or
   * a TypeError at once. Default: true
   */
  perMessageDeflate?: boolean | deflate.ClientOptions;
  /** Emit what was received together in one turn; false: one message, ping or pong per turn. Default: true */
  allowSynchronousEvents?: boolean;
  /** Answer pings. Default: true */
  autoPong?: boolean;
  /** Milliseconds that a closing handshake may take. Default: 30000 */
  closeTimeout?: number;
  /** Without effect: an unfinished frame is held in one piece. Default: 262144 */
  maxBufferedChunks?: number;
  /** Most fragments of a message; more closes with 1008. 0 is no limit. Default: 16384 */
  maxFragments?: number;
  /** Most bytes of a message; more closes with 1009. 0 is no limit. Default: 100 MiB */
  maxPayload?: number;
  /** Most automatic pongs that wait to be sent; more terminates. 0 is no limit. Default: 60 */
  maxPendingAutoPongs?: number;
  /** Do not check that text and close reasons are UTF-8. Default: false */
  skipUTF8Validation?: boolean;
}
