// A shutdown without a stampede: SIGTERM closes the clients over ten seconds, and refuses new ones.

import { WebSocketServer } from 'reactor-ws';

const { DURATION = 10_000, PORT = 8080 } = process.env;
const wss = new WebSocketServer({ port: PORT, closeTimeout: 5000 }, () => console.log(`port ${wss.address().port}`));

wss.on('connection', (ws) => {
  ws.on('error', console.error);
  ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
});

process.once('SIGTERM', async () => {
  console.log(await wss.drain({ duration: Number(DURATION), signal: AbortSignal.timeout(25_000) }));
  process.exit();
});
