/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { ClientRequest, IncomingMessage } from 'node:http';
import { Duplex, DuplexOptions } from 'node:stream';

import * as client from './types/client';
import * as deflate from './types/deflate';
import * as running from './types/running';
import * as sending from './types/sending';
import * as tools from './types/tools';
import * as verify from './types/verify';

/**
 * A connection: one that the server makes, or a client.
 *
 * Besides the events there is the interface of the browser: `onmessage`, `addEventListener` and so on.
 */
declare class WebSocket extends EventEmitter {
  /** Ready state 0: not connected yet. */
  static readonly CONNECTING: 0;
  /** Ready state 1: messages go both ways. */
  static readonly OPEN: 1;
  /** Ready state 2: `close()` or `terminate()` was called, or the peer's close frame came. */
  static readonly CLOSING: 2;
  /** Ready state 3: the connection is gone. */
  static readonly CLOSED: 3;

  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;

  /**
   * Connects to a server. Whatever fails later is an 'error' event.
   *
   * @param address `ws:`, `wss:`, `http:`, `https:` or `ws+unix:`
   * @throws {SyntaxError} For an address or a subprotocol that is none
   * @throws {RangeError} For another `protocolVersion`
   */
  constructor(address: string | URL, options?: WebSocket.ClientOptions);
  constructor(address: string | URL, protocols?: string | readonly string[], options?: WebSocket.ClientOptions);
  /** A WebSocket that is not connected: for classes that extend this one, and for `setSocket`. */
  constructor(address: null, protocols?: undefined, options?: WebSocket.ServerOptions);

  /** The form of binary messages. Text is always a `Buffer`. Unknown values are ignored. Default: `'nodebuffer'` */
  binaryType: WebSocket.BinaryType;
  /**
   * Bytes of frames, headers included, that were sent and are not in the kernel yet; close frames do not count. After
   * the connection left OPEN it grows by the bytes given to `send()`, `ping()` and `pong()`.
   */
  readonly bufferedAmount: number;
  /** Names of the negotiated extensions, comma-separated; `''` without one. */
  readonly extensions: string;
  /** Whether `pause()` was called, and `resume()` was not called since. */
  readonly isPaused: boolean;
  /** The negotiated subprotocol; `''` without one. */
  readonly protocol: string;
  /** One of CONNECTING, OPEN, CLOSING and CLOSED. */
  readonly readyState: 0 | 1 | 2 | 3;
  /** The address of a client; undefined on a server. */
  readonly url: string | undefined;

  onopen: ((event: WebSocket.Event) => void) | null;
  onerror: ((event: WebSocket.ErrorEvent) => void) | null;
  onclose: ((event: WebSocket.CloseEvent) => void) | null;
  onmessage: ((event: WebSocket.MessageEvent) => void) | null;

  /**
   * Starts the closing handshake. The connection is destroyed if it takes longer than `closeTimeout`. Without
   * effect when it was started before.
   *
   * @param code 1000 to 1003, 1007 to 1014 or 3000 to 4999; without it the close frame is empty
   * @param reason At most 123 bytes
   * @throws {TypeError} For another code, or a reason that is neither text nor bytes
   * @throws {RangeError} For a longer reason
   */
  close(code?: number, reason?: string | Uint8Array): void;

  /**
   * Stops the events that come from the peer, and reading from the socket: the peer feels back-pressure. What was
   * received together with the message being handled is still emitted. Without effect in CONNECTING and CLOSED.
   */
  pause(): void;

  /** Undoes `pause()`. What was held back is emitted in order, after the current turn. */
  resume(): void;

  /**
   * Sends a ping. In CLOSING and CLOSED only the callback gets an error.
   *
   * @param data At most 125 bytes; a number is sent as text
   * @param callback Called when the frame was handed to the kernel
   * @throws {RangeError} For more than 125 bytes
   * @throws {Error} In CONNECTING
   */
  ping(data?: WebSocket.Data, mask?: boolean, callback?: WebSocket.SendCallback): void;
  ping(data: WebSocket.Data, callback: WebSocket.SendCallback): void;
  ping(callback: WebSocket.SendCallback): void;

  /** Sends a pong; see `ping()`. */
  pong(data?: WebSocket.Data, mask?: boolean, callback?: WebSocket.SendCallback): void;
  pong(data: WebSocket.Data, callback: WebSocket.SendCallback): void;
  pong(callback: WebSocket.SendCallback): void;

  /**
   * Sends a message. The data is copied before the call returns; a Blob is read first, and what is sent after it
   * waits for it. In CLOSING and CLOSED only the callback gets an error.
   *
   * @param callback Called when the message was handed to the kernel, or with an error when it never will be
   * @returns Whether there is room for more: false when 1 MiB or more waits to be sent (over TLS or another stream, its
   *   `writableHighWaterMark`), this message included. `'drain'` follows then; nothing is refused. Also false in CLOSING
   *   and CLOSED, where no `'drain'` follows. In ws it is undefined
   * @throws {TypeError} ERR_INVALID_ARG_TYPE for what is neither text nor bytes
   * @throws {Error} In CONNECTING
   */
  send(data: WebSocket.Data, callback?: WebSocket.SendCallback): boolean;
  send(data: WebSocket.Data, options: WebSocket.SendOptions | null | undefined, callback?: WebSocket.SendCallback): boolean;
  /** Sends a message that `prepare()` has made ready; `options` mean nothing for it. Not in ws. */
  send(message: WebSocket.PreparedMessage, optionsOrCallback?: unknown, callback?: WebSocket.SendCallback): boolean;

  /** Opens a detached WebSocket over a stream on which the handshake has been done; `head` is what was read behind it. */
  setSocket(socket: Duplex, head: Buffer, options: WebSocket.ClientOptions | WebSocket.ServerOptions): void;

  /** Destroys the connection at once. `'close'` with code 1006 follows, and no other event. */
  terminate(): void;

  addEventListener<T extends keyof WebSocket.EventMap>(
    type: T,
    listener: ((event: WebSocket.EventMap[T]) => void) | { handleEvent(event: WebSocket.EventMap[T]): void },
    options?: { once?: boolean },
  ): void;
  removeEventListener<T extends keyof WebSocket.EventMap>(
    type: T,
    listener: ((event: WebSocket.EventMap[T]) => void) | { handleEvent(event: WebSocket.EventMap[T]): void },
  ): void;

  /** A message. Text is a `Buffer`; binary is what `binaryType` says. */
  on(event: 'message', listener: (this: this, data: WebSocket.RawData, isBinary: boolean) => void): this;
  /** A control frame. A ping was answered before, unless `autoPong` is false. */
  on(event: 'ping' | 'pong', listener: (this: this, data: Buffer) => void): this;
  /**
   * The connection is gone; emitted once. The code is the peer's, 1005 when its close frame had none, 1006 when
   * there was no close frame.
   */
  on(event: 'close', listener: (this: this, code: number, reason: Buffer) => void): this;
  /**
   * The peer broke the protocol; `'close'` follows. `error.code` is one of the `WS_ERR_` codes of ws, or
   * `WS_ERR_UNFINISHED_MESSAGE`: a message was given up, see `unfinishedBudget`.
   */
  on(event: 'error', listener: (this: this, error: Error) => void): this;
  /**
   * 1 MiB or more was waiting to be sent, and now it is at most half of that: time to go on sending. Follows a `send()`
   * that returned false, unless the connection closes first. Over a stream it is the stream's `'drain'`. Not in ws.
   */
  on(event: 'drain', listener: (this: this) => void): this;
  on(event: 'open', listener: (this: this) => void): this;
  /** Of a client: the answer that it connects with. */
  on(event: 'upgrade', listener: (this: this, response: IncomingMessage) => void): this;
  /** Of a client: another answer. A listener has to end the request. */
  on(event: 'unexpected-response', listener: (this: this, request: ClientRequest, response: IncomingMessage) => void): this;
  /** Of a client: a redirect is followed; header fields may be removed. */
  on(event: 'redirect', listener: (this: this, url: string, request: ClientRequest) => void): this;
  on(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;

  once(event: 'message', listener: (this: this, data: WebSocket.RawData, isBinary: boolean) => void): this;
  once(event: 'ping' | 'pong', listener: (this: this, data: Buffer) => void): this;
  once(event: 'close', listener: (this: this, code: number, reason: Buffer) => void): this;
  once(event: 'error', listener: (this: this, error: Error) => void): this;
  once(event: 'drain' | 'open', listener: (this: this) => void): this;
  once(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
}

// Inside the namespace `WebSocket` is the export of that name.
declare const WebSocketAlias: typeof WebSocket;
interface WebSocketAlias extends WebSocket {}

declare namespace WebSocket {
  type BinaryType = 'nodebuffer' | 'arraybuffer' | 'fragments' | 'blob';
  /** Data of a 'message' event, by binaryType. */
  type RawData = Buffer | ArrayBuffer | Buffer[] | Blob;
  type Data = sending.Data;
  type SendCallback = (error?: Error) => void;
  type SendOptions = sending.SendOptions;

  type ClientOptions = client.ClientOptions<WebSocketAlias>;

  interface Event {
    readonly type: string;
    readonly target: WebSocketAlias;
  }

  interface CloseEvent extends Event {
    readonly code: number;
    readonly reason: string;
    /** Whether close frames went both ways. */
    readonly wasClean: boolean;
  }

  interface ErrorEvent extends Event {
    readonly error: any;
    readonly message: string;
  }

  interface MessageEvent extends Event {
    /** Text as a string, binary as `binaryType` says. */
    readonly data: string | RawData;
  }

  interface EventMap {
    open: Event;
    message: MessageEvent;
    close: CloseEvent;
    error: ErrorEvent;
  }

  type VerifyInfo = verify.VerifyInfo;
  type VerifyClientSync = verify.VerifyClientSync;
  type VerifyClientAsync = verify.VerifyClientAsync;

  interface ServerOptions {
    /** Port to listen on; 0 for any free one. */
    port?: number | string | null;
    /** Address or name to listen on. Default: every address */
    host?: string | null;
    /** On an IPv6 address, do not take IPv4 connections. Not in ws. Default: false */
    ipv6Only?: boolean;
    /** Most connections that wait to be accepted. Default: 511 */
    backlog?: number | null;
    /** An HTTP or HTTPS server whose upgrades are taken. It is never closed. Several may share one, each with its `path`. */
    server?: any;
    /** Take only what is given to `handleUpgrade`. */
    noServer?: boolean;
    /** Accept only this path, whatever the query. Others are answered 400. Default: every path */
    path?: string | null;
    /** Most bytes of a message; more closes with 1009. 0, and 2 GiB and more, are 4 GiB - 1. Read when the server is made. Default: 100 MiB */
    maxPayload?: number;
    /** Most fragments of a message; more closes with 1008. 0 is no limit. Read when the server is made. Default: 16384 */
    maxFragments?: number;
    /** Without effect: an unfinished frame is held in one piece. Default: 262144 */
    maxBufferedChunks?: number;
    /** Most automatic pongs that wait to be sent; more terminates. 0 is no limit. Default: 60 */
    maxPendingAutoPongs?: number;
    /** Do not check that text and close reasons are UTF-8. Default: false */
    skipUTF8Validation?: boolean;
    /** Answer pings. Default: true */
    autoPong?: boolean;
    /** Milliseconds that a closing handshake may take. Default: 30000 */
    closeTimeout?: number;
    /**
     * With `port`: an upgrade that no hook decides is answered while JavaScript is busy, before 'connection' is emitted. Otherwise
     * it is answered behind 'connection', as in ws. Not in ws. Default: false
     */
    earlyHandshake?: boolean;
    /**
     * Milliseconds from accept to a complete upgrade request, 1 to 2147483647. After them a started request is
     * answered with 408, and a connection that sent nothing is ended. What `verifyClient` takes does not count. Not in ws.
     * Default: 10000
     */
    handshakeTimeout?: number;
    /**
     * Milliseconds of silence after which a ping is sent, up to 2147483647; after as many again without any byte of the
     * peer the connection ends with 1006. While it is paused the peer is not called silent. 0 is never. Not in ws. Default: 0
     */
    pingInterval?: number;
    /** Milliseconds of silence after which the connection ends with 1006, up to 2147483647. 0 is never. Not in ws. Default: 0 */
    idleTimeout?: number;
    /**
     * Microseconds for which the reactor polls before it sleeps, after traffic, and, for 50 at most, the JavaScript thread
     * after a delivery of up to four messages, unless it has something else to do: -1 is automatic, 0 never, at most
     * 2147483647. Never on one processor. All servers of a thread share one reactor: the value of the first one counts.
     * Not in ws. Default: -1
     */
    spin?: number;
    /**
     * Reactor threads, 0 to 64. Connections are spread over them and stay where they are. 0: none; the reactor runs on the
     * JavaScript thread, between its other work: pings are then answered only when that thread is free. Where libuv
     * cannot watch it (Windows, Bun, Deno) 0 is the same as 1. All servers of a thread share its reactors: the value of the
     * first one counts. Not in ws. Default: the environment variable `REACTOR_WS_REACTORS`, or 1
     */
    reactors?: number;
    /**
     * Bytes that unfinished messages of all connections of the reactors may take together, up to 2^53 - 1; 0 is no limit. Above
     * it connections with 16 KiB of one take turns; peers that leave theirs lying meanwhile are closed with 1013. The value of a
     * thread's first server counts. Connections over TLS and other streams do not count. Not in ws. Default: 256 MiB
     */
    unfinishedBudget?: number;
    /** Emit what was received together in one turn; false: one message, ping or pong per turn. Default: true */
    allowSynchronousEvents?: boolean;
    /** Keep the `clients` set. Default: true */
    clientTracking?: boolean;
    /** Compression; true is all defaults. With `port` read when the server is made. Default: false */
    perMessageDeflate?: boolean | deflate.ServerOptions;
    /** Chooses one of the offered subprotocols; falsy for none. Default: the first */
    handleProtocols?: ((protocols: Set<string>, request: IncomingMessage) => string | false) | null;
    /** Accepts or refuses a handshake; asynchronous when it has two parameters. */
    verifyClient?: VerifyClientSync | VerifyClientAsync | null;
    /** The class of the connections; it must extend `WebSocket`. */
    WebSocket?: typeof WebSocketAlias;
  }

  /** A WebSocket server on a port of its own. */
  class WebSocketServer extends EventEmitter {
    /** The options over the defaults. Hooks and `path` may be assigned; they are read at every upgrade. */
    options: ServerOptions;
    /** The open connections; undefined when `clientTracking` is false. */
    clients: Set<WebSocketAlias>;

    /**
     * With `port`, listens at once.
     *
     * @param callback A listener for `'listening'`
     * @throws {TypeError} Unless exactly one of `port`, `server` and `noServer` is given; for a wrong type of
     *   `earlyHandshake`, `handshakeTimeout`, `pingInterval`, `idleTimeout`, `ipv6Only`, `spin`, `reactors` and `unfinishedBudget`
     * @throws {RangeError} ERR_SOCKET_BAD_PORT; for one of these out of its range
     */
    constructor(options: ServerOptions, callback?: () => void);

    /** The bound address; null before the server listens and after `close()`. */
    address(): { address: string; family: string; port: number } | null;

    /**
     * Accepts no new connections. Open ones stay; `'close'` is emitted when the last one is gone.
     *
     * @param callback A listener for `'close'`; gets an error when the server was closed before
     */
    close(callback?: (error?: Error) => void): void;

    /** Closes the clients, spread over a time; upgrades are answered with 503 from now on. Not in ws. See docs/running.md. */
    drain(options?: running.DrainOptions): Promise<running.DrainProgress>;

    /**
     * Answers an upgrade request that an HTTP server of Node has read, at once or later.
     *
     * @param socket Any Duplex
     * @param callback Called synchronously unless `verifyClient` decides later; the WebSocket is open
     * @throws {Error} When the socket is a WebSocket's already
     */
    handleUpgrade(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      callback: (ws: WebSocketAlias, request: IncomingMessage) => void,
    ): void;

    /** Whether the request is for this server: by default, whether its path is `options.path`. May be replaced. */
    shouldHandle(request: IncomingMessage): boolean;

    /**
     * A connection is open. The store of an AsyncLocalStorage in which this is called is that of all its events; without
     * hooks it is the one in which the server was made. The request is made only when a listener can see it:
     * `(ws) => ...` costs none.
     */
    on(event: 'connection', listener: (this: this, ws: WebSocketAlias, request: IncomingMessage) => void): this;
    /** The lines of the 101 response before they are written; lines may be added. Costs a look at every handshake. */
    on(event: 'headers', listener: (this: this, headers: string[], request: IncomingMessage) => void): this;
    /** An invalid upgrade request. A listener has to answer it, and to end the socket. */
    on(event: 'wsClientError', listener: (this: this, error: Error, socket: Duplex, request: IncomingMessage) => void): this;
    /** Listening failed, for example with code EADDRINUSE. */
    on(event: 'error', listener: (this: this, error: Error) => void): this;
    on(event: 'listening' | 'close', listener: (this: this) => void): this;
    on(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;

    once(event: 'connection', listener: (this: this, ws: WebSocketAlias, request: IncomingMessage) => void): this;
    once(event: 'headers', listener: (this: this, headers: string[], request: IncomingMessage) => void): this;
    once(event: 'wsClientError', listener: (this: this, error: Error, socket: Duplex, request: IncomingMessage) => void): this;
    once(event: 'error', listener: (this: this, error: Error) => void): this;
    once(event: 'listening' | 'close', listener: (this: this) => void): this;
    once(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  }

  /** The same class as `WebSocketServer`. */
  const Server: typeof WebSocketServer;
  type Server = WebSocketServer;

  const WebSocket: typeof WebSocketAlias;
  type WebSocket = WebSocketAlias;

  const Sender: typeof tools.Sender;
  type Sender = tools.Sender;
  const Receiver: typeof tools.Receiver;
  type Receiver = tools.Receiver;
  const PerMessageDeflate: typeof tools.PerMessageDeflate;
  type PerMessageDeflate = tools.PerMessageDeflate;
  const extension: typeof tools.extension;

  /** A stream over a WebSocket: each chunk that is written is a message; what comes can be read. */
  type PreparedMessage = sending.PreparedMessage;
  export import prepare = sending.prepare;

  function createWebSocketStream(ws: WebSocketAlias, options?: DuplexOptions): Duplex;

  const subprotocol: typeof tools.subprotocol;
}

export = WebSocket;
