// Data that can be sent, and messages for many connections.

/**
 * Data that can be sent. Text becomes a text message, everything else a binary one. The
 * elements of an array are bytes: to send a message that came as `fragments`, send the
 * parts, or `Buffer.concat` of them.
 */
export type BufferLike =
  | string
  | number
  | ArrayBuffer
  | SharedArrayBuffer
  | ArrayBufferView
  | Blob
  | readonly unknown[]
  | { valueOf(): string | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | readonly number[] }
  | { [Symbol.toPrimitive](hint: string): string }
  | { type: 'Buffer'; data: readonly number[] }
  | null
  | undefined
  | false;

/** Called when a message was handed to the kernel, or with an error when it never will be. */
export type SendCallback = (error?: Error) => void;

/**
 * The same for a ping or a pong. Without an error it is undefined, which
 * the type omits, as @types/ws does.
 */
export type ControlCallback = (error: Error) => void;

export interface SendOptions {
  /** Default: true unless the data is text. */
  binary?: boolean | undefined;
  /** Compress if permessage-deflate was negotiated. Default: true */
  compress?: boolean | undefined;
  /** Whether this is the last fragment of the message. Default: true */
  fin?: boolean | undefined;
  /** Whether to mask the frame. Default: true for a client. A prepared message ignores it. */
  mask?: boolean | undefined;
}

/** A message that is ready to be sent to many connections. Not in ws. */
export interface PreparedMessage {
  /** Bytes, before compression. */
  readonly length: number;
}

/** Options of a message that is sent whole. */
export type PrepareOptions = Pick<SendOptions, 'binary' | 'compress'>;

/**
 * Makes a message ready to be sent to many connections. It is copied and framed once, and
 * compressed once for all connections without context takeover that have the same
 * parameters, if it has at most 262144 bytes; sending it does not copy it again, however
 * many connections wait to write it. Not in ws.
 *
 * @throws {TypeError} For a Blob, with `fin: false`, and ERR_INVALID_ARG_TYPE for
 *   data that is neither text nor bytes
 */
export function prepare(data: Exclude<BufferLike, Blob>, options?: PrepareOptions | null): PreparedMessage;
