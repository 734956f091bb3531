import { WebSocketServer } from './server';

/** The value of `Content-Type` of the text. */
export const contentType: string;

/**
 * The metrics of a server in the text format of Prometheus.
 *
 * @param labels Labels of every sample, such as `{ server: 'chat' }`
 */
export function prometheus(server: Pick<WebSocketServer, 'metrics'>, labels?: Record<string, string>): string;

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
 * @param labels Labels of every sample, such as `{ server: 'chat' }`
 * @returns A function that removes the metrics from the registry
 */
export function register(server: Pick<WebSocketServer, 'metrics'>, registry: Registry, labels?: Record<string, string>): () => void;
