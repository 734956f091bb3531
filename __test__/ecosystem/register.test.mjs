// Programs under reactor-ws/register: their libraries have a `ws` of their own, and get this package for it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('.', import.meta.url));

const SOCKET_IO = `
import { once } from 'node:events';
import { createServer } from 'node:http';
import { WebSocket, WebSocketServer } from 'reactor-ws';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';

const http = createServer();
const server = new Server(http);
server.on('connection', (socket) => socket.on('echo', (data, answer) => answer(data)));
await once(http.listen(0, '127.0.0.1'), 'listening');
const client = io('http://127.0.0.1:' + http.address().port, { transports: ['websocket'] });
const answer = await client.emitWithAck('echo', 'hello');
const isOurs = server.engine.ws instanceof WebSocketServer && client.io.engine.transport.ws instanceof WebSocket;
console.log(answer, isOurs);
process.exit();
`;

for (const [flags, isOurs] of [[[], false], [['--import', 'reactor-ws/register'], true]]) {
  test(`socket.io: server and client ${isOurs ? 'get this package' : 'have their ws'}`, () => {
    const output = execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', SOCKET_IO], { cwd, encoding: 'utf8' });
    assert.equal(output, `hello ${isOurs}\n`);
  });
}
