import { WebSocketServer } from './server';

/** The value of `Content-Type` of the text. */
export const contentType: string;

/** A server, as far as it is used here. */
type Server = Pick<WebSocketServer, 'metrics'>;

/**
 * The metrics of a server in the text format of Prometheus, or the metrics of several servers of a thread,
 * each with labels that tell it apart: `new Map([[chat, { server: 'chat' }], [feed, { server: 'feed' }]])`.
 * Numbers that all of them share, such as the numbers of the reactors, are there once.
 *
 * @param labels Labels of every sample, such as `{ server: 'chat' }`
 * @throws {RangeError} For a label that is not allowed, or the same labels for two servers
 */
export function prometheus(servers: Server | Iterable<readonly [Server, Record<string, string>]>, labels?: Record<string, string>): string;

/** A registry of prom-client, as far as it is used here. */
export interface Registry {
  registerMetric(metric: any): void;
  removeSingleMetric(name: string): void;
}

/**
 * Shows the metrics of a server in a registry of prom-client, beside those that are there. Several
 * servers may be in one registry: `labels` distinguish them.
 *
 * @param registry Such as `register` of prom-client
 * @param labels Labels of the server's own samples, such as `{ server: 'chat' }`
 * @throws {RangeError} For a label that is not allowed, or the labels of another server
 * @returns A function that removes the metrics from the registry
 */
export function register(server: Server, registry: Registry, labels?: Record<string, string>): () => void;
