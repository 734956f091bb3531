// uWebSockets.js, from the directory that UWS_PATH names (paths.mjs).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../server-process.mjs';
import { asked, deflate, identity, listening, silence } from './contract.mjs';
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
const behavior = ['echo', 'deflate', 'timeouts', 'tls'].includes(task) ? echo : others();

/** It takes files only. */
function secure() {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-uws-'));
  const files = { key_file_name: join(folder, 'key.pem'), cert_file_name: join(folder, 'cert.pem') };
  writeFileSync(files.key_file_name, identity.key);
  writeFileSync(files.cert_file_name, identity.cert);
  const app = uWS.SSLApp(files);
  rmSync(folder, { recursive: true });
  return app;
}

// Not every version tells the port that it has chosen.
const port = await freePort();
const app = task === 'tls' ? secure() : uWS.App();
app
  .ws('/*', { ...limits, ...behavior })
  .listen('127.0.0.1', port, (/** @type {unknown} */ socket) => {
    if (!socket) throw new Error('cannot listen');
    listening(port);
  });
process.on('SIGTERM', () => process.exit(0));
