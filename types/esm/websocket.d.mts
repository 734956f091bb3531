// Made from types/websocket.d.ts by scripts/types.mjs.
import { EventEmitter } from 'node:events';
import { ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';

import * as adapter from './adapter.mjs';
import * as client from './client.mjs';
import * as deflate from './deflate.mjs';
import * as events from './events.mjs';
import * as presence from './presence.mjs';
import * as running from './running.mjs';
import * as sending from './sending.mjs';
import * as server from './server.mjs';
import * as tls from './tls.mjs';
import * as tools from './tools.mjs';
import * as topics from './topics.mjs';
import * as verify from './verify.mjs';

import { ClientOptions } from './client.mjs';
import { BinaryType, CloseCause, CloseEvent, ErrorEvent, Event, EventListenerOptions, MessageEvent, RawData, WebSocketEventMap } from './events.mjs';
import { BufferLike, ControlCallback, SendCallback, SendOptions } from './sending.mjs';
import { ServerOptions } from './server.mjs';
import { EnterOptions } from './presence.mjs';
import { Position, Published, PublishOptions, Receipt, SubscribeOptions, Subscribed } from './topics.mjs';

/**
 * A connection: one that the server makes, or a client.
 *
 * Besides the events there is the interface of the browser:
 * `onmessage`, `addEventListener` and so on.
 */
export class WebSocket extends EventEmitter {
  /** Ready state 0: not connected yet. */
  static readonly CONNECTING: 0;
  /** Ready state 1: messages go both ways. */
  static readonly OPEN: 1;
  /** Ready state 2: `close()` or `terminate()` was called, or the peer's close frame came. */
  static readonly CLOSING: 2;
  /** Ready state 3: the connection is gone. */
  static readonly CLOSED: 3;
  /** The class itself. */
  static readonly WebSocket: typeof WebSocket;

  /** The same as `WebSocket.CONNECTING`. */
  readonly CONNECTING: 0;
  /** The same as `WebSocket.OPEN`. */
  readonly OPEN: 1;
  /** The same as `WebSocket.CLOSING`. */
  readonly CLOSING: 2;
  /** The same as `WebSocket.CLOSED`. */
  readonly CLOSED: 3;

  /**
   * Connects to a server. Whatever fails later is an 'error' event.
   *
   * @param address `ws:`, `wss:`, `http:`, `https:` or `ws+unix:`
   * @throws {SyntaxError} For an invalid address or subprotocol
   * @throws {RangeError} For another `protocolVersion`
   */
  constructor(address: string | URL, options?: ClientOptions | ClientRequestArgs);
  constructor(address: string | URL, protocols?: string | readonly string[], options?: ClientOptions | ClientRequestArgs);
  /** A WebSocket that is not connected: for classes that extend this one, and for `setSocket`. */
  constructor(address: null, protocols?: undefined, options?: ServerOptions<any, any>);

  /**
   * A value that goes with the connection to the next process, see option `handover`: a structured clone
   * of what was assigned, of at most 64 KiB. Without that option an ordinary property. Not in ws.
   * @throws {DOMException} DataCloneError, for what cannot be cloned
   * @throws {RangeError} For more than 64 KiB
   */
  attachment: any;
  /** Whether the connection comes from the process before, see option `handover`. Not in ws. */
  readonly resumed: boolean;
  /**
   * The form of binary messages. Text is always a `Buffer`. Unknown values are
   * ignored. Default: `'nodebuffer'`. When read it can be `'blob'`, which the type omits, as @types/ws does.
   */
  get binaryType(): Exclude<BinaryType, 'blob'>;
  set binaryType(type: BinaryType);
  /**
   * Bytes of frames, headers included, that were sent and are not in the kernel yet; close
   * frames do not count. Messages of topics count once the reactor has queued them. After the
   * connection left OPEN, the value grows by the bytes given to `send()`, `ping()` and `pong()`.
   */
  readonly bufferedAmount: number;
  /** Why the connection has ended; null before 'close'. Not in ws. */
  readonly closeCause: CloseCause | null;
  /** Names of the negotiated extensions, comma-separated; `''` without one. */
  readonly extensions: string;
  /** Whether `pause()` was called, and `resume()` has not been called since. */
  readonly isPaused: boolean;
  /** The negotiated subprotocol; `''` without one. */
  readonly protocol: string;
  /** One of CONNECTING, OPEN, CLOSING and CLOSED. */
  readonly readyState: 0 | 1 | 2 | 3;
  /**
   * The address of a client. On a server it is undefined, which the type omits, as @types/ws does.
   */
  readonly url: string;

  /** A listener for the event 'open', as in a browser. */
  get onopen(): ((event: any) => void) | null;
  set onopen(listener: ((event: Event) => void) | null);
  /** A listener for the event 'error', as in a browser. */
  get onerror(): ((event: any) => void) | null;
  set onerror(listener: ((event: ErrorEvent) => void) | null);
  /** A listener for the event 'close', as in a browser. */
  get onclose(): ((event: any) => void) | null;
  set onclose(listener: ((event: CloseEvent) => void) | null);
  /** A listener for the event 'message', as in a browser: text is a string. */
  get onmessage(): ((event: any) => void) | null;
  set onmessage(listener: ((event: MessageEvent) => void) | null);

  /**
   * Starts the closing handshake. The connection is destroyed if it takes longer than
   * `closeTimeout`. Without effect when it was started before.
   *
   * @param code 1000 to 1003, 1007 to 1014 or 3000 to 4999; without it the close frame is empty
   * @param reason At most 123 bytes
   * @throws {TypeError} For another code, or a reason that is neither text nor bytes
   * @throws {RangeError} For a longer reason
   */
  close(code?: number, reason?: string | Uint8Array): void;

  /**
   * Stops the events that come from the peer, and reading from the socket: the peer feels
   * back-pressure. Messages that were received together with the one being handled are still
   * emitted. Without effect in CONNECTING and CLOSED.
   */
  pause(): void;

  /** Undoes `pause()`. Events that were held back are emitted in order, after the current turn. */
  resume(): void;

  /**
   * Sends a ping. In CLOSING and CLOSED only the callback gets an error.
   *
   * @param data At most 125 bytes; a number is sent as text
   * @param callback Called when the frame was handed to the kernel
   * @throws {RangeError} For more than 125 bytes
   * @throws {Error} In CONNECTING
   */
  ping(data?: any, mask?: boolean | ControlCallback, callback?: ControlCallback): void;

  /** Sends a pong; see `ping()`. */
  pong(data?: any, mask?: boolean | ControlCallback, callback?: ControlCallback): void;

  /**
   * Sends a message. The data is copied before the call returns; a Blob is read first, and later
   * sends wait for it. In CLOSING and CLOSED only the callback gets an error.
   *
   * @param callback Called when the message was handed to the kernel, or
   *   with an error when it never will be
   * @returns Whether there is room for more: false when 1 MiB or more waits to be sent, this
   *   message included. `'drain'` follows then; nothing is refused. Also false in CLOSING and
   *   CLOSED, where no `'drain'` follows. In ws it is undefined
   * @throws {TypeError} ERR_INVALID_ARG_TYPE for data that is neither text nor bytes
   * @throws {Error} In CONNECTING
   */
  send(data: BufferLike, callback?: SendCallback): boolean;
  send(data: BufferLike, options: SendOptions | null | undefined, callback?: SendCallback): boolean;

  /**
   * Makes the connection a subscriber of a topic of its server, from the next published message on.
   * A second call does no harm; with `since` it replays the messages again. Allowed in every
   * callback; after the connection left OPEN nothing happens. Not in ws.
   *
   * @param callback Called once, later: when the connection is a subscriber and missed messages
   *   were sent, or when it never will be
   * @returns Whether the connection is a subscriber: false unless it is open
   * @throws {TypeError | RangeError} For a topic that is not a string or begins with `\0presence`, and
   *   a `since` that is not a position
   * @throws {TypeError} For a WebSocket without a server
   */
  subscribe(topic: string, callback?: (result: Subscribed) => void): boolean;
  subscribe(
    topic: string,
    options: SubscribeOptions | null | undefined,
    callback?: (result: Subscribed) => void,
  ): boolean;
  /**
   * Undoes `subscribe()`; messages published before still come. Returns whether the
   * connection was a subscriber. Not in ws.
   */
  unsubscribe(topic: string): boolean;
  /** Whether the connection has subscribed to a topic. Not in ws. */
  isSubscribed(topic: string): boolean;
  /** The topics that the connection has subscribed to; none after it left OPEN. Not in ws. */
  readonly subscriptions: string[];
  /**
   * Makes the connection present in a topic, which it need not subscribe to: `presence()` of the server. Once more: with
   * another key or meta. It leaves when it ends. Returns whether the connection is open. Not in ws.
   *
   * @throws {TypeError} For a topic or key that is not a string, and a meta that JSON cannot have
   * @throws {RangeError} For a key without or with more than 256 characters, and a meta with more than 1024 in JSON
   */
  enter(topic: string, options: EnterOptions): boolean;
  /** Undoes `enter()`. Without other connections, the key leaves at once. Returns whether the connection was present. Not in ws. */
  leave(topic: string): boolean;
  /**
   * As `publish()` of the server, to all subscribers but this connection, which need not
   * subscribe or be open. Not in ws.
   */
  publish(
    topic: string,
    data: Published,
    options: PublishOptions & { receipt: true },
  ): Promise<Receipt>;
  publish(topic: string, data: Published, options?: (PublishOptions & { receipt?: false | undefined }) | null): number;
  publish(topic: string, data: Published, options: PublishOptions): number | Promise<Receipt>;

  /**
   * Opens a detached WebSocket over a stream on which the handshake has been done; `head` has
   * the bytes that were read after it.
   */
  setSocket(socket: Duplex, head: Buffer, options: ClientOptions | ServerOptions<any, any>): void;

  /** Destroys the connection at once. `'close'` with code 1006 follows, and no other event. */
  terminate(): void;

  /**
   * Adds a listener as in a browser: it gets one object, in which text is a
   * string. Given twice, it is added once.
   */
  addEventListener<T extends keyof WebSocketEventMap>(
    type: T,
    listener: ((event: WebSocketEventMap[T]) => void) | { handleEvent(event: WebSocketEventMap[T]): void },
    options?: EventListenerOptions,
  ): void;
  /** Removes a listener that `addEventListener()` has added. */
  removeEventListener<T extends keyof WebSocketEventMap>(
    type: T,
    listener: ((event: WebSocketEventMap[T]) => void) | { handleEvent(event: WebSocketEventMap[T]): void },
  ): void;

  /** A message. Text is a `Buffer`; binary data has the form that `binaryType` says. */
  on(event: 'message', listener: (this: this, data: RawData, isBinary: boolean) => void): this;
  /** A control frame. A ping was answered before, unless `autoPong` is false. */
  on(event: 'ping' | 'pong', listener: (this: this, data: Buffer) => void): this;
  /**
   * The connection is gone; emitted once. The code is the peer's, 1005 when its close frame had
   * none, 1006 when there was no close frame.
   */
  on(event: 'close', listener: (this: this, code: number, reason: Buffer) => void): this;
  /**
   * The peer broke the protocol; `'close'` follows. `error.code` is one of the `WS_ERR_`
   * codes of ws, or `WS_ERR_UNFINISHED_MESSAGE`: a message was given up, see
   * `unfinishedBudget`; `WS_ERR_TOO_MANY_MESSAGES` and `WS_ERR_TOO_MANY_BYTES`, see `limit`;
   * `WS_ERR_SEND_BUDGET`, see `sendBudget`.
   */
  on(event: 'error', listener: (this: this, error: Error) => void): this;
  /**
   * 1 MiB or more was waiting to be sent, and now it is at most half of that: time to go on
   * sending. Follows a `send()` that returned false, unless the connection closes first. Not
   * in ws.
   */
  on(event: 'drain', listener: (this: this) => void): this;
  /** On a client: the connection is open, and messages can be sent. */
  on(event: 'open', listener: (this: this) => void): this;
  /**
   * The next process has the connection. `readyState` is CLOSED, and no 'close' follows: it has not closed.
   * Not in ws.
   */
  on(event: 'handover', listener: (this: this) => void): this;
  /**
   * The connection was too slow for messages of a topic, and does not get them.
   * At most once in 10 ms. Not in ws.
   */
  on(event: 'dropped', listener: (this: this, topic: string, count: number) => void): this;
  /**
   * The connection will not get the messages at `from` to `to`: with `slow: 'catch-up'` because the
   * history no longer has them, with an adapter because messages of other servers were missed.
   * `from` is null if the number of missing messages is unknown: the history is another one since `to`, or, if
   * that is null too, there is none. Not in ws.
   */
  on(event: 'gap', listener: (this: this, topic: string, from: Position | null, to: Position | null) => void): this;
  /** On a client: the answer to the upgrade, with status 101. */
  on(event: 'upgrade', listener: (this: this, response: IncomingMessage) => void): this;
  /** On a client: an answer other than 101. A listener has to end the request. */
  on(event: 'unexpected-response', listener: (this: this, request: ClientRequest, response: IncomingMessage) => void): this;
  /** On a client: a redirect is followed; header fields can be removed. */
  on(event: 'redirect', listener: (this: this, url: string, request: ClientRequest) => void): this;
  on(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;

  /** As `on()`, but called once. */
  once<E extends keyof Emitted>(event: E, listener: (this: this, ...args: Emitted[E]) => void): this;
  once(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  /** The same as `on()`. */
  addListener<E extends keyof Emitted>(event: E, listener: (this: this, ...args: Emitted[E]) => void): this;
  addListener(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  /** Undoes `on()`, `once()` and `addListener()`. */
  off<E extends keyof Emitted>(event: E, listener: (this: this, ...args: Emitted[E]) => void): this;
  off(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
  /** The same as `off()`. */
  removeListener<E extends keyof Emitted>(event: E, listener: (this: this, ...args: Emitted[E]) => void): this;
  removeListener(event: string | symbol, listener: (this: this, ...args: any[]) => void): this;
}

/** The arguments of the listeners of each event; see `on()`. */
interface Emitted {
  message: [data: RawData, isBinary: boolean];
  ping: [data: Buffer];
  pong: [data: Buffer];
  close: [code: number, reason: Buffer];
  error: [error: Error];
  drain: [];
  dropped: [topic: string, count: number];
  gap: [topic: string, from: Position | null, to: Position | null];
  open: [];
  upgrade: [response: IncomingMessage];
  'unexpected-response': [request: ClientRequest, response: IncomingMessage];
  redirect: [url: string, request: ClientRequest];
}

// The names of the module, which the class carries. index.d.ts has them again, as types are not
// inherited; `declare module` of an ES module adds members to the types here.
export namespace WebSocket {
  export import Adapter = adapter.Adapter;
  export import AdapterEvent = adapter.AdapterEvent;
  export import AdapterMetrics = adapter.AdapterMetrics;
  export import AdapterNode = adapter.AdapterNode;
  export import AdapterPage = adapter.AdapterPage;
  export import AdapterState = adapter.AdapterState;
  export import AddressInfo = server.AddressInfo;
  export import BinaryType = events.BinaryType;
  export import BroadcastOptions = topics.BroadcastOptions;
  export import BufferLike = sending.BufferLike;
  export import CertMeta = client.CertMeta;
  export import ClientOptions = client.ClientOptions;
  export import CloseCause = events.CloseCause;
  export import CloseEvent = events.CloseEvent;
  export import ControlCallback = sending.ControlCallback;
  export import Data = events.Data;
  export import DeflateOptions = tools.DeflateOptions;
  export import DrainOptions = running.DrainOptions;
  export import DrainProgress = running.DrainProgress;
  export import EncryptedKey = tls.EncryptedKey;
  export import EnterOptions = presence.EnterOptions;
  export import ErrorEvent = events.ErrorEvent;
  export import Event = events.Event;
  export import EventListenerOptions = events.EventListenerOptions;
  export import FinishRequestCallback = client.FinishRequestCallback;
  export import FrameOptions = tools.FrameOptions;
  export import GivenOptions = server.GivenOptions;
  export import Histogram = running.Histogram;
  export import History = topics.History;
  export import HistoryOptions = topics.HistoryOptions;
  export import HistorySettings = adapter.HistorySettings;
  export import Listener = server.Listener;
  export import MessageEvent = events.MessageEvent;
  export import Metrics = running.Metrics;
  export import OriginRule = running.OriginRule;
  export import Pem = tls.Pem;
  export import PerMessageDeflateOptions = deflate.ServerOptions;
  export import PortOptions = server.PortOptions;
  export import Position = topics.Position;
  export import Presence = presence.Presence;
  export import PresenceChange = presence.PresenceChange;
  export import PresenceEntry = presence.PresenceEntry;
  export import PresenceMessage = presence.PresenceMessage;
  export import ProxyProtocol = running.ProxyProtocol;
  export import Published = topics.Published;
  export import PublishOptions = topics.PublishOptions;
  export import PublishSettings = adapter.PublishSettings;
  export import RawData = events.RawData;
  export import ReactorMetrics = running.ReactorMetrics;
  export import Receipt = topics.Receipt;
  export import ReplayedRequest = server.ReplayedRequest;
  export import SecureContext = tls.SecureContext;
  export import SecureContextOptions = tls.SecureContextOptions;
  export import SendCallback = sending.SendCallback;
  export import SendOptions = sending.SendOptions;
  export import ServerOptions = server.ServerOptions;
  export import Subscribed = topics.Subscribed;
  export import SubscribeOptions = topics.SubscribeOptions;
  export import TlsMetrics = running.TlsMetrics;
  export import TlsOptions = tls.TlsOptions;
  export import TopicOptions = topics.TopicOptions;
  export import TopicsProtocolOptions = topics.TopicsProtocolOptions;
  export import TrafficOptions = running.TrafficOptions;
  export import VerifyClientCallbackAsync = verify.VerifyClientCallbackAsync;
  export import VerifyClientCallbackSync = verify.VerifyClientCallbackSync;
  export import VerifyInfo = verify.VerifyInfo;
  export import Waiting = running.Waiting;
  export import WebSocketEventMap = events.WebSocketEventMap;

  export import PerMessageDeflate = tools.PerMessageDeflate;
  export import Receiver = tools.Receiver;
  export import Sender = tools.Sender;
  /** The same class as `WebSocketServer`. */
  export import Server = server.WebSocketServer;
  export import WebSocketServer = server.WebSocketServer;
  export import createWebSocketStream = tools.createWebSocketStream;
  export import emitUpgrades = server.emitUpgrades;
  export import extension = tools.extension;
  export import listen = server.listen;
  export import subprotocol = tools.subprotocol;
}
