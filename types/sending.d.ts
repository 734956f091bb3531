// Data that can be sent.

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
  /** Whether to mask the frame. Default: true for a client. */
  mask?: boolean | undefined;
}
