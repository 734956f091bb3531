// Rooms of Socket.IO, which is installed by hand: npm install --no-save socket.io. With
// `recovery` its connection state recovery.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { listening } from '../contract.mjs';
import { words } from './room.mjs';

const { Server } = createRequire(import.meta.url)('socket.io');

const http = createServer();
const io = new Server(http, {
  transports: ['websocket'],
  serveClient: false,
  ...(words.has('recovery') && { connectionStateRecovery: { maxDisconnectionDuration: 120_000, skipMiddlewares: true } }),
});
io.on('connection', (/** @type {any} */ socket) => {
  const { room } = socket.handshake.query;
  if (!socket.recovered) socket.join(room);
  socket.on('say', (/** @type {string} */ text) => io.to(room).emit('m', text));
});
http.listen(0, '127.0.0.1', () => listening(/** @type {import('node:net').AddressInfo} */ (http.address()).port));
process.on('SIGTERM', () => process.exit(0));
