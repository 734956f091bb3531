import { Adapter } from './adapter';

/** Options of `clusterAdapter()`. */
export interface ClusterAdapterOptions {
  /** Nodes of the same name are together. Default: 'reactor-ws' */
  name?: string | undefined;
  /**
   * Bytes that may wait for another node that does not read, up to 2^53 - 1. Above, it loses messages, and its
   * connections get 'gap'. Default: 16 MiB
   */
  limit?: number | undefined;
}

/**
 * Connects all servers of one user on one machine, without a broker: those of workers of node:cluster, of processes
 * of PM2, of threads, and of any other processes. Not on Windows.
 *
 * @throws {TypeError | RangeError} For a wrong option
 */
export function clusterAdapter(options?: ClusterAdapterOptions | null): Adapter;
