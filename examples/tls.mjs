// TLS, with a certificate that is loaded again on SIGHUP. Open connections go on;
// new ones get the new certificate.
// node tls.mjs <certificate.pem> <key.pem>

import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

import { WebSocketServer } from 'reactor-ws';

const [certificateFile, keyFile] = process.argv.slice(2);
const https = createServer(readCertificate());
const server = new WebSocketServer({ server: https });

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

process.on('SIGHUP', () => {
  try {
    https.setSecureContext(readCertificate());
    console.log('certificate loaded');
  } catch (error) {
    console.log(`the old certificate stays: ${error.message}`);
  }
});

function readCertificate() {
  return { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
}

https.listen(process.env.PORT ?? 8443, () => console.log(`listening on port ${https.address().port}`));
