// Fastify with @fastify/websocket, which requires `ws`: package.json overrides
// it, see docs/migrating-from-ws.md.

import websocket from '@fastify/websocket';
import fastify from 'fastify';

const app = fastify();
await app.register(websocket, { options: { maxPayload: 64 * 1024, pingInterval: 30_000 } });

app.get('/hello', () => ({ hello: 'world' }));
app.get('/live', { websocket: true }, (socket) => {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

await app.listen({ port: Number(process.env.PORT ?? 8080) });
console.log(`listening on port ${app.server.address().port}`);
