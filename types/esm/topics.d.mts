// Made from types/topics.d.ts by scripts/types.mjs.
// Topics. None of it is in ws.

import { BufferLike, SendOptions } from './sending.mjs';
import { WebSocket } from './websocket.mjs';

/**
 * Where a message of a topic with history is. The epoch changes whenever the history is lost; the
 * offset counts the messages from 1 on, without holes.
 */
export interface Position {
  readonly epoch: string;
  readonly offset: number;
}

/** Options of `subscribe()`. */
export interface SubscribeOptions {
  /**
   * The position of the last message that the subscriber has, or 'oldest'. Default:
   * only messages published from now on
   */
  since?: Position | 'oldest' | null | undefined;
}

/** The argument of the callback of `subscribe()`. */
export interface Subscribed {
  /**
   * Whether the connection has got all messages published after
   * `since`; false: nothing was replayed.
   */
  recovered: boolean;
  /** Position of the last message before those that come live; null without history. */
  position: Position | null;
  /** How many messages were replayed. */
  replayed: number;
}

/** Options of `broadcast()`. */
export interface BroadcastOptions extends Pick<SendOptions, 'binary' | 'compress'> {
  /** Connections that do not get it. */
  except?: WebSocket | Iterable<WebSocket> | null | undefined;
}

/** Options of `publish()`. */
export interface PublishOptions extends BroadcastOptions {
  /** With `slow: 'latest'` a message replaces an older one of the same key. Default: `''` */
  key?: string | undefined;
  /** Whether to return a promise of a `Receipt`. Default: false */
  receipt?: boolean | undefined;
}

/** Resolves when the message has its position: with an adapter and a history, once the broker has it. */
export interface Receipt {
  /** Position of the message; null without history, and if the broker did not get it. */
  position: Position | null;
}

/** Options of `history()`. */
export interface HistoryOptions {
  /** The position after which messages are wanted. Default: all that are kept */
  since?: Position | 'oldest' | null | undefined;
  /** Most messages. Default: all */
  limit?: number | null | undefined;
}

/** The result of `history()`. */
export interface History {
  /** Whether nothing is missing after `since`; false: there are no messages here. */
  recovered: boolean;
  /** Position of the topic's last message; null without history. */
  position: Position | null;
  /** The messages, the oldest first. */
  messages: Array<{ data: Buffer; isBinary: boolean; position: Position }>;
}

/** The settings of a topic: the result of `topicOptions`. */
export interface TopicOptions {
  /** How many messages are kept, up to 2^32 - 1. Default: 0, and there are no positions */
  history?: number | null | undefined;
  /**
   * Milliseconds for which a message is kept, up to 2147483647. Default: as long as there is room
   */
  ttl?: number | null | undefined;
  /**
   * Most bytes of the messages that are kept, up to 2^32 - 1. Default: no limit but `historyBudget`
   */
  maxBytes?: number | null | undefined;
  /**
   * Milliseconds since the last message for which a topic without subscribers
   * keeps its position. Default: one day
   */
  positionTtl?: number | null | undefined;
  /**
   * What becomes of a message to a connection that more than `limit` bytes wait for: it waits too;
   * it is dropped; the last one of each key waits; it is sent from the history once the connection
   * has read the rest; the connection is closed with 1013. Default: 'queue'
   */
  slow?: 'queue' | 'drop' | 'latest' | 'catch-up' | 'close' | null | undefined;
  /** Bytes that can wait for a connection before it is slow, up to 2^32 - 1. Default: 1 MiB */
  limit?: number | null | undefined;
}

/** Options of `topicsProtocol()`. */
export interface TopicsProtocolOptions {
  /**
   * Whether a connection may subscribe to a topic, or publish in it. Until a promise is settled, nothing more
   * is read from the connection. What throws, or rejects, is a no, with one warning. `action` 'subscribe' comes
   * again with each connection of a client.
   */
  authorize(socket: WebSocket, action: 'subscribe' | 'publish', topic: string): boolean | Promise<boolean>;
  /** Most topics of a connection; more are refused. Default: 100 */
  maxTopics?: number | undefined;
  /** Most UTF-16 code units of the name of a topic; longer ones are refused. Default: 256 */
  maxTopicLength?: number | undefined;
  /** Most bytes of a message of a client; a longer publish is refused, others close with 1009. Default: 65536 */
  maxBytes?: number | undefined;
}

/** Data that can be published. */
export type Published = Exclude<BufferLike, Blob>;
