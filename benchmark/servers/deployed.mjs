// One version of the server of deploys.mjs: `node deployed.mjs <port> <path>`; `fd`: the socket is the descriptor 3. Each message begins with its number, and a topic has one publisher.
import { WebSocketServer } from '../../lib/index.mjs';

const [, , port, handover] = process.argv;
const ANSWER = Buffer.alloc(256 * 1024, ' ');
/** Milliseconds between pauses. */
const PAUSE = 500;

const wss = new WebSocketServer({ ...(port === 'fd' ? { port: { fd: 3 } } : { host: '127.0.0.1', port: Number(port) }), handover, topicOptions: () => ({ history: 100 }) });
const loaded = process.cpuUsage();
/** @type {NodeJS.CpuUsage} */
let giving;
wss.on('error', fail);
wss.on('listening', () => say({ listening: true, handover: wss.metrics().handover, cpu: total(process.cpuUsage(loaded)) }));
wss.on('handover', () => {
  giving = process.cpuUsage();
});
wss.on('close', () => say({ gave: true, cpu: total(process.cpuUsage(giving)) }));
wss.on('connection', (socket, { url }) => {
  const [, kind, topic] = url.split('/');
  if (kind === 'topic' && !socket.resumed) socket.subscribe(topic);
  if (kind === 'paused') toggleOften(socket);
  let count = socket.attachment ?? 0;
  socket.on('close', (code) => code === 1000 || fail(new Error(`${url} has closed with ${code}`)));
  socket.on('message', (data) => {
    socket.attachment = ++count;
    const number = Number.parseInt(data.toString('latin1', 0, 20), 10);
    if (number !== count) fail(new Error(`${url}: ${number} came as the message ${count}`));
    if (kind === 'topic') wss.publish(topic, String(data));
    else if (kind === 'queued') socket.send(Buffer.concat([data, ANSWER]), { binary: false });
    else socket.send(data, { binary: false });
  });
});

/** @param {import('../../index.js').WebSocket} socket */
function toggleOften(socket) {
  const timer = setInterval(() => (socket.isPaused ? socket.resume() : socket.pause()), PAUSE * (0.5 + Math.random()));
  for (const event of ['close', 'handover']) socket.on(event, () => clearInterval(timer));
}

/** In milliseconds. @param {NodeJS.CpuUsage} usage */
function total({ system, user }) {
  return (system + user) / 1000;
}

/** @param {Error} error */
function fail(error) {
  say({ error: String(error.message) });
}

/** @param {unknown} what */
function say(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}
