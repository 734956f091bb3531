// Made from types/server.d.ts by scripts/types.mjs.
import { EventEmitter } from 'node:events';
import { IncomingMessage, Server as HttpServer } from 'node:http';
import { Http2SecureServer, Http2Server, Http2Stream, IncomingHttpHeaders } from 'node:http2';
import { Server as HttpsServer } from 'node:https';
import { ListenOptions } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

import { Adapter, AdapterEvent } from './adapter.mjs';
import * as deflate from './deflate.mjs';
import * as running from './running.mjs';
import { SecureContext, SecureContextOptions, TlsOptions } from './tls.mjs';
import { Presence, PresenceChange } from './presence.mjs';
import { BroadcastOptions, History, HistoryOptions, PublishOptions, Published, Receipt, TopicOptions, TopicsProtocolOptions } from './topics.mjs';
import { VerifyClientCallbackAsync } from './verify.mjs';
import { WebSocket } from './websocket.mjs';

/** `Class` is the class of the connections, `Request` the class of the requests of `server`. */
export interface ServerOptions<
  Class extends typeof WebSocket = typeof WebSocket,
  Request extends typeof IncomingMessage = typeof IncomingMessage,
> extends running.AdmissionOptions,
    running.TrafficOptions {
  /**
   * Port to listen on; 0 for any free one. Also what `server.listen()` of Node takes: the path of a
   * socket in the file system, or an object such as `{ port, host }`, `{ path }` and `{ fd }`. With
   * `{ path, mode: 0o660 }` the file has these permissions, and a user who can write to it can
   * connect; `mode` is not in ws. The path of URLs is `path`.
   */
  port?: number | string | (ListenOptions & { fd?: number | undefined; mode?: number | undefined }) | undefined;
  /** Address or name to listen on. Default: every address */
  host?: string | undefined;
  /** On an IPv6 address, do not take IPv4 connections. Not in ws. Default: false */
  ipv6Only?: boolean | null | undefined;
  /**
   * Most connections that wait to be accepted; the system can let
   * fewer wait. Default: 4096, in ws 511
   */
  backlog?: number | undefined;
  /**
   * Other processes with the same option can listen on the same TCP port, and the system
   * spreads connections over them. Linux and FreeBSD; elsewhere listening fails with
   * ENOTSUP. Not in ws. Default: false
   */
  reusePort?: boolean | null | undefined;
  /**
   * With `port`: small messages leave at once (TCP_NODELAY). Not an option of ws,
   * which does the same. Default: true
   */
  noDelay?: boolean | null | undefined;
  /** With `port`: the system probes silent connections (SO_KEEPALIVE). Not in ws. Default: false */
  keepAlive?: boolean | null | undefined;
  /**
   * Milliseconds of silence before the first probe, rounded up to seconds, up to 32767000; 0:
   * the system's. Not in ws. Default: 0
   */
  keepAliveInitialDelay?: number | null | undefined;
  /**
   * With `port`, an HTTP server that does not listen, and answers whatever is no upgrade for this
   * server: the short form of `listen(http, { port })` with `server: http`.
   * Not in ws. Default: such requests are answered with 426
   */
  http?: HttpServer<Request> | HttpsServer<Request> | Http2Server | Http2SecureServer | null | undefined;
  /**
   * Takes the upgrades of this HTTP or HTTPS server. It is never closed. Several can
   * share one, each with its `path`. Or one of `node:http2`, which is made to `emitUpgrades()`:
   * then WebSockets come over HTTP/2 (RFC 8441), and with its option `allowHTTP1` over HTTP/1.1 as
   * well. HTTP/2 is not in ws.
   */
  server?: HttpServer<Request> | HttpsServer<Request> | Http2Server | Http2SecureServer | undefined;
  /**
   * With `port`: TLS in the reactors, with the options of `https.createServer()`. Unsupported options throw, as do a
   * key that does not match its certificate, and an expired certificate. `options.tls` of the server lacks all that is
   * secret. Not in ws. Default: no TLS
   */
  tls?: TlsOptions | SecureContext | null | undefined;
  /** Take only connections that are given to `handleUpgrade`. */
  noServer?: boolean | undefined;
  /**
   * Accept only this path, whatever the query. Others are answered with 400. Default: every path
   */
  path?: string | undefined;
  /**
   * Most bytes of a message; more closes with 1009. 0, and 2 GiB and more, are 4 GiB - 1. Read when
   * the server is made. Default: 100 MiB
   */
  maxPayload?: number | undefined;
  /**
   * Most fragments of a message; more closes with 1008. 0 is no limit. Read when
   * the server is made. Default: 16384
   */
  maxFragments?: number | undefined;
  /** Without effect: an unfinished frame is held in one piece. Default: 262144 */
  maxBufferedChunks?: number | undefined;
  /** Most automatic pongs that wait to be sent; more terminates. 0 is no limit. Default: 60 */
  maxPendingAutoPongs?: number | undefined;
  /** Do not check that text and close reasons are UTF-8. Default: false */
  skipUTF8Validation?: boolean | undefined;
  /** Answer pings. Default: true */
  autoPong?: boolean | undefined;
  /** Milliseconds that a closing handshake can take. Default: 30000 */
  closeTimeout?: number | undefined;
  /**
   * With `port`: an upgrade that no hook decides is answered while JavaScript is
   * busy, before 'connection' is emitted. Otherwise it is answered after
   * 'connection', as in ws. Not in ws. Default: false
   */
  earlyHandshake?: boolean | null | undefined;
  /**
   * With `port`: the absolute path at which the process gives its port and its connections to the next
   * one, which has the same option. The folder must belong to the user. Not on Windows. Not in ws.
   * Default: none
   */
  handover?: string | null | undefined;
  /**
   * With `port`: the path on which a GET or HEAD is answered with 200, while JavaScript is busy too,
   * and with 503 from `drain()` on. Not in ws. Default: every such request is answered with 426
   */
  healthCheck?: string | null | undefined;
  /**
   * Milliseconds from accept to a complete upgrade request, 1 to 2147483647. After that, a started
   * request is answered with 408, and a connection that sent nothing is ended. Time that
   * `verifyClient` takes does not count. Not in ws. Default: 10000
   */
  handshakeTimeout?: number | null | undefined;
  /**
   * Milliseconds of silence after which a ping is sent, up to 2147483647; after the same time again
   * without any byte from the peer the connection ends with 1006. While it is paused the peer does
   * not count as silent. 0 means never. Not in ws. Default: 0
   */
  pingInterval?: number | null | undefined;
  /**
   * Milliseconds of silence after which the connection ends with 1006, up to 2147483647. 0
   * means never. Not in ws. Default: 0
   */
  idleTimeout?: number | null | undefined;
  /**
   * Microseconds for which the reactor polls after traffic before it sleeps. The
   * JavaScript thread does the same, for 50 us at most, after a delivery of up to four
   * messages, unless it has something else to do. -1 is automatic, 0 never, at most
   * 2147483647. Never on one processor. All servers of a thread share one reactor: the
   * value of the first one counts. Not in ws. Default: -1
   */
  spin?: number | null | undefined;
  /**
   * Reactor threads, 0 to 64. Connections are spread over them and stay where they are. 0: none;
   * the reactor runs on the JavaScript thread, between its other work: pings are then answered only
   * when that thread is free. `'auto'`: one reactor, which runs there while that thread has time to spare,
   * and in a thread while it has not. Where libuv cannot watch it (Windows, Bun, Deno) 0 and `'auto'` are the same as 1.
   * All servers of a thread share its reactors: the value of the first one counts. Not in ws.
   * Default: the environment variable `REACTOR_WS_REACTORS`, or 1
   */
  reactors?: number | 'auto' | null | undefined;
  /**
   * Bytes that unfinished messages of all connections of the reactors can take together, up to 2^53
   * - 1; 0 is no limit. Above it, connections are closed with 1013, first the ones with messages that
   * stall or trickle. With reactor threads, connections of the JavaScript thread, such as over https,
   * have the same amount once more. The value of a thread's first server counts. Not in ws. Default:
   * 256 MiB
   */
  unfinishedBudget?: number | null | undefined;
  /**
   * Returns the settings of a topic, not a Promise of them; called once for each, when it is made.
   * Not in ws. Default: no history, and all messages wait
   */
  topicOptions?: ((topic: string) => TopicOptions | null | undefined) | null | undefined;
  /**
   * Carries published messages to the servers of other threads, processes and machines, and back:
   * `redisAdapter()` of 'reactor-ws/redis', `natsAdapter()` of 'reactor-ws/nats', `clusterAdapter()` of
   * 'reactor-ws/cluster', or one of your own. Each server needs its own. Not in ws. Default: none
   */
  adapter?: Adapter | null | undefined;
  /**
   * Bytes of messages that can wait until the broker has confirmed them, and 2048 or more for each, up to 2^53 - 1; a single
   * message can be longer. Not in ws. Default: 64 MiB
   */
  adapterLimit?: number | null | undefined;
  /**
   * Applies to a message above `adapterLimit`. 'drop': only local subscribers get it, and in a topic with
   * a history none. 'reject': `publish()` throws, or rejects its receipt, and no subscriber gets it. Not in
   * ws. Default: 'drop'
   */
  adapterOverflow?: 'drop' | 'reject' | null | undefined;
  /**
   * Milliseconds for which a key is still present in a topic after its last connection there has ended, up to 2147483647.
   * Not in ws. Default: 15000
   */
  presenceGrace?: number | null | undefined;
  /**
   * Least milliseconds between two reports of a topic's presence, up to 2147483647. Not in ws. Default: 1000
   */
  presenceInterval?: number | null | undefined;
  /**
   * Keys in a topic, up to 2^31 - 1, above which only their number is reported. Not in ws. Default: 1000
   */
  presenceLimit?: number | null | undefined;
  /**
   * Bytes that the messages of all histories can take together, up to 2^53 - 1; 0 is no limit.
   * Above it, the topic with the oldest last message loses its oldest messages. The value of the
   * thread's first server with a history counts. Not in ws. Default: 64 MiB
   */
  historyBudget?: number | null | undefined;
  /**
   * Emit messages that were received together in one turn; false: one message,
   * ping or pong per turn. Default: true
   */
  allowSynchronousEvents?: boolean | undefined;
  /** Keep the `clients` set. Default: true */
  clientTracking?: boolean | undefined;
  /**
   * Compression; true means all defaults. With `port` it is read when
   * the server is made. Default: false
   */
  perMessageDeflate?: boolean | deflate.ServerOptions | undefined;
  /** Chooses one of the offered subprotocols; falsy for none. Default: the first */
  handleProtocols?: ((protocols: Set<string>, request: InstanceType<Request>) => string | false) | undefined;
  /**
   * Accepts or refuses a handshake: by its result, or, when it has two parameters, by the callback.
   */
  verifyClient?: VerifyClientCallbackAsync<InstanceType<Request>> | undefined;
  /** The class of the connections; it must extend `WebSocket`. */
  WebSocket?: Class | undefined;
}

/**
 * `options` of a server: the values that the constructor got. These five have types that fit @types/ws, so that functions
 * with its types take the server; `port` can also be a path or an object, and `server` a server of HTTP/2.
 */
export interface GivenOptions<
  Class extends typeof WebSocket = typeof WebSocket,
  Request extends typeof IncomingMessage = typeof IncomingMessage,
> extends Omit<ServerOptions<Class, Request>, 'handleProtocols' | 'perMessageDeflate' | 'port' | 'server' | 'WebSocket'> {
  handleProtocols?: (protocols: Set<string>, request: InstanceType<Request>) => string | false;
  perMessageDeflate?: any;
  port?: number | undefined;
  server?: HttpServer<Request> | HttpsServer<Request> | undefined;
  WebSocket?: any;
}

/** The options of `listen()`, as of a `WebSocketServer` with `port`. */
export type PortOptions = Pick<
  ServerOptions,
  | 'backlog'
  | 'handover'
  | 'handshakeTimeout'
  | 'host'
  | 'ipv6Only'
  | 'keepAlive'
  | 'keepAliveInitialDelay'
  | 'noDelay'
  | 'port'
  | 'proxyProtocol'
  | 'reactors'
  | 'reusePort'
  | 'sendBudget'
  | 'spin'
  | 'tls'
  | 'unfinishedBudget'
>;

/** The request of an event 'upgrade', which comes again in the process that takes a connection over: see option `handover`. Not in ws. */
export interface ReplayedRequest extends IncomingMessage {
  /** Whether the connection comes from the process before, which has accepted it. */
  readonly resumed?: boolean;
}

/** A port for an HTTP server: the result of `listen()`. */
export interface Listener extends EventEmitter {
  /** As of `WebSocketServer`. */
  address(): AddressInfo | string | null;
  /** Accepts no new connections. The others are the HTTP server's. */
  close(callback?: (error?: Error) => void): void;
  /** Closes it, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /** As of `WebSocketServer`. */
  metrics(): running.Metrics;
  /** As of `WebSocketServer`. */
  handover(options?: running.HandoverOptions | null): Promise<running.HandoverCounts>;
}

/**
 * Listens on a port for an HTTP server, in place of its `listen()`, and under any framework. The
 * reactors answer the upgrades of a `WebSocketServer` with this `server`, as long as nothing in
 * JavaScript would see or judge them before. All other connections go to the HTTP server, and an upgrade
 * that its listeners pass to `handleUpgrade()` is served by a reactor, too. Not in ws.
 *
 * @param server It does not listen by itself; its connections are closed by the program
 * @param callback A listener for `'listening'`. If listening fails, `'error'` is emitted
 * @throws {TypeError} For a server that listens, an `https.Server` without `tls`, or none of Node's, and
 *   for an option that is none of these
 */
export function listen(
  server: HttpServer<any, any> | HttpsServer<any, any> | Http2Server | Http2SecureServer,
  options: PortOptions,
  callback?: () => void,
): Listener;

/** The address of a server that listens. */
export interface AddressInfo {
  address: string;
  /** `'IPv4'` or `'IPv6'` */
  family: string;
  port: number;
}

/** A WebSocket server on a port of its own. */
export class WebSocketServer<
  Class extends typeof WebSocket = typeof WebSocket,
  Request extends typeof IncomingMessage = typeof IncomingMessage,
> extends EventEmitter {
  /**
   * The options over the defaults. Hooks and `path` can be
   * assigned; they are read at every upgrade.
   */
  options: GivenOptions<Class, Request>;
  /** Without effect, and undefined; declared as in @types/ws. The path is `options.path`. */
  path: string;
  /** The open connections; undefined when `clientTracking` is false. */
  clients: Set<InstanceType<Class>>;

  /**
   * With `port`, listens at once.
   *
   * @param callback A listener for `'listening'`
   * @throws {TypeError} Unless exactly one of `port`, `server` and `noServer` is given; for a wrong
   *   type of an option, and a misspelt one
   * @throws {RangeError} ERR_SOCKET_BAD_PORT; for an option out of its range
   */
  constructor(options?: ServerOptions<Class, Request>, callback?: () => void);

  /**
   * The bound address: a string for a pipe or a socket of the file system; null before the
   * server listens, and after `close()`.
   */
  address(): AddressInfo | string | null;

  /**
   * Accepts no new connections: the port is free when this returns. Open ones stay; `'close'` is emitted when the last one is gone.
   *
   * @param callback A listener for `'close'`; gets an error when the server was closed before
   */
  close(callback?: (error?: Error) => void): void;

  /**
   * Closes the server, for `await using`: resolved when it is closed, and its connections are gone. Not in ws.
   */
  [Symbol.asyncDispose](): Promise<void>;

  /**
   * Resolves when the next process has taken the port and all connections that can move. Not in ws.
   * @throws {Error} When `timeout` milliseconds are over, or without option `handover`
   */
  handover(options?: running.HandoverOptions | null): Promise<running.HandoverCounts>;

  /**
   * Closes the clients, spread over a time; upgrades are answered with 503 from now on.
   * Not in ws.
   */
  drain(options?: running.DrainOptions | null): Promise<running.DrainProgress>;

  /**
   * Reads keys and certificates once, for `SNICallback`, `addContext()` and `setSecureContext()` of any server. Not in ws.
   *
   * @throws {TypeError | RangeError | Error} As option `tls`
   */
  static createSecureContext(options: SecureContextOptions): SecureContext;

  /**
   * Replaces the keys, certificates and parameters of option `tls`, for connections that come from now on; a `ticketKeys`
   * among the options as well. Open connections stay. Resolved when it is done. Not in ws.
   *
   * @throws {TypeError | RangeError | Error} As a rejection, as option `tls`; nothing has changed then
   */
  setSecureContext(options: TlsOptions | SecureContext): Promise<void>;
  /**
   * The context for clients that ask for this host; in `*.example.com` the star is one label. The last one that fits
   * counts. Not in ws.
   *
   * @throws {TypeError | RangeError | Error} As option `tls`; nothing has changed then
   */
  addContext(host: string, options: SecureContextOptions | SecureContext): void;
  /** The 48 bytes by which sessions are resumed, for another server. Not in ws. */
  getTicketKeys(): Buffer;
  /**
   * Other servers with the same 48 bytes resume this one's sessions, and it theirs. Not in ws.
   *
   * @throws {TypeError | RangeError} For anything but 48 bytes
   */
  setTicketKeys(keys: NodeJS.ArrayBufferView): void;

  /**
   * Counts of the server and the reactors until now; `reactor-ws/prometheus` turns them into
   * text. Not in ws.
   */
  metrics(): running.Metrics;

  /**
   * The clients for which most bytes wait, the one with most first: those that do not read. Not in
   * ws.
   *
   * @param count Most clients. Default: 10
   * @throws {TypeError | RangeError} For anything but an integer from 0 to 2147483647
   */
  slowest(count?: number): Array<running.Waiting<InstanceType<Class>>>;

  /**
   * Answers an upgrade request that an HTTP server of Node has read, at once or later.
   *
   * @param socket Any Duplex
   * @param callback Called synchronously unless `verifyClient` decides later; the WebSocket is open
   * @throws {Error} When the socket is a WebSocket's already
   */
  handleUpgrade(
    request: InstanceType<Request>,
    socket: Duplex,
    head: Buffer,
    callback: (ws: InstanceType<Class>, request: InstanceType<Request>) => void,
  ): void;

  /**
   * Answers an extended CONNECT (RFC 8441) that an HTTP/2 server of Node has read, at once or later:
   * `handleUpgrade` with the request and the socket that `emitUpgrades` would emit. The settings of
   * the HTTP/2 server need `enableConnectProtocol: true`. Not in ws.
   *
   * @param stream From the HTTP/2 server's event 'stream'
   * @param headers From the same event. Anything but a CONNECT with `:protocol: websocket` is refused
   * @param callback Called synchronously unless `verifyClient` decides later; the WebSocket is open
   * @throws {TypeError} For anything but a stream and its headers
   * @throws {Error} When the stream is a WebSocket's already
   */
  handleConnect(
    stream: Http2Stream,
    headers: IncomingHttpHeaders,
    callback: (ws: InstanceType<Class>, request: InstanceType<Request>) => void,
  ): void;

  /**
   * Whether the request is for this server: by default, whether its path is `options.path`. Can be
   * replaced; a Promise counts as true, as in ws.
   */
  shouldHandle(request: InstanceType<Request>): boolean | Promise<boolean>;

  /**
   * Sends a message to all subscribers of a topic: it crosses to the reactors once, is framed
   * once, and compressed once for all connections with the same parameters without context
   * takeover. If published before an `unsubscribe()` it is delivered, if before a
   * `subscribe()` it is not. Not in ws.
   *
   * @returns How many subscribers of this server it goes to, without those excepted. With
   *   `receipt: true`, a promise of its position
   * @throws {TypeError} For a topic that is not a string, a Blob, and data that `send()` does not
   *   take; after `topicsProtocol()`, for data that is not text
   * @throws {RangeError} For a topic that begins with `\0presence`
   * @throws {Error} REACTOR_WS_ADAPTER_FULL, with `adapterOverflow: 'reject'`
   */
  publish(
    topic: string,
    data: Published,
    options: PublishOptions & { receipt: true },
  ): Promise<Receipt>;
  publish(
    topic: string,
    data: Published,
    options?: (PublishOptions & { receipt?: false | undefined }) | null,
  ): number;
  publish(topic: string, data: Published, options: PublishOptions): number | Promise<Receipt>;
  /**
   * Sends a message to all open connections, and returns how many. Taking connections out of
   * `clients` makes no difference: use `except` or topics for that. Not in ws.
   *
   * @throws {TypeError} As `publish()`
   */
  broadcast(data: Published, options?: BroadcastOptions | null): number;
  /** How many connections have subscribed to a topic. Not in ws. */
  subscriberCount(topic: string): number;
  /** All topics that have subscribers or a history, and how many subscribers. Not in ws. */
  topics(): IterableIterator<[string, number]>;
  /** The messages that a topic has kept. Not in ws. */
  history(topic: string, options?: HistoryOptions | null): Promise<History>;
  /**
   * Answers `reactor-ws/client`, and other clients of its protocol: connections with the subprotocol
   * `topics.reactor-ws.v1`. All messages of all topics are text from now on, and have a line with topic and position before
   * them. With an adapter, call it on all nodes. Not in ws.
   *
   * @throws {TypeError} For a wrong option, or without `authorize`
   * @throws {RangeError} For a limit out of its range
   * @throws {Error} When it was called before, or the server has topics
   */
  topicsProtocol(options: TopicsProtocolOptions): void;
  /**
   * The presence of a topic: its users on this server. With an adapter, the node follows the topic until a minute after the last
   * call, and the users of other nodes come a moment later, with event 'presence'. Not in ws.
   */
  presence(topic: string): Presence;

  /**
   * The presence of a topic has changed. At most one event per `presenceInterval` and topic. Not in ws.
   */
  on(event: 'presence', listener: (this: this, topic: string, change: PresenceChange) => void): this;
  /**
   * The broker of `adapter` was lost or can be reached again, or messages did not get to it. Not in ws.
   */
  on(event: 'adapter', listener: (this: this, event: AdapterEvent) => void): this;
  /**
   * A connection is open. All its events run in the store of an AsyncLocalStorage in which this one
   * is called; without hooks it is the store in which the server was made. The request object is
   * made only when a listener can see it: `(ws) => ...` avoids that cost.
   */
  on(event: 'connection', listener: (this: this, ws: InstanceType<Class>, request: InstanceType<Request>) => void): this;
  /**
   * The lines of the 101 response before they are written; lines can be added. A
   * listener costs time at every handshake.
   */
  on(event: 'headers', listener: (this: this, headers: string[], request: InstanceType<Request>) => void): this;
  /** An invalid upgrade request. A listener has to answer it, and to end the socket. */
  on(event: 'wsClientError', listener: (this: this, error: Error, socket: Duplex, request: InstanceType<Request>) => void): this;
  /**
   * Listening failed, for example with code EADDRINUSE. With `server`
   * it is any 'error' of that server.
   */
  on(event: 'error', listener: (this: this, error: Error) => void): this;
  /**
   * With `tls`, a handshake failed; its connection is closed. `code` of the error is one of Node where that has the
   * case. Under a flood not every failure is reported: `metrics()` has their number. Not in ws.
   */
  on(event: 'tlsClientError', listener: (this: this, error: Error & { code?: string }, socket: TLSSocket) => void): this;
  /**
   * With `tls`, a handshake is done, and its request can follow: `socket` is the `request.socket` of that. `destroy()`
   * refuses the client. A listener costs time at every handshake. Not in ws.
   */
  on(event: 'secureConnection', listener: (this: this, socket: TLSSocket) => void): this;
  /**
   * The process has no descriptors left, and `count` connections were closed as they came since the
   * last such event; at most once a second. Not in ws.
   */
  on(event: 'exhausted', listener: (this: this, count: number) => void): this;
  /**
   * The server is bound, and accepts connections. With `server` it is that server's 'listening'.
   */
  on(event: 'listening', listener: (this: this) => void): this;
  /**
   * The next process is there, and no connection is read any more. What the listener returns is awaited, for
   * at most 10 s; then the connections move. Not in ws.
   */
  on(event: 'handover', listener: (this: this) => unknown): this;
  /** The server was closed, and the last of its connections is gone. */
  on(event: 'close', listener: (this: this) => void): this;
  on(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  /** As `on()`, for one time. */
  once<E extends keyof Emitted<Class, Request>>(event: E, listener: (this: this, ...args: Emitted<Class, Request>[E]) => void): this;
  once(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  /** The same as `on()`. */
  addListener<E extends keyof Emitted<Class, Request>>(event: E, listener: (this: this, ...args: Emitted<Class, Request>[E]) => void): this;
  addListener(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  /** Undoes `on()`, `once()` and `addListener()`. */
  off<E extends keyof Emitted<Class, Request>>(event: E, listener: (this: this, ...args: Emitted<Class, Request>[E]) => void): this;
  off(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  /** The same as `off()`. */
  removeListener<E extends keyof Emitted<Class, Request>>(event: E, listener: (this: this, ...args: Emitted<Class, Request>[E]) => void): this;
  removeListener(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
}

/** The arguments of the listeners of each event; see `on()`. */
interface Emitted<Class extends typeof WebSocket, Request extends typeof IncomingMessage> {
  connection: [ws: InstanceType<Class>, request: InstanceType<Request>];
  headers: [headers: string[], request: InstanceType<Request>];
  wsClientError: [error: Error, socket: Duplex, request: InstanceType<Request>];
  error: [error: Error];
  exhausted: [count: number];
  tlsClientError: [error: Error & { code?: string }, socket: TLSSocket];
  secureConnection: [socket: TLSSocket];
  listening: [];
  close: [];
  presence: [topic: string, change: PresenceChange];
  adapter: [event: AdapterEvent];
}

/**
 * Makes an HTTP/2 server of Node emit 'upgrade' for a WebSocket (RFC 8441), as an HTTP/1.1 server
 * does, so that libraries with a listener for it, such as Socket.IO, have WebSockets over HTTP/2.
 * While 'upgrade' has listeners, the listeners of 'stream', 'request' and 'connect' do not see
 * these streams. Clients are told that the server takes them (`enableConnectProtocol`); other
 * settings of the program stay.
 *
 * The request is an http.IncomingMessage, as if a gateway had sent it to an HTTP/1.1 server:
 * method GET, `url` from `:path`, `host` from `:authority`, a new `sec-websocket-key`; only its
 * `httpVersion` is `'2.0'`. Its `socket` is the Http2Stream. An answer that is written to the
 * socket as for HTTP/1.1 becomes one of HTTP/2. The addresses and the methods of TLS come from
 * the session. Not in ws.
 *
 * @throws {TypeError} For anything but an HTTP/2 server
 */
export function emitUpgrades(server: Http2Server | Http2SecureServer): void;
