// A client that connects again, with a delay that grows and is partly random, so that
// not all clients come back at once.
// node reconnect.mjs ws://localhost:8080

import { WebSocket } from 'reactor-ws';

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 30_000;
/**
 * The server pings every 30 s (pingInterval): without a ping for
 * twice as long the connection is dead.
 */
const SILENCE_MS = 70_000;

connect(process.argv[2] ?? 'ws://localhost:8080', (socket) => {
  socket.send('hello');
  socket.on('message', (data) => console.log(`message: ${data}`));
});

function connect(url, opened, delay = FIRST_DELAY_MS) {
  const socket = new WebSocket(url, { handshakeTimeout: 10_000 });
  let silence;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => socket.terminate(), SILENCE_MS);
  };
  socket.on('open', () => {
    delay = FIRST_DELAY_MS;
    console.log('connected');
    heard();
    opened(socket);
  });
  socket.on('ping', heard);
  socket.on('message', heard);
  socket.on('error', (error) => console.log(`error: ${error.message}`));
  socket.on('close', (code) => {
    clearTimeout(silence);
    // Codes 4000 to 4999 are the application's, such as "your token is not
    // valid": another try would not help.
    if (code >= 4000) return console.log(`closed: ${code}`);
    console.log('connecting again');
    const next = Math.min(delay * 2, LONGEST_DELAY_MS);
    setTimeout(connect, delay * (0.5 + Math.random() / 2), url, opened, next);
  });
}
