// uWebSockets.js, from the directory or addon that UWS_PATH names: it is not on npm.
import { createRequire } from 'node:module';
import { asked, deflate, listening, silence } from './contract.mjs';
import { tasks } from './tasks.mjs';

if (!process.env.UWS_PATH) throw new Error('UWS_PATH must name the directory of uWebSockets.js');
const uWS = createRequire(import.meta.url)(process.env.UWS_PATH);

/** @typedef {{ getUserData(): any, send(message: unknown, isBinary?: boolean, compress?: boolean): void }} Socket */
/** @typedef {import('./tasks.mjs').Peer} Peer */

const open = new Set();
const { task, numbers } = asked;

/** The echo as a program for uWebSockets.js would have it, without the frame of the other tasks. */
const echo = {
  /** @type {(ws: Socket, message: ArrayBuffer, isBinary: boolean) => void} */
  message: (ws, message, isBinary) => ws.send(message, isBinary, deflate),
};

/** The other tasks, with connections of the shape that they expect. */
function others() {
  const serveOne = tasks[task]({ all: () => open, numbers });
  return {
    /** @type {(ws: Socket) => void} */
    open: (ws) => {
      /** @type {Peer} */
      const peer = {
        send: (data, options) => ws.send(data, options ? options.binary : typeof data !== 'string', deflate),
      };
      const data = ws.getUserData();
      data.peer = peer;
      data.take = serveOne(peer);
      open.add(peer);
    },
    /** @type {(ws: Socket, message: ArrayBuffer, isBinary: boolean) => void} */
    message: (ws, message, isBinary) => ws.getUserData().take(Buffer.from(message), isBinary),
    /** @type {(ws: Socket) => void} */
    close: (ws) => open.delete(ws.getUserData().peer),
  };
}

const compression = deflate ? uWS.SHARED_COMPRESSOR | uWS.SHARED_DECOMPRESSOR : uWS.DISABLED;
const idleTimeout = silence / 1000;
const limits = { maxPayloadLength: 100 * 1024 * 1024, maxBackpressure: 0, idleTimeout, compression };
const behavior = ['echo', 'deflate', 'timeouts'].includes(task) ? echo : others();

uWS.App()
  .ws('/*', { ...limits, ...behavior })
  .listen('127.0.0.1', 0, (/** @type {unknown} */ socket) => {
    if (!socket) throw new Error('cannot listen');
    listening(uWS.us_socket_local_port(socket));
  });
process.on('SIGTERM', () => process.exit(0));
