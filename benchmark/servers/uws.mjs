// uWebSockets.js, from the directory or addon that UWS_PATH names: it is not on npm.
import { createRequire } from 'node:module';
import { counter, deflate, ingest, listening } from './contract.mjs';

if (!process.env.UWS_PATH) throw new Error('UWS_PATH must name the directory of uWebSockets.js');
const uWS = createRequire(import.meta.url)(process.env.UWS_PATH);

/** @typedef {{ getUserData(): any, send(message: ArrayBuffer | string, isBinary?: boolean, compress?: boolean): void }} Socket */

const echo = {
  /** @type {(ws: Socket, message: ArrayBuffer, isBinary: boolean) => void} */
  message: (ws, message, isBinary) => ws.send(message, isBinary, deflate),
};
const count = {
  /** @type {(ws: Socket) => void} */
  open: (ws) => {
    ws.getUserData().count = counter();
  },
  /** @type {(ws: Socket, message: ArrayBuffer) => void} */
  message: (ws, message) => {
    const answer = ws.getUserData().count(Buffer.from(message));
    if (answer !== undefined) ws.send(answer);
  },
};
const compression = deflate ? uWS.SHARED_COMPRESSOR | uWS.SHARED_DECOMPRESSOR : uWS.DISABLED;
const limits = { maxPayloadLength: 100 * 1024 * 1024, maxBackpressure: 0, idleTimeout: 0, compression };

uWS.App()
  .ws('/*', { ...limits, ...(ingest ? count : echo) })
  .listen('127.0.0.1', 0, (/** @type {unknown} */ socket) => {
    if (!socket) throw new Error('cannot listen');
    listening(uWS.us_socket_local_port(socket));
  });
process.on('SIGTERM', () => process.exit(0));
