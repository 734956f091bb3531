/**
 * Where a message of a topic with history is. The epoch changes whenever the history is lost; the offset counts the
 * messages from 1 on, without holes.
 */
export interface Position {
  readonly epoch: string;
  readonly offset: number;
}

/** Options of a client. */
export interface TopicsClientOptions {
  /**
   * Milliseconds that an attempt to connect again waits at most, the first time. Each further one may wait twice as long;
   * how long it does is random. A connection that lasts
   * longer than this wait makes it short again. Default: 500
   */
  minDelay?: number | undefined;
  /**
   * Milliseconds above which that does not grow. After 1012 ("service restart") a sixth of it to all of it, and after 1013
   * ("try again later") once to twice of it. A time that the server has named comes first. Default: 30000
   */
  maxDelay?: number | undefined;
  /**
   * Milliseconds between questions whether the server is there. Without an answer until the next one, or without a
   * connection after that time, the client connects again. Default: 25000
   */
  pingInterval?: number | undefined;
  /** Messages that may wait for an answer; `publish()` rejects more. Default: 1000 */
  maxUnanswered?: number | undefined;
  /** The class of sockets, in a Node without one of its own. Default: the global `WebSocket` */
  WebSocket?: (new (url: any, protocol: string) => any) | undefined;
}

/** Events of a client: the fields of each are those of the event object. */
export interface TopicsClientEvents {
  /** There is a connection. */
  open: {};
  /**
   * It has ended, or could not be made. `delay`: milliseconds until the next attempt; null after `close()`, and after a code that says
   * that there is no use: 1000, 1002, 1003, 1007 to 1010, 4000 and above. `connect()` tries again nevertheless.
   */
  close: { code: number; reason: string; delay: number | null };
  /** The server has answered to a `subscribe()`, also after each reconnect. `recovered`: whether all since the last message comes. */
  subscribed: { topic: string; position: Position | null; recovered: boolean };
  /**
   * Messages that this client does not get, from the one position to the other: fetch the state in another way. `from` is null
   * if the history was lost; both are null in a topic without positions, after each time without a connection.
   */
  gap: { topic: string; from: Position | null; to: Position | null };
  /**
   * Others are present in a topic that the server watches for this client, by `server.presence()`: all of it first and after each
   * reconnect (`state`), then what changes.
   */
  presence: {
    topic: string;
    detail: { presence: string; count: number; state?: Record<string, unknown[]>; joins?: Record<string, unknown[]>; leaves?: string[] };
  };
  /** The server does not allow the subscription, which is over. */
  refused: { topic: string; reason: string };
}

/** Called with each message. */
export type TopicListener = (data: string, message: { topic: string; position: Position | null }) => void;

/**
 * Topics of a server that has called `topicsProtocol()`. It connects at once, and again after each end, and gets what
 * was published meanwhile: each message once, in order.
 */
export class TopicsClient extends EventTarget {
  /**
   * @param url Of the server, or a function that returns it, or a promise of it, for each attempt
   * @throws {SyntaxError} For a URL that is none
   */
  constructor(url: string | URL | (() => string | URL | Promise<string | URL>), options?: TopicsClientOptions);

  /** Whether there is a connection. */
  readonly isOpen: boolean;

  /** Connects now, also after `close()`. Without effect while it connects or is connected. */
  connect(): void;

  /** Ends the connection for good, and rejects publishes without an answer. Subscriptions stay for a later `connect()`. */
  close(code?: number, reason?: string): void;

  /**
   * `listener` gets the messages that are published from now on, or after `since`: a position that was kept, or 'oldest'. If
   * there is a subscription, only its listener changes.
   */
  subscribe(topic: string, listener: TopicListener, options?: { since?: Position | 'oldest' | null }): void;

  /** Its listener is not called any more. */
  unsubscribe(topic: string): void;

  /**
   * Sends text to all subscribers. It is sent again after a reconnect until the server has answered; subscribers that are
   * clients of this class get it once.
   *
   * @returns The position of the message; null in a topic without
   * @throws {Error} Rejects if the server refuses it, more than `maxUnanswered` wait, or the client is closed
   */
  publish(topic: string, data: string): Promise<Position | null>;

  /** The position of the last message that the listener has got: a later client may go on from it. */
  position(topic: string): Position | null;

  addEventListener<Name extends keyof TopicsClientEvents>(
    type: Name,
    listener: (event: Event & TopicsClientEvents[Name]) => void,
    options?: boolean | { once?: boolean; passive?: boolean; capture?: boolean; signal?: AbortSignal },
  ): void;
  removeEventListener<Name extends keyof TopicsClientEvents>(
    type: Name,
    listener: (event: Event & TopicsClientEvents[Name]) => void,
    options?: boolean | { capture?: boolean },
  ): void;
}
