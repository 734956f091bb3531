// The contract of every benchmark server: listen on 127.0.0.1, report where,
// do the task, and end on SIGTERM.
//
// The task is on the command line, `echo` without one; tasks.mjs and
// shapes.mjs have the purpose of each.
import { createServer } from 'node:https';

import { cert, key, rsaCert, rsaKey } from '../../__test__/helpers/certificate.mjs';
import { tasks } from './tasks.mjs';

/** Options that the runner wants; JSON. */
const options = JSON.parse(process.env.BENCH_OPTIONS ?? '{}');

const [task = 'echo', ...words] = process.argv.slice(2);

/** Name of the task, and its numbers. */
export const asked = { task, numbers: words.map(Number) };

/** Whether messages are compressed, each by itself. */
export const deflate = process.argv.includes('deflate');

/** Milliseconds of silence that every connection is watched for; 0 = no watch. */
export const silence = task === 'timeouts' ? 30_000 : 0;

/** The certificate of TLS, of ECDSA without a word. */
export const identity = process.argv.includes('rsa') ? { cert: rsaCert, key: rsaKey } : { cert, key };

/**
 * Reports to the runner, which reads the first line of standard output, that the server listens.
 *
 * @param {number} port
 */
export function listening(port) {
  console.log(JSON.stringify({ port, pid: process.pid }));
}

/**
 * The program of the servers with the API of ws; only the import and
 * the source of connections differ.
 *
 * @param {new (options: any) => import('node:events').EventEmitter & { address(): any, clients?: Set<any> }} WebSocketServer
 * @param {{ http?: import('node:http').Server, own?: Record<string, unknown> }} [differences]
 *   `http`: the server whose upgrades it takes, its own port without it; `own`: options that ws
 *   does not have
 */
export function serve(WebSocketServer, { http, own } = {}) {
  const alone = { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0 };
  const needsTls = task === 'tls' && own?.tls === undefined;
  const behind = http ?? (needsTls ? createServer(identity).listen(0, '127.0.0.1') : undefined);
  const wayIn = behind ? { server: behind } : { host: '127.0.0.1', port: 0 };
  const server = new WebSocketServer({ perMessageDeflate: deflate && alone, ...wayIn, ...own, ...options });
  server.on('listening', () => {
    listening(server.address().port);
  });
  const perform = tasks[asked.task];
  if (!perform) throw new Error(`no task ${asked.task}`);
  const serveOne = perform({ all: () => server.clients ?? [], numbers: asked.numbers });
  server.on('connection', (ws) => ws.on('message', serveOne(ws)));
  // For those who fork it.
  if (process.send) process.on('message', () => process.send?.(server.metrics?.()));
  process.on('SIGTERM', () => process.exit(0));
}
