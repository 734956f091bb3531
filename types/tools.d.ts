import { Duplex, DuplexOptions, Writable } from 'node:stream';

import { WebSocket } from './websocket';

type Callback = (error?: Error | null) => void;

/** The header of a frame. */
export interface FrameOptions {
  /** The type of the frame (RFC 6455, 5.2). */
  opcode: number;
  /** Whether it is the last frame of its message. Default: false */
  fin?: boolean | undefined;
  /** Whether the payload is compressed. Default: false */
  rsv1?: boolean | undefined;
  /** Whether the payload is masked, as a client's has to be. Default: false */
  mask?: boolean | undefined;
  /** Whether the data must not be changed by masking. Default: false */
  readOnly?: boolean | undefined;
  /** Fills the four bytes of the masking key. Default: random bytes */
  generateMask?(key: Buffer): void;
}

/** Makes frames, and writes them to a socket. */
export class Sender {
  /** A frame in one or two pieces, which can be written to any number of sockets. */
  static frame(data: string | Uint8Array, options: FrameOptions): Array<string | Uint8Array>;
  /**
   * @param socket Where the frames go
   * @param extensions The negotiated extensions by name: a PerMessageDeflate. Default: none
   * @param generateMask Fills the four bytes of a masking key. Default: random bytes
   */
  constructor(socket: Duplex, extensions?: Record<string, any>, generateMask?: (key: Buffer) => void);
  /**
   * Sends a close frame.
   *
   * @throws {TypeError | RangeError} As `WebSocket.close`
   */
  close(code?: number, data?: string | Uint8Array, mask?: boolean, callback?: Callback): void;
  /**
   * Sends a ping.
   *
   * @throws {RangeError} For more than 125 bytes
   */
  ping(data: any, mask?: boolean, callback?: Callback): void;
  /**
   * Sends a pong.
   *
   * @throws {RangeError} For more than 125 bytes
   */
  pong(data: any, mask?: boolean, callback?: Callback): void;
  /** Sends a message, or one fragment of it. */
  send(
    data: any,
    options: { binary?: boolean; compress?: boolean; fin?: boolean; mask?: boolean },
    callback?: Callback,
  ): void;
  /** Writes the result of `Sender.frame`. */
  sendFrame(list: Array<string | Uint8Array>, callback?: Callback): void;
}

/**
 * Takes the bytes of a connection, and emits 'message' (data, isBinary), 'ping' (data), 'pong'
 * (data), 'conclude' (code, reason) and 'error'. Written bytes are unmasked in place.
 */
export class Receiver extends Writable {
  /**
   * Options as for a WebSocket, with the same defaults. `isServer`: whether
   * frames must be masked. Default: false
   */
  constructor(options?: {
    isServer?: boolean | undefined;
    /** The negotiated extensions by name: a PerMessageDeflate. Default: none */
    extensions?: Record<string, any> | undefined;
    binaryType?: 'nodebuffer' | 'arraybuffer' | 'fragments' | 'blob' | undefined;
    allowSynchronousEvents?: boolean | undefined;
    maxFragments?: number | undefined;
    maxPayload?: number | undefined;
    skipUTF8Validation?: boolean | undefined;
  });
}

/** Options of permessage-deflate (RFC 7692). */
export interface DeflateOptions {
  serverNoContextTakeover?: boolean | undefined;
  clientNoContextTakeover?: boolean | undefined;
  serverMaxWindowBits?: boolean | number | undefined;
  clientMaxWindowBits?: boolean | number | undefined;
  /** Bytes below which a message is not compressed when the context is not kept. Default: 1024 */
  threshold?: number | undefined;
  /**
   * Calls to zlib at a time, of all instances; the option of the first instance counts. Default: 10
   */
  concurrencyLimit?: number | undefined;
  zlibDeflateOptions?: object | undefined;
  zlibInflateOptions?: object | undefined;
  isServer?: boolean | undefined;
  maxPayload?: number | undefined;
}

/** The extension permessage-deflate: negotiation, and compression by zlib. */
export class PerMessageDeflate {
  /** Its name in the `Sec-WebSocket-Extensions` header. */
  static readonly extensionName: 'permessage-deflate';
  /** Nothing is negotiated yet, and zlib holds nothing. */
  constructor(options?: DeflateOptions);
  /** The negotiated parameters. */
  params: Record<string, number | true> | null;
  /** Parameters for the header of a client. */
  offer(): Record<string, number | true>;
  /**
   * Negotiates.
   *
   * @param configurations The offers, or the answer, as `extension.parse` gives them
   * @throws {Error | TypeError} When they cannot be accepted
   */
  accept(configurations: Array<Record<string, Array<string | true>>>): Record<string, number | true>;
  /** Frees the resources that zlib holds. */
  cleanup(): void;
  /** Compresses a message, or a part of one; `fin`: whether it is the last part. */
  compress(data: string | Uint8Array, fin: boolean, callback: (error: Error | null, data?: Buffer) => void): void;
  /** Inflates a message, or a part of one; `fin`: whether it is the last part. */
  decompress(data: Uint8Array, fin: boolean, callback: (error: Error | null, data?: Buffer) => void): void;
}

/** The `Sec-WebSocket-Extensions` header. */
export namespace extension {
  /**
   * The extensions by name, each with its offers.
   *
   * @throws {SyntaxError} When the text is not such a header
   */
  function parse(header: string): Record<string, Array<Record<string, Array<string | true>>>>;
  /** The header for such an object. */
  function format(extensions: Record<string, any>): string;
}

/** The `Sec-WebSocket-Protocol` header. */
export namespace subprotocol {
  /**
   * The names in a `Sec-WebSocket-Protocol` header.
   *
   * @throws {SyntaxError} When the header is not a list of tokens, or names one twice
   */
  function parse(header: string): Set<string>;
}

/**
 * A stream over a WebSocket: each chunk that is written is sent as a
 * message; received messages can be read.
 */
export function createWebSocketStream(ws: WebSocket, options?: DuplexOptions): Duplex;
