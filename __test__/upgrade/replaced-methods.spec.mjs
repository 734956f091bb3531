// A program that replaces a method of the socket sees what goes through it: such a socket stays Node's.
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';

import { WebSocketServer, ownOnly, wsClient } from '../helpers/index.mjs';

const METHODS = ['_destroy', '_final', '_read', '_write', '_writev', 'destroy', 'emit', 'end', 'push', 'read', 'write'];

ownOnly('a socket with a method replaced stays that of Node', async (t) => {
  const server = http.createServer();
  const wss = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    const name = request.url.slice(1);
    const original = socket[name];
    socket[name] = function (...args) {
      return Reflect.apply(original, this, args);
    };
    wss.handleUpgrade(request, socket, head, (ws) => ws.send(String(Object.getPrototypeOf(socket) === net.Socket.prototype)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const found = await Promise.all(
    METHODS.map(async (name) => {
      const client = new wsClient(`ws://127.0.0.1:${server.address().port}/${name}`);
      t.teardown(() => client.terminate());
      const [data] = await once(client, 'message');
      return [name, String(data)];
    }),
  );
  t.deepEqual(found, METHODS.map((name) => [name, 'true']));
});
