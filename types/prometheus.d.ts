import { WebSocketServer } from './server';

/** The value of `Content-Type` of the text. */
export const contentType: string;

/**
 * The metrics of a server in the text format of Prometheus.
 *
 * @param labels Labels of every sample, such as `{ server: 'chat' }`
 */
export function prometheus(server: Pick<WebSocketServer, 'metrics'>, labels?: Record<string, string>): string;
