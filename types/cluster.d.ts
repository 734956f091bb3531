import { Adapter } from './adapter';

/** Options of `clusterAdapter()`. */
export interface ClusterAdapterOptions {
  /** Nodes of the same name are together. Default: 'reactor-ws' */
  name?: string | undefined;
  /**
   * Bytes that can wait for another node that does not read, up to 2^53 - 1. Above, it loses messages, and its
   * connections get 'gap'. Default: 16 MiB
   */
  limit?: number | undefined;
}

/**
 * Connects all servers of one user on one machine, without a broker: in workers of node:cluster, in processes
 * of PM2, in threads, and in any other processes. Not on Windows.
 *
 * @throws {TypeError | RangeError} For a wrong option
 */
export function clusterAdapter(options?: ClusterAdapterOptions | null): Adapter;
