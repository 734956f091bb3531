// A server of very many connections: pings those that are silent for 30 s, and on a word of one of them sends a message to all,
// or closes all. Arguments: reactor, ws or uws; the bytes of the message.
import { createRequire } from 'node:module';
import { freePort } from '../server-process.mjs';
import { listening } from './contract.mjs';

const SILENCE = 30_000;
const [kind, length] = process.argv.slice(2);
const message = 'x'.repeat(Number(length));

const servers = {
  async reactor() {
    const { WebSocketServer } = await import('../../lib/index.mjs');
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, pingInterval: SILENCE });
    serve(server, () => server.broadcast(message));
  },
  async ws() {
    const { WebSocketServer } = await import('ws');
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    server.on('connection', (ws) => {
      ws.isAlive = true;
      ws.on('pong', () => (ws.isAlive = true));
    });
    // As its documentation has it.
    setInterval(() => {
      for (const ws of server.clients) {
        if (!ws.isAlive) ws.terminate();
        ws.isAlive = false;
        ws.ping();
      }
    }, SILENCE);
    serve(server, () => {
      for (const ws of server.clients) ws.send(message);
    });
  },
  async uws() {
    const uWS = createRequire(import.meta.url)(process.env.UWS_PATH);
    const open = new Set();
    const app = uWS.App();
    const port = await freePort();
    app.ws('/*', {
      idleTimeout: (2 * SILENCE) / 1000,
      sendPingsAutomatically: true,
      open(ws) {
        open.add(ws);
        ws.subscribe('all');
      },
      close: (ws) => open.delete(ws),
      message(_, data) {
        if (Buffer.from(data).toString() === 'publish') app.publish('all', message);
        else for (const ws of open) ws.end(1001);
      },
    });
    app.listen('127.0.0.1', port, () => listening(port));
  },
};

/** @param {import('ws').WebSocketServer} server @param {() => void} publish */
function serve(server, publish) {
  server.on('connection', (ws) => {
    ws.on('message', (data) => {
      if (data.toString() === 'publish') publish();
      else for (const client of server.clients) client.close(1001);
    });
  });
  server.on('listening', () => listening(server.address().port));
}

process.on('SIGTERM', () => process.exit(0));
await servers[kind]();
