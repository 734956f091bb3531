// Additions that ws does not have.
import WebSocket, { BufferLike, PreparedMessage, SendOptions, WebSocketServer, extension, prepare, subprotocol } from 'ws';

const wss = new WebSocketServer({ port: 0, reactors: 2, pingInterval: 30_000, idleTimeout: 1, spin: 0, earlyHandshake: true });
new WebSocketServer({ port: 0, reusePort: true, keepAlive: true, keepAliveInitialDelay: 60_000, noDelay: false });
const descriptor: number | null = wss.descriptor();
wss.drain({ handOver: descriptor !== null }).then(({ left }) => left.toFixed());
const message: PreparedMessage = prepare('text', { compress: true });
const options: SendOptions = { binary: true };
const data: BufferLike = new Uint8Array(1);
wss.on('connection', (ws) => {
  ws.send(message);
  if (ws.send(data, options) === false) ws.once('drain', () => ws.send('more'));
  const more = ws.send('text');
  if (!more) ws.off('drain', () => {});
  ws.binaryType = 'blob';
  ws.ping((error: Error) => console.log(error));
  ws.ping('data', (error) => console.log(error));
});
const detached = new WebSocket(null, undefined, { maxPayload: 10 });
detached.setSocket(process.stdin as never, Buffer.alloc(0), {});
console.log(extension.parse('a; b'), subprotocol.parse('a, b'), WebSocket.PerMessageDeflate.extensionName, message.length);
new WebSocket.Receiver({ isServer: true }).on('message', () => {});
