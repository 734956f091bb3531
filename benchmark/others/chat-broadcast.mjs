// The chat of crossws's benchmark, with `broadcast()` instead of a loop over the clients.
import { WebSocketServer } from '../../lib/index.mjs';

const wss = new WebSocketServer({ host: '127.0.0.1', port: Number(process.env.PORT) });
wss.on('connection', (ws) => {
  ws.send('ready');
  ws.on('message', (data) => wss.broadcast(data.toString()));
});
wss.on('listening', () => console.log(`listens on ${process.env.PORT}`));
