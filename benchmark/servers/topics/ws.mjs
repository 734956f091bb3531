// Rooms by hand: a Set of connections for each, and a loop.
import 'bufferutil';
import { WebSocketServer } from 'ws';
import { listening } from '../contract.mjs';
import { remember, wanted, words } from './room.mjs';

/** @type {Map<string, Set<import('ws').WebSocket>>} */
const rooms = new Map();

const isMemory = words.has('memory');

/** @type {(room: string, ws: import('ws').WebSocket) => Set<import('ws').WebSocket>} */
function enter(room, ws) {
  const members = rooms.get(room) ?? new Set();
  rooms.set(room, members.add(ws));
  return members;
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
server.on('connection', (ws, request) => {
  const { room } = wanted(request.url);
  const members = enter(room, ws);
  ws.on('message', (data, binary) => {
    if (isMemory) return remember(`${data}`, (topic) => enter(topic, ws), (answer) => ws.send(answer));
    for (const member of members) member.send(data, { binary });
  });
  ws.on('error', () => {});
  ws.on('close', () => members.delete(ws));
});
server.on('listening', () => listening(/** @type {import('node:net').AddressInfo} */ (server.address()).port));
process.on('SIGTERM', () => process.exit(0));
