// Rooms of Socket.IO, which is installed by hand: npm install --no-save socket.io, or in the folder that PEERS_PATH names. With
// `recovery` its connection state recovery; over Redis with its adapter for publish and subscribe, with `streams` the other one. With
// `engine` on reactor-ws, with `rooms` its rooms as well.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { WebSocketServer } from '../../../lib/index.mjs';
import socketIo from '../../../lib/socket.io.js';
import { listening } from '../contract.mjs';
import { redisPath, words } from './room.mjs';

const require = createRequire(process.env.PEERS_PATH ? `${process.env.PEERS_PATH}/` : import.meta.url);
const { Server } = require('socket.io');

function adapter() {
  const { Redis } = require('ioredis');
  const client = new Redis({ path: redisPath, retryStrategy: () => 50, maxRetriesPerRequest: null });
  const second = client.duplicate();
  for (const one of [client, second]) one.on('error', () => {});
  if (words.has('streams')) return require('@socket.io/redis-streams-adapter').createAdapter(client);
  return require('@socket.io/redis-adapter').createAdapter(client, second);
}

class Engine extends WebSocketServer {
  /** @param {object} options */
  constructor(options) {
    super({ ...options, ...JSON.parse(process.env.BENCH_OPTIONS ?? '{}') });
  }
}

const http = createServer();
const io = new Server(http, {
  transports: ['websocket'],
  serveClient: false,
  ...(redisPath && { adapter: adapter() }),
  ...((words.has('engine') || words.has('rooms')) && { wsEngine: Engine }),
  ...(words.has('rooms') && { adapter: socketIo.reactorAdapter(redisPath && adapter()) }),
  ...(words.has('recovery') && { connectionStateRecovery: { maxDisconnectionDuration: 120_000, skipMiddlewares: true } }),
});
io.on('connection', (/** @type {any} */ socket) => {
  const { room } = socket.handshake.query;
  if (!socket.recovered) socket.join(room);
  socket.on('say', (/** @type {string} */ text) => io.to(room).emit('m', text));
});
http.listen(0, '127.0.0.1', () => listening(/** @type {import('node:net').AddressInfo} */ (http.address()).port));
process.on('SIGTERM', () => process.exit(0));
