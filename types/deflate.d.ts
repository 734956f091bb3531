// permessage-deflate.

import { ZlibOptions } from 'node:zlib';

/** Options of zlib, as @types/ws has them. */
type DeflateSettings = Omit<ZlibOptions, 'dictionary'> & { dictionary?: ZlibOptions['dictionary'] | Buffer[] };

/** How permessage-deflate (RFC 7692) is used, on either end. */
interface Options {
  /** `level` (default: 4), `memLevel` and `strategy` count. */
  zlibDeflateOptions?: DeflateSettings | undefined;
  /** Accepted; nothing depends on it. */
  zlibInflateOptions?: ZlibOptions | undefined;
  /**
   * Bytes below which a message is not compressed, where this end has
   * no context takeover. Default: 1024
   */
  threshold?: number | undefined;
  /** Accepted; nothing depends on it. */
  concurrencyLimit?: number | undefined;
  /**
   * 'shared': no connection keeps a context between messages; all share the contexts of their thread.
   * Short for `serverNoContextTakeover` and `clientNoContextTakeover`. 'dedicated': as
   * negotiated. Not in ws. Default: 'dedicated'
   * @throws {TypeError} For another value, or when one of those two options is `false`
   */
  compressor?: 'dedicated' | 'shared' | null | undefined;
  /**
   * Bytes that the contexts of all connections of the process can take, in each direction by
   * itself. Contexts that do not fit are not kept: each outgoing message is compressed by itself,
   * and new clients are asked to do the same. The value that was given last holds for the whole
   * process. Not in ws. Default: 67108864
   */
  budget?: number | null | undefined;
  /**
   * Milliseconds after which unused contexts are freed, up to 2147483647; 0
   * means never. Not in ws. Default: 0
   */
  releaseAfter?: number | null | undefined;
}

/** The offers that a server accepts. */
export interface ServerOptions extends Options {
  /**
   * true: our messages never refer to earlier ones; false: an offer that asks for it
   * is declined. Default: as offered
   */
  serverNoContextTakeover?: boolean | undefined;
  /** true: the client's messages never refer to earlier ones. Default: as offered */
  clientNoContextTakeover?: boolean | undefined;
  /**
   * Window of our messages, 8 to 15; false: an offer that asks for one
   * is declined. Default: as offered
   */
  serverMaxWindowBits?: number | boolean | undefined;
  /**
   * Window of the client's messages, 8 to 15; offers that do not allow it
   * are declined. Default: as offered
   */
  clientMaxWindowBits?: number | boolean | undefined;
}

/** The offer of a client. An answer that goes beyond it fails the connection. */
export interface ClientOptions extends Options {
  /** true: the server's messages are never to refer to earlier ones. Default: the server decides */
  serverNoContextTakeover?: boolean | undefined;
  /**
   * true: our messages need not be remembered; false: an answer that demands that
   * fails. Default: the server decides
   */
  clientNoContextTakeover?: boolean | undefined;
  /** Largest window of the server's messages, 8 to 15. Default: the server decides */
  serverMaxWindowBits?: number | boolean | undefined;
  /**
   * Largest window of our messages, 8 to 15; false: an answer that limits it
   * fails. Default: the server decides
   */
  clientMaxWindowBits?: number | boolean | undefined;
}
