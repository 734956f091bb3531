import type { NodeAdapter, NodeOptions } from 'crossws/adapters/node';

import type { TopicOptions } from './esm/topics.mjs';
import type { ServerOptions, WebSocketServer } from './esm/server.mjs';

export { fromNodeUpgradeHandler } from 'crossws/adapters/node';
export type { NodeAdapter } from 'crossws/adapters/node';

/** Options of the adapter of crossws, with a server of this package. */
export interface ReactorOptions extends Omit<NodeOptions, 'wss' | 'serverOptions'> {
  /** A server with `noServer: true`. Default: one with `serverOptions` */
  wss?: WebSocketServer | undefined;
  /** Options of the server that the adapter makes. */
  serverOptions?:
    | (Omit<ServerOptions, 'topicOptions'> & {
        /** As for a server, with the namespace of the peers; '' with crossws 0.3. Called once for each topic in each namespace */
        topicOptions?: ((topic: string, namespace: string) => TopicOptions | null | undefined | void) | undefined;
      })
    | undefined;
}

/**
 * An adapter as `crossws/adapters/node` makes it, whose connections are on this package: `publish` of peers and of the
 * adapter is one call, however many peers have subscribed.
 *
 * @throws {TypeError} If `wss` is not a server of this package
 */
export default function wsAdapter(options?: ReactorOptions): NodeAdapter;
