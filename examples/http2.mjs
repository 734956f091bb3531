// Pages and WebSockets over HTTP/2, and over HTTP/1.1 for clients without it, on one port.
// node http2.mjs <certificate.pem> <key.pem>

import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';

import { WebSocketServer } from 'reactor-ws';

const [certificateFile, keyFile] = process.argv.slice(2);
const http2 = createSecureServer(
  {
    cert: readFileSync(certificateFile),
    key: readFileSync(keyFile),
    allowHTTP1: true,
    // Of one connection, which may have as many WebSockets.
    settings: { maxConcurrentStreams: 100 },
  },
  (request, response) => response.end(`hello over HTTP/${request.httpVersion}\n`),
);
const server = new WebSocketServer({ server: http2, path: '/live' });

server.on('connection', (socket, request) => {
  socket.on('error', console.error);
  socket.send(`welcome over HTTP/${request.httpVersion}`);
});

http2.listen(process.env.PORT ?? 8443, () => console.log(`listening on port ${http2.address().port}`));
