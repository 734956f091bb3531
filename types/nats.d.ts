import { Adapter } from './adapter';

/** Options of `natsAdapter()`. */
export interface NatsAdapterOptions {
  /**
   * What `connect()` of `@nats-io/transport-node` has returned. It stays open when the server is closed.
   * `noEcho: true` spares a node its own messages.
   */
  connection: any;
  /** Before all subjects: words with dots between them. Default: 'reactor-ws' */
  prefix?: string | undefined;
}

/**
 * NATS carries the messages; it keeps none, so each node has its own histories and positions.
 *
 * @throws {TypeError} For something that is no connection, naming the method that it lacks; for a wrong option
 */
export function natsAdapter(options: NatsAdapterOptions): Adapter;
