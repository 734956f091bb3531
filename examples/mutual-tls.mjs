// Clients with certificates: whoever has one of the authority gets in, under the name in it.
// node mutual-tls.mjs <certificate.pem> <key.pem> <authority.pem>

import { readFileSync } from 'node:fs';

import { WebSocketServer } from 'reactor-ws';

const [cert, key, ca] = process.argv.slice(2).map((file) => readFileSync(file));
const server = new WebSocketServer({ port: process.env.PORT ?? 8443, tls: { cert, key, ca, requestCert: true } });

server.on('connection', (socket, { socket: connection }) => {
  const { subject } = connection.getPeerCertificate();
  socket.on('error', console.error);
  socket.on('message', (data) => socket.send(`${subject.CN}: ${data}`));
});
server.on('listening', () => console.log(`listening on port ${server.address().port}`));
