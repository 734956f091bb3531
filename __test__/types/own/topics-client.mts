// The module for browsers, and the server's side.
import { TopicsClient } from 'reactor-ws/client';
import type { Position, TopicsClientEvents, TopicsClientOptions } from 'reactor-ws/client';
import type { TopicsProtocolOptions } from 'reactor-ws';
import { WebSocket, WebSocketServer } from 'reactor-ws';

const options: TopicsClientOptions = { minDelay: 1, maxDelay: 2, pingInterval: 3, maxUnanswered: 4, WebSocket };
const client = new TopicsClient(async () => new URL('ws://127.0.0.1:1/'), options);
client.subscribe('a', (text: string, { position, topic }) => console.log(text.length, topic.length, position?.offset), { since: 'oldest' });
client.addEventListener('gap', ({ from, to, topic }) => console.log(topic, (to?.offset ?? 0) - (from?.offset ?? 0)));
client.addEventListener('close', ({ code, delay }: Event & TopicsClientEvents['close']) => console.log(code, delay === null));
// @ts-expect-error No such event.
client.addEventListener('message', () => {});
// @ts-expect-error Text only.
client.publish('a', 1);
export const said: Promise<Position | null> = client.publish('a', 'text');
export const last: Position | null = client.isOpen ? client.position('a') : null;
client.unsubscribe('a');
client.connect();
client.close(1000, 'done');

const server = new WebSocketServer({ port: 0 });
const protocol: TopicsProtocolOptions = {
  authorize: async (socket, action: 'subscribe' | 'publish', topic: string) => socket.protocol !== '' && action === 'subscribe' && topic !== '',
  maxTopics: 1,
  maxTopicLength: 1,
  maxBytes: 1,
};
server.topicsProtocol(protocol);
// @ts-expect-error Who may is to be said.
server.topicsProtocol({});
