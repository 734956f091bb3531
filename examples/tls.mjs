// TLS on the reactors, with a certificate that is loaded again on SIGHUP. Open connections
// go on; new ones get the new certificate.
// node tls.mjs <certificate.pem> <key.pem>

import { readFileSync } from 'node:fs';

import { WebSocketServer } from 'reactor-ws';

const [certificateFile, keyFile] = process.argv.slice(2);
const server = new WebSocketServer({ port: process.env.PORT ?? 8443, tls: readCertificate() });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});
server.on('tlsClientError', (error, { remoteAddress }) => console.error(`${remoteAddress}: ${error.code}`));
server.on('listening', () => console.log(`listening on port ${server.address().port}`));

process.on('SIGHUP', async () => {
  try {
    await server.setSecureContext(readCertificate());
    console.log('certificate loaded');
  } catch (error) {
    console.log(`the old certificate stays: ${error.message}`);
  }
});

function readCertificate() {
  return { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
}
