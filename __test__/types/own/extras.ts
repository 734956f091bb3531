// Additions that ws does not have.
import { once } from 'node:events';
import { createServer } from 'node:http';

import WebSocket, { BufferLike, CloseCause, ReplayedRequest, SecureContext, SendOptions, TlsOptions, WebSocketServer, extension, subprotocol } from 'ws';

const wss = new WebSocketServer({ port: 0, reactors: 2, pingInterval: 30_000, idleTimeout: 1, spin: 0, earlyHandshake: true });
new WebSocketServer({ port: 0, reusePort: true, keepAlive: true, keepAliveInitialDelay: 60_000, noDelay: false });
wss.drain({ duration: 0 }).then(({ left }) => left.toFixed());
for (const { client, address, bytesWaiting, seconds } of wss.slowest(3)) {
  if (seconds !== null && seconds > 60 && bytesWaiting > 1) client.close(1013, address ?? '');
}
createServer().on('upgrade', (request: ReplayedRequest, socket, head) => {
  if (request.resumed === true) wss.handleUpgrade(request, socket, head, (ws) => ws.resumed);
});
const options: SendOptions = { binary: true };
const data: BufferLike = new Uint8Array(1);
wss.on('connection', (ws) => {
  if (ws.send(data, options) === false) ws.once('drain', () => ws.send('more'));
  const more = ws.send('text');
  if (!more) ws.off('drain', () => {});
  ws.binaryType = 'blob';
  ws.on('close', () => {
    const cause: CloseCause | null = ws.closeCause;
    if (cause === 'ping-timeout') console.log(wss.metrics().connections.ended[cause]);
  });
  ws.ping((error: Error) => console.log(error));
  ws.ping('data', (error) => console.log(error));
});
const detached = new WebSocket(null, undefined, { maxPayload: 10 });
detached.setSocket(process.stdin as never, Buffer.alloc(0), {});
console.log(extension.parse('a; b'), subprotocol.parse('a, b'), WebSocket.PerMessageDeflate.extensionName);
new WebSocket.Receiver({ isServer: true }).on('message', () => {});

new WebSocketServer({ port: process.env['PORT'] ?? 8080 });
const pems = { key: 'key', cert: [Buffer.alloc(1)], ca: new Uint8Array(1) };
const context: SecureContext = WebSocketServer.createSecureContext({ ...pems, passphrase: 'secret', minVersion: 'TLSv1.3' });
const tlsOptions: TlsOptions = {
  key: [{ pem: 'key', passphrase: 'secret' }, Buffer.alloc(1)],
  cert: pems.cert,
  requestCert: true,
  ALPNProtocols: ['http/1.1'],
  SNICallback: (servername, callback) => callback(null, servername === 'a' ? context : pems),
};
const secure = new WebSocketServer({ port: 0, tls: tlsOptions });
new WebSocketServer({ port: 0, tls: context });
secure.setSecureContext(pems).then(() => secure.addContext('*.example.com', context));
secure.setTicketKeys(secure.getTicketKeys());
secure.on('tlsClientError', (error, socket) => console.log(error.code, socket.remoteAddress, socket.getPeerCertificate(true).subject));
secure.once('secureConnection', (socket) => socket.authorized || socket.destroy());
// @ts-expect-error Only Node has it.
new WebSocketServer({ port: 0, tls: { ...pems, ecdhCurve: 'P-521' } });
new WebSocketServer({ port: '/run/chat.sock' });
new WebSocketServer({ port: { path: '/run/chat.sock', mode: 0o660 } });
new WebSocketServer({ port: { fd: 3 } });
new WebSocketServer({ port: { host: '::1', port: 0 } });
// @ts-expect-error No place.
new WebSocketServer({ port: true });
const sent: boolean = detached.send('a');
new WebSocketServer({ noServer: true, verifyClient: ({ origin, req, secure }) => secure && origin === req.headers.host });
new WebSocketServer({ noServer: true, verifyClient: ({ req }, callback) => callback(req.url === '/', 403, 'No', { a: 'b' }) });
new WebSocketServer({ noServer: true, verifyClient: async ({ req }, callback) => callback(req.url === '/') });

export async function used(): Promise<boolean> {
  await using server = new WebSocketServer({ server: createServer() });
  await once(server, 'listening');
  return sent;
}
