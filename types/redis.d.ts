import { Adapter } from './adapter';

/** Options of `redisAdapter()`. */
export interface RedisAdapterOptions {
  /**
   * A client that is connected, or connects: of `redis` (`createClient()`, `createCluster()`, `createSentinel()`),
   * of `ioredis` (`new Redis()`, `new Cluster()`) or of `iovalkey`. It publishes; messages come over a
   * duplicate. It stays open when the server is closed. It needs a listener of 'error', as it would have without
   * this package.
   */
  client: any;
  /** Before the names of all channels and keys; without braces. Default: 'reactor-ws:' */
  prefix?: string | undefined;
  /**
   * Sharded channels (SSUBSCRIBE): in a cluster, a message goes to the node of its topic only. ioredis needs
   * `shardedSubscribers: true`. Needs Redis 7. Default: true for a client of a cluster
   */
  sharded?: boolean | undefined;
}

/**
 * Redis, from version 6.2 on, or Valkey carries the messages, and keeps the histories.
 *
 * @throws {TypeError} For something that is no client, naming the method that it lacks; for a wrong option
 */
export function redisAdapter(options: RedisAdapterOptions): Adapter;
