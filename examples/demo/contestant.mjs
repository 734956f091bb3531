// One of the two servers that the demo compares, in a process of its own:
// node contestant.mjs reactor-ws|ws
//
// The server echoes. The demo asks it to block its JavaScript, and gets a
// report on that thread once a second.

import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

const RESOLUTION_MS = 10;
const [name] = process.argv.slice(2);
const { WebSocketServer } = await import(name === 'ws' ? 'ws' : 'reactor-ws');
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let received = 0;
let turns = 0;
let turnIsOpen = false;
let utilization = performance.eventLoopUtilization();

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, maxPayload: 1024 });
server.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (data, isBinary) => {
    count();
    socket.send(data, { binary: isBinary });
  });
});
server.on('listening', () => {
  process.send({ port: server.address().port });
  delay.enable();
  setInterval(report, 1000);
});

process.on('disconnect', () => process.exit());
process.on('message', ({ block }) => {
  const end = performance.now() + block;
  while (performance.now() < end);
  if (process.connected) process.send({ isBlocked: false });
});

/** Counts a message. Messages that come before the event loop turns were delivered together. */
function count() {
  received += 1;
  if (turnIsOpen) return;
  turnIsOpen = true;
  turns += 1;
  setImmediate(() => (turnIsOpen = false));
}

function report() {
  if (!process.connected) return;
  const now = performance.eventLoopUtilization();
  process.send({
    figures: {
      perTurn: turns === 0 ? 0 : received / turns,
      // The histogram has the time between two timers, of which the time
      // that they were set to is no delay.
      delayMax: Math.max(0, delay.max / 1e6 - RESOLUTION_MS),
      busy: performance.eventLoopUtilization(now, utilization).utilization * 100,
    },
  });
  utilization = now;
  received = turns = 0;
  delay.reset();
}
