// Messages for many connections.

import { Data } from '..';

/** A message that was made ready to be sent to many connections. Not in ws. */
export interface PreparedMessage {
  /** Bytes, before compression. */
  readonly length: number;
}

export interface PrepareOptions {
  /** Default: true unless the data is text. */
  binary?: boolean;
  /** Compress where permessage-deflate was negotiated. Default: true */
  compress?: boolean;
}

/**
 * Makes a message ready to be sent to many connections. It is copied and framed once, and compressed once for all
 * connections without context takeover that have the same parameters, if it has at most 262144 bytes; sending it does not copy
 * it again, however many connections wait to write it. Not in ws.
 *
 * @throws {TypeError} For a Blob, with `fin: false`, and ERR_INVALID_ARG_TYPE for what is neither text nor bytes
 */
export function prepare(data: Exclude<Data, Blob>, options?: PrepareOptions | null): PreparedMessage;
