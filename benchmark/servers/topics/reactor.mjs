// Topics of reactor-ws. With `history` members go on where they were,
// with `drop` slow ones miss messages.
import { WebSocketServer } from '../../../lib/index.mjs';
import { listening } from '../contract.mjs';
import { LIMIT, redisPath, remember, wanted, words } from './room.mjs';

const isMemory = words.has('memory');

async function adapter() {
  const { Redis } = await import('ioredis');
  const { redisAdapter } = await import('../../../lib/adapters/redis.js');
  const client = new Redis({ path: redisPath, retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => {});
  return redisAdapter({ client });
}

const server = new WebSocketServer({
  ...(redisPath && { adapter: await adapter() }),
  host: '127.0.0.1',
  port: 0,
  topicOptions: () => ({
    ...(words.has('history') && { history: 1000 }),
    ...(words.has('drop') && { slow: 'drop', limit: LIMIT }),
  }),
  ...JSON.parse(process.env.BENCH_OPTIONS ?? '{}'),
});
// Messages have a line with their position.
if (words.has('history')) server.topicsProtocol({ authorize: () => false });
server.on('connection', (ws, request) => {
  const { room, since } = wanted(request.url);
  ws.subscribe(room, since && { since });
  ws.on('message', (data, binary) => {
    if (isMemory) return remember(`${data}`, (topic) => ws.subscribe(topic), (answer) => ws.send(answer));
    server.publish(room, data, { binary });
  });
  ws.on('error', () => {});
});
server.on('listening', () => listening(server.address().port));
process.on('SIGTERM', () => process.exit(0));
