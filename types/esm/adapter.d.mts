// Made from types/adapter.d.ts by scripts/types.mjs.
// The seam between a server and a broker. None of it is in ws.

import { Position } from './topics.mjs';

/**
 * Carries messages between the nodes of an application: servers in different threads, processes and
 * machines. One adapter belongs to one server. A node calls `start()` first, and nothing after
 * `close()`.
 */
export interface Adapter {
  /**
   * Gets ready. When it rejects, it is called again later.
   *
   * @param node Receives the adapter's messages and reports
   */
  start(node: AdapterNode): Promise<void> | void;
  /**
   * Gives a message to all nodes that have subscribed to the topic. Messages of one node in one topic stay in order. The node may or
   * may not get its own messages back; with `settings.history` it does, if it has subscribed.
   *
   * @param topic Any string; two strings are two topics, even if they differ in lone surrogates only
   * @param bytes Opaque and never changed
   * @returns When the broker has it; with `settings.history`, its position
   */
  publish(topic: string, bytes: Buffer, settings: PublishSettings): Promise<Position | void> | void;
  /**
   * Subscribes to topics. Calls of `subscribe()` and `unsubscribe()` take effect in their order.
   *
   * @returns When messages come that are published from now on. If some topics were refused, and the others were not, the
   *   error has their names in `topics`
   */
  subscribe(topics: string[]): Promise<void> | void;
  /** Takes subscriptions back. Messages can come for a while. */
  unsubscribe(topics: string[]): Promise<void> | void;
  /**
   * Reads messages that the broker keeps, in the order of their offsets, without a hole. A node calls it in any topic. Without this
   * method, each node has its own history, and its own positions.
   *
   * @param since The position after which messages are wanted; 'oldest': all; 'latest': none, only the
   *   position. A position of the same epoch above the topic's means that the broker has lost messages:
   *   the epoch must change
   * @param limit Most messages
   */
  history?(topic: string, since: Position | 'oldest' | 'latest', limit: number, settings: HistorySettings): Promise<AdapterPage>;
  /**
   * Ends everything that `start()` began, and its retries. Objects of the program, such as a client, stay open. It can be called more
   * than once, and before `start()` has resolved.
   */
  close(): Promise<void> | void;
}

/** A node as its adapter sees it. */
export interface AdapterNode {
  /** 12 hexadecimal digits, another one for each server. */
  readonly id: string;
  /**
   * A message of a topic.
   *
   * @param bytes They belong to the node from now on
   * @param position Where the broker has a history
   */
  deliver(topic: string, bytes: Uint8Array, position?: Position): void;
  /**
   * Messages can be missing: of a topic, or of all. To be called when they come again, such as after each
   * reconnect, once the subscriptions are there again.
   */
  lost(topic?: string): void;
  /** Whether the broker can be reached. */
  report(state: 'connected' | 'away', error?: Error): void;
}

/** Options of one message. */
export interface PublishSettings {
  /** The broker keeps the message, and gives it a position. Only for adapters with `history()`. */
  history?: HistorySettings;
}

/** How much of a topic a broker keeps. */
export interface HistorySettings {
  /** Most messages. */
  size: number;
  /** Milliseconds after the last message until the messages can be removed; 0: never. */
  ttl: number;
  /** Milliseconds after the last use until the position can be removed, too. */
  positionTtl: number;
}

/** Messages of a history. */
export interface AdapterPage {
  /** False: something after `since` is missing, and there are no messages here. */
  recovered: boolean;
  /** Position of the topic's last message. The epoch is new when messages were lost. */
  position: Position;
  messages: Array<{ bytes: Buffer; position: Position }>;
  /** Earlier epochs with the last offsets that are valid: messages up to there have the same offsets in the epoch of `position`. */
  earlier?: Position[];
}

/** `closed`: for good. */
export type AdapterState = 'starting' | 'connected' | 'away' | 'closed';

/** The argument of event 'adapter' of a server. */
export type AdapterEvent =
  /** The broker can be reached, or it cannot: `error` says why, if that is known. */
  | { type: 'connected' | 'away'; error?: Error }
  /** So many messages did not go to other nodes, because too much waits: `adapterLimit`. At most once a second. */
  | { type: 'dropped'; count: number }
  /** The adapter has refused so many calls, the first one with this error. At most once a second. */
  | { type: 'failed'; count: number; error: Error };

/** Counts of a server with an adapter since it was made. */
export interface AdapterMetrics {
  state: AdapterState;
  /** Seconds for which the oldest message waits that the broker has not confirmed; 0: none. */
  lag: number;
  /** Bytes of messages that the broker has not confirmed, and 2048 or more for each: at most `adapterLimit`. */
  bytesWaiting: number;
  /** Topics that this node follows. */
  topics: number;
  /** Messages that were given to the adapter. */
  sent: number;
  /** Their bytes. */
  bytesSent: number;
  /** Messages received. */
  received: number;
  /** Their bytes. */
  bytesReceived: number;
  /** Messages that only local subscribers got, or none, in a topic with history: `adapterLimit`. */
  dropped: number;
  /** Calls that the adapter has refused, and starts that have failed. */
  failed: number;
  /** Messages of another version of this package. */
  ignored: number;
  /** How often the broker could be reached again. */
  reconnects: number;
  /** How often messages of a topic might have been missed. With a history they are read again, unless it has lost them. */
  gaps: number;
}
