// Everything that docs/topics.md describes. None of it is in ws.
import type { History, HistoryOptions, Position, PublishOptions, Receipt, SubscribeOptions, Subscribed, TopicOptions } from 'ws';
import { WebSocketServer } from 'ws';

const topicOptions = (topic: string): TopicOptions | null =>
  topic === 'prices'
    ? { history: 10, ttl: 1000, maxBytes: 1024, positionTtl: 1000, slow: 'catch-up', limit: 1024 }
    : null;
const server = new WebSocketServer({ port: 0, topicOptions, historyBudget: 1024 });
server.on('connection', (socket) => {
  const missed: SubscribeOptions = { since: { epoch: 'a', offset: 1 } };
  const is: boolean = socket.subscribe('prices', missed, ({ recovered, replayed }: Subscribed) => console.log(recovered, replayed));
  socket.subscribe('prices', (result) => console.log(result.position?.epoch));
  const all: string[] = socket.subscriptions;
  const was: boolean = is && all.length > 0 && socket.isSubscribed('prices') && socket.unsubscribe('prices');
  const others: number = socket.publish('prices', was ? 'a' : new Uint8Array(1), { binary: true, compress: false });
  socket.on('dropped', (topic: string, count: number) => console.log(topic, count + others));
  socket.on('gap', (topic: string, from: Position, to: Position) => console.log(topic, to.offset - from.offset));
});

export const matched: number = server.publish('prices', 'a', { key: 'a' }) + server.broadcast('a', { except: [] });
const options: PublishOptions = { key: 'a', except: server.clients };
export const either: number | Promise<Receipt> = server.publish('prices', 'a', options);
server.on('connection', (socket) => socket.publish('prices', 'a', options));
export const receipt: Promise<Receipt> = server.publish('prices', 'a', { ...options, receipt: true });
export const offset: Promise<number | undefined> = receipt.then(({ position }) => position?.offset);
export const counts: Map<string, number> = new Map(server.topics()).set('prices', server.subscriberCount('prices'));
const page: HistoryOptions = { since: 'oldest', limit: 1 };
export const kept: Promise<History> = server.history('prices', page);
// @ts-expect-error It is read only.
server.on('connection', (socket) => (socket.subscriptions = []));

// undefined and null stand for the default; once() has the types of on().
new WebSocketServer({ port: 0, maxConnections: undefined, allowedOrigins: null, pingInterval: null, limit: undefined, sendBudget: null });
new WebSocketServer({ port: 0, topicOptions: () => ({ history: undefined, slow: null }) });
server.publish('a', 'b', { key: undefined, receipt: undefined, except: null }).toFixed();
server.once('presence', (topic, { count }) => topic.at(count)).off('presence', (topic) => topic.at(0));
// @ts-expect-error No method of a string.
server.addListener('presence', (topic) => topic.nonsense);
