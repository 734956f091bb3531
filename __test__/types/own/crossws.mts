// The adapter of crossws: its options, with those of our server.
import { createServer } from 'node:http';

import wsAdapter, { fromNodeUpgradeHandler } from 'reactor-ws/crossws';
import type { NodeAdapter, ReactorOptions } from 'reactor-ws/crossws';
import { WebSocketServer } from 'reactor-ws';

const options: ReactorOptions = {
  hooks: { open: (peer) => peer.subscribe('news'), message: (peer, message) => peer.publish('news', message.text()) },
  serverOptions: { pingInterval: 30_000, topicOptions: (topic, namespace) => ({ slow: topic === namespace ? 'drop' : 'queue' }) },
};
const adapter: NodeAdapter = wsAdapter(options);
createServer().on('upgrade', adapter.handleUpgrade);
adapter.publish('news', { hello: 'world' }, { namespace: '/chat' });
wsAdapter({ wss: new WebSocketServer({ noServer: true }), hooks: fromNodeUpgradeHandler(() => {}) });
// @ts-expect-error: not an option
wsAdapter({ serverOptions: { pingIntervall: 1 } });
