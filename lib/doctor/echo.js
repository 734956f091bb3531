'use strict';

const { once } = require('node:events');

/** Milliseconds that the slowest machine needs many times less than. */
const PATIENCE = 10_000;
const MESSAGES = ['hello', Buffer.alloc(100_000, 'x')];

/** @typedef {{ port: number, milliseconds: number }} Echo */
/** @typedef {import('../websocket')} Socket */

/** Two messages to a server on 127.0.0.1 and back. */
async function echo() {
  const signal = AbortSignal.timeout(PATIENCE);
  const started = performance.now();
  try {
    const port = await converse(signal);
    /** @type {Echo} */
    const value = { port, milliseconds: Math.round((performance.now() - started) * 10) / 10 };
    return { value, problems: [], notes: [] };
  } catch (error) {
    const why = signal.aborted ? `there was no answer within ${PATIENCE / 1000} s` : /** @type {Error} */ (error).message;
    /** @type {import('./examine').Finding} */
    const problem = {
      check: 'echo',
      what: `an echo on 127.0.0.1 failed: ${why}`,
      remedy: 'look at what keeps a process from listening on 127.0.0.1 and from connecting to it: a firewall, a sandbox, --permission without --allow-net',
    };
    return { value: null, problems: [problem], notes: [] };
  }
}

/** @type {(signal: AbortSignal) => Promise<number>} The port that was used */
async function converse(signal) {
  const { WebSocket, WebSocketServer } = require('../index');
  /** @type {Socket[]} */
  const sockets = [];
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  try {
    await once(server, 'listening', { signal });
    server.on('connection', (/** @type {Socket} */ socket) => {
      sockets.push(socket);
      socket.on('message', (/** @type {Buffer} */ data, /** @type {boolean} */ isBinary) => socket.send(data, { binary: isBinary }));
    });
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    sockets.push(client);
    await once(client, 'open', { signal });
    for (const message of MESSAGES) {
      client.send(message);
      const [answer] = await once(client, 'message', { signal });
      if (!Buffer.from(message).equals(answer)) throw new Error('the answer is not what was sent');
    }
    client.close();
    await once(client, 'close', { signal });
    return port;
  } finally {
    for (const socket of sockets) socket.terminate();
    server.close();
  }
}

module.exports = { echo };
