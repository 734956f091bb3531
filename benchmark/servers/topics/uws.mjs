// Topics of uWebSockets.js, from the directory that UWS_PATH names (paths.mjs).
import { createRequire } from 'node:module';
import { listening } from '../contract.mjs';
import { LIMIT, remember, wanted, words } from './room.mjs';

if (!process.env.UWS_PATH) throw new Error('UWS_PATH must name the directory of uWebSockets.js');
const uWS = createRequire(import.meta.url)(process.env.UWS_PATH);

const isMemory = words.has('memory');
const app = uWS.App();
app
  .ws('/*', {
    maxPayloadLength: 1 << 20,
    maxBackpressure: words.has('drop') ? LIMIT : 0,
    idleTimeout: 0,
    compression: uWS.DISABLED,
    upgrade: (/** @type {any} */ response, /** @type {any} */ request, /** @type {any} */ context) => {
      const header = (/** @type {string} */ name) => request.getHeader(`sec-websocket-${name}`);
      response.upgrade(wanted(`?${request.getQuery()}`), header('key'), header('protocol'), header('extensions'), context);
    },
    open: (/** @type {any} */ ws) => ws.subscribe(ws.getUserData().room),
    message: (/** @type {any} */ ws, /** @type {ArrayBuffer} */ message, /** @type {boolean} */ isBinary) => {
      if (isMemory) return remember(`${Buffer.from(message)}`, (topic) => ws.subscribe(topic), (answer) => ws.send(answer));
      app.publish(ws.getUserData().room, message, isBinary);
    },
  })
  .listen('127.0.0.1', 0, (/** @type {unknown} */ socket) => {
    if (!socket) throw new Error('cannot listen');
    listening(uWS.us_socket_local_port(socket));
  });
process.on('SIGTERM', () => process.exit(0));
