import { WebSocketServer } from './server';

/** How metrics are reported. */
export interface ObserveOptions {
  /** Attributes of every number, such as `{ server: 'chat' }`. */
  attributes?: Record<string, string>;
  /**
   * A MeterProvider. Default: the global one of
   * `@opentelemetry/api`, which has to be installed then
   */
  meterProvider?: { getMeter(name: string, version?: string): any };
}

/**
 * Reports the metrics of a server to OpenTelemetry whenever they are collected.
 *
 * @returns A function that ends the reports
 */
export function observe(server: Pick<WebSocketServer, 'metrics'>, options?: ObserveOptions): () => void;
