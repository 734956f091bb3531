// A new version without a refused connection: SIGHUP starts the program again, which
// takes the listening socket over.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { WebSocketServer } from 'reactor-ws';

const { DURATION = 10_000, LISTEN_FDS, PORT = 8080 } = process.env;
// Descriptor 3 is the first socket of systemd, and here the one of the process before.
const server = new WebSocketServer({ port: LISTEN_FDS ? { fd: 3 } : PORT, closeTimeout: 5000 }, () => {
  console.log(`${process.pid} listens on ${JSON.stringify(server.address())}`);
  process.send?.('listening');
});

server.on('connection', (socket) => {
  socket.on('error', console.error);
  socket.on('message', (data) => socket.send(`${process.pid}: ${data}`));
});

process.once('SIGHUP', replace);
process.once('SIGTERM', leave);

async function replace() {
  const next = spawn(process.execPath, process.argv.slice(1), {
    env: { ...process.env, LISTEN_FDS: '1' },
    stdio: ['ignore', 'inherit', 'inherit', server.descriptor(), 'ipc'],
  });
  const [event] = await Promise.race([once(next, 'message'), once(next, 'exit')]);
  if (event === 'listening') await leave();
  else process.once('SIGHUP', replace);
}

async function leave() {
  await server.drain({ duration: Number(DURATION), handOver: true });
  process.exit();
}
