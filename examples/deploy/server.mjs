// A version of a chat. It gets the port, all clients and the messages from the version before, and no client notices.
// supervisor.mjs, PM2 or systemd starts it.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { WebSocketServer } from 'reactor-ws';

const { HANDOVER, NOTIFY_SOCKET, PORT = 8080, VERSION = '1' } = process.env;

const page = readFileSync(new URL('page.html', import.meta.url));
const http = createServer((request, response) => response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page));
const server = new WebSocketServer({
  // Its own port in PM2's cluster mode, too.
  port: { port: PORT, exclusive: true },
  http,
  handover: HANDOVER,
  topicOptions: () => ({ history: 100 }),
});

server.on('connection', (socket) => {
  // A connection of the version before has its attachment and its topics.
  if (!socket.resumed) {
    socket.attachment = { ticks: 0 };
    socket.subscribe('chat', { since: 'oldest' });
  }
  socket.on('error', console.error);
  socket.on('message', (data) => {
    const text = String(data);
    if (!text.startsWith('#')) return server.publish('chat', JSON.stringify({ text, version: VERSION }));
    const ticks = socket.attachment.ticks + 1;
    socket.attachment = { ticks };
    socket.send(JSON.stringify({ tick: text, ticks, version: VERSION }));
  });
});

server.on('error', (error) => {
  console.error(error);
  process.exit(1);
});

server.on('listening', () => {
  console.log(`version ${VERSION} listens on port ${server.address().port}`);
  // A supervisor or PM2 waits for the message, systemd for READY=1.
  process.send?.('ready');
  if (NOTIFY_SOCKET) execFile('systemd-notify', ['--ready']);
});

// The clients have moved. PM2's channel would keep the process alive; requests under way have a second.
server.on('close', () => setTimeout(() => process.disconnect?.(), 1000).unref());
