// An HTTP server of Node: node https.mjs <way> <program>. Ways: `http`, `https`, `listen` (the reactor's port), `listen-tls`.
// Programs: `plain`, `express`, `fastify`, `h2`. Answers GET /<bytes> with that many, and a POST when its body has come.
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { cert, key } from '../../__test__/helpers/certificate.mjs';
import { listen } from '../../lib/index.mjs';
import { rootDir } from '../paths.mjs';
import { listening } from './contract.mjs';

const [way, program] = process.argv.slice(2);
const peers = createRequire(join(rootDir, '__test__/ecosystem/package.json'));
const bodies = new Map();

/** @param {string} url */
function body(url) {
  const bytes = Number(url.slice(1));
  if (!bodies.has(bytes)) bodies.set(bytes, Buffer.alloc(bytes, 'a'));
  return bodies.get(bytes);
}

/** @type {import('node:http').RequestListener} */
function plain(request, response) {
  const answer = () => response.end(body(String(request.url)));
  if (request.method === 'POST') request.resume().once('end', answer);
  else answer();
}

/** @type {Record<string, () => Promise<any>>} The listener, or a function that makes the server of one. */
const programs = {
  plain: async () => plain,
  h2: async () => plain,
  express: async () => {
    const app = peers('express')();
    app.get('/:bytes', (/** @type {any} */ request, /** @type {any} */ response) => response.send(body(request.url)));
    return app;
  },
  fastify: async () => {
    const app = peers('fastify')();
    app.get('/:bytes', (/** @type {any} */ request, /** @type {any} */ reply) => reply.send(body(request.url)));
    await app.ready();
    return app.routing;
  },
};

const listener = await programs[program]();
const isSecure = way === 'https';
const server = createServer();
if (way.startsWith('listen')) {
  const port = listen(server, { port: 0, host: '127.0.0.1', ...(way === 'listen-tls' && { tls: { cert, key } }) }, () => listening(port.address().port));
} else {
  server.listen(0, '127.0.0.1', () => listening(server.address().port));
}

/** @returns {any} */
function createServer() {
  if (program === 'h2') return isSecure ? http2.createSecureServer({ cert, key }, listener) : http2.createServer(listener);
  return isSecure ? https.createServer({ cert, key }, listener) : http.createServer(listener);
}
