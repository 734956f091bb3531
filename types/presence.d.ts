// Presence: the users of a topic. None of it is in ws.

import { WebSocket } from './websocket';

/** Options of `enter()`. */
export interface EnterOptions {
  /** Who it is, with 1 to 256 characters: a user with three connections is there once. */
  key: string;
  /** Data about this connection, for others: at most 1024 characters of JSON. Default: null */
  meta?: unknown;
}

/** The presence of a topic: its users on this server and, with an `adapter`, on all nodes. */
export interface Presence {
  /** How many keys are present. */
  readonly count: number;
  /** All keys, each with the metas of its connections. */
  list(): PresenceEntry[];
  /** The metas of a key, one for each connection; undefined: it is not present. */
  get(key: string): unknown[] | undefined;
  /**
   * Sends a connection all that is known, in JSON, and from then on what changes: `PresenceMessage`. Returns whether
   * the connection is open.
   *
   * @throws {TypeError} For anything but a connection of this server
   */
  watch(socket: WebSocket): boolean;
  /** Undoes `watch()`. Returns whether the connection watched. */
  unwatch(socket: WebSocket): boolean;
}

/** A key that is present. */
export interface PresenceEntry {
  key: string;
  /** One for each of its connections. */
  metas: unknown[];
}

/**
 * Changes since the last event; `count` is the number of keys that are present. `joins` has the new keys, and keys
 * with changed connections or metas, with all their metas; `leaves` has the keys that left. Above
 * `presenceLimit` there is only `count`, and once there are fewer again `state`, which has all keys.
 */
export type PresenceChange =
  | { joins: Record<string, unknown[]>; leaves: string[]; count: number; state?: undefined }
  | { state: Record<string, unknown[]>; count: number; joins?: undefined; leaves?: undefined }
  | { count: number; state?: undefined; joins?: undefined; leaves?: undefined };

/** A message to a connection that watches: text in JSON. The first one has `state`, or only `count`. */
export type PresenceMessage = { presence: string } & PresenceChange;
