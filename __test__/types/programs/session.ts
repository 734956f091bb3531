// A server as one is written for @types/ws, and a client.
import { IncomingMessage, createServer } from 'node:http';
import { Duplex } from 'node:stream';

import WebSocket, { RawData, ServerOptions, WebSocketServer, createWebSocketStream } from 'ws';

interface Session {
  socket: WebSocket;
  isAlive: boolean;
}

const sessions = new Map<WebSocket, Session>();
const options: ServerOptions = {
  port: 0,
  host: '127.0.0.1',
  backlog: 10,
  maxPayload: 1024 * 1024,
  clientTracking: true,
  perMessageDeflate: { threshold: 1024, zlibDeflateOptions: { level: 3 }, serverNoContextTakeover: true, concurrencyLimit: 10 },
  verifyClient: ({ origin, req, secure }, callback) => {
    callback(secure || origin === 'https://example.com' || req.headers.cookie !== undefined, 401, 'Unauthorized');
  },
  handleProtocols: (protocols: Set<string>, _request: IncomingMessage) => (protocols.has('chat') ? 'chat' : false),
};
const wss: WebSocketServer = new WebSocketServer(options, () => console.log(wss.address()));

wss.on('connection', (socket: WebSocket, request: IncomingMessage) => {
  const session: Session = { socket, isAlive: true };
  sessions.set(socket, session);
  socket.on('pong', (data: Buffer) => {
    session.isAlive = data.length >= 0;
  });
  socket.on('message', (data: RawData, isBinary: boolean) => {
    broadcast(Array.isArray(data) ? Buffer.concat(data) : data, isBinary);
  });
  // An echo.
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  socket.on('message', (data: RawData) => socket.send(data));
  socket.on('error', (error: Error) => console.error(error.message));
  socket.on('close', (code: number, reason: Buffer) => {
    sessions.delete(socket);
    console.log(code, reason.toString(), request.url);
  });
  socket.send('welcome', (error?: Error) => {
    if (error) socket.terminate();
  });
});
wss.on('headers', (headers: string[], _request: IncomingMessage) => headers.push('Set-Cookie: a=b'));
wss.on('error', (error: Error) => console.error(error));
wss.on('wsClientError', (_error: Error, socket: Duplex, _request: IncomingMessage) => socket.destroy());
wss.once('listening', () => {});
wss.off('listening', () => {});

function broadcast(data: string | Buffer | ArrayBuffer | Blob, binary: boolean): void {
  for (const client of wss.clients) {
    if (client.readyState === WebSocket.OPEN && client.bufferedAmount < 65536 && !(data instanceof Blob)) {
      client.send(data, { binary, compress: true, fin: true });
    }
  }
}

const heartbeat: NodeJS.Timeout = setInterval(() => {
  wss.clients.forEach((socket) => {
    const session = sessions.get(socket);
    if (!session?.isAlive) return socket.terminate();
    session.isAlive = false;
    socket.ping();
    socket.ping('data', false, (error) => console.log(error));
  });
}, 30_000);

const http = createServer();
const other = new WebSocketServer({ noServer: true });
http.on('upgrade', (request, socket, head) => {
  if (!other.shouldHandle(request)) return socket.destroy();
  other.handleUpgrade(request, socket, head, (ws, upgraded) => other.emit('connection', ws, upgraded));
});

const client = new WebSocket('wss://example.com/path', ['chat'], {
  headers: { Authorization: 'Bearer x' },
  handshakeTimeout: 1000,
  followRedirects: true,
  perMessageDeflate: false,
  rejectUnauthorized: false,
  origin: 'https://example.com',
});
client.binaryType = 'arraybuffer';
client.onopen = ({ target }) => target.send(new Uint8Array(4));
client.onmessage = ({ data, type }) => console.log(type, typeof data === 'string' ? data.length : data);
client.onclose = ({ code, reason, wasClean }) => console.log(code, reason, wasClean);
client.onerror = ({ error, message }) => console.log(error, message);
client.addEventListener('message', ({ data }) => console.log(data), { once: true });
client.removeEventListener('close', () => {});
client.on('unexpected-response', (request, response) => console.log(request.path, response.statusCode));
client.on('redirect', (url, request) => console.log(url, request.path));
client.on('upgrade', (response) => console.log(response.headers));
const stream: Duplex = createWebSocketStream(client, { encoding: 'utf8', allowHalfOpen: false });
stream.pipe(process.stdout);

class Named extends WebSocket {
  label = '';
}
const typed = new WebSocketServer({ port: 0, WebSocket: Named });
typed.close((error?: Error) => console.log(error));

clearInterval(heartbeat);
client.close(1000, 'done');
wss.close();
