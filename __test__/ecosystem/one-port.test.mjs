// Frameworks behind listen(): with a WebSocketServer of ours, with their own way to WebSockets, and with the engine of socket.io. Each is served by one line, with TLS and without. (next/
// does that with a custom server of Next.js.)
import 'reflect-metadata';

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { createServer } from 'node:http';
import https from 'node:https';
import test from 'node:test';

import fastifyWebSocket from '@fastify/websocket';
import { createAdaptorServer, upgradeWebSocket } from '@hono/node-server';
import { Controller, Get, HttpCode, Module, Post, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { WebSocketServer, listen } from 'reactor-ws';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';

import { cert, key } from '../helpers/certificate.mjs';
import { ask, open } from './helpers/clients.mjs';
import { assertOnReactor } from './helpers/on-reactor.mjs';

const MEGABYTE = 1 << 20;
const upload = Buffer.alloc(3 * MEGABYTE, 'upload');
const AGENTS = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true, ca: cert }) };

/** The status and the content of an answer in JSON. */
async function call(url, { body, ...options } = {}) {
  const scheme = url.slice(0, url.indexOf(':'));
  const request = { http, https }[scheme].request(url, { agent: AGENTS[scheme], ...options });
  request.end(body);
  const [response] = await once(request, 'response');
  const text = Buffer.concat(await response.toArray()).toString();
  return [response.statusCode, response.statusCode === 200 ? JSON.parse(text) : undefined];
}

/** By name: the HTTP server of an application with GET /hello and POST /size. */
const APPLICATIONS = {
  express: () => {
    const app = express();
    app.get('/hello', (request, response) => response.json({ hello: request.query.name, secure: request.secure, ip: request.ip }));
    app.post('/size', express.raw({ limit: 8 * MEGABYTE, type: () => true }), (request, response) => response.json(request.body.length));
    return createServer(app);
  },
  fastify: async () => {
    const app = fastify({ bodyLimit: 8 * MEGABYTE });
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => done(null, body));
    app.get('/hello', (request) => ({ hello: request.query.name, secure: request.protocol === 'https', ip: request.ip }));
    app.post('/size', (request) => request.body.length);
    await app.ready();
    return app.server;
  },
  hono: () => {
    const app = new Hono();
    app.get('/hello', (context) => {
      const { socket } = context.env.incoming;
      return context.json({ hello: context.req.query('name'), secure: socket.encrypted === true, ip: socket.remoteAddress });
    });
    app.post('/size', async (context) => context.json((await context.req.arrayBuffer()).byteLength));
    return createAdaptorServer({ fetch: app.fetch });
  },
  koa: () => {
    const app = new Koa();
    app.use(async (context) => {
      if (context.path === '/hello') context.body = { hello: context.query.name, secure: context.secure, ip: context.ip };
      if (context.path === '/size') context.body = String(Buffer.concat(await context.req.toArray()).length);
    });
    return createServer(app.callback());
  },
  nestjs: () => {
    class Pages {
      hello(request) {
        return { hello: request.query.name, secure: request.secure, ip: request.ip };
      }

      async size(request) {
        return String(Buffer.concat(await request.toArray()).length);
      }
    }
    Controller()(Pages);
    decorate(Pages, 'hello', Get('hello'));
    decorate(Pages, 'size', Post('size'), HttpCode(200));
    for (const name of ['hello', 'size']) Req()(Pages.prototype, name, 0);
    return nest({ controllers: [Pages] });
  },
};

/** By name: the HTTP server of an application that answers WebSockets of /live in the framework's way, and a message that it echoes. */
const OWN_WAYS = {
  hono: [
    () => {
      const app = new Hono();
      app.get('/live', upgradeWebSocket(() => ({ onMessage: ({ data }, ws) => ws.send(data) })));
      return createAdaptorServer({ fetch: app.fetch, websocket: { server: new WebSocketServer({ noServer: true }) } });
    },
    'hello',
  ],
  '@fastify/websocket': [
    async () => {
      const app = fastify();
      await app.register(fastifyWebSocket);
      await app.register(async (routes) => routes.get('/live', { websocket: true }, (ws) => ws.on('message', (data) => ws.send(String(data)))));
      await app.ready();
      return app.server;
    },
    'hello',
  ],
  'NestJS, platform-ws': [
    () => {
      class Gateway {
        echo(_client, data) {
          return { event: 'echo', data };
        }
      }
      decorate(Gateway, 'echo', SubscribeMessage('echo'));
      WebSocketGateway({ path: '/live' })(Gateway);
      return nest({ providers: [Gateway] });
    },
    '{"event":"echo","data":[1,"ü"]}',
  ],
};

/** The work of TypeScript's decorators. */
function decorate({ prototype }, name, ...decorators) {
  for (const one of decorators) one(prototype, name, Object.getOwnPropertyDescriptor(prototype, name));
}

async function nest(module) {
  class Application {}
  Module(module)(Application);
  const app = await NestFactory.create(Application, { logger: false, bodyParser: false });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.init();
  return app.getHttpServer();
}

function close(t, server, listener) {
  t.after(() => {
    listener.close();
    server.closeAllConnections();
  });
}

for (const [scheme, tls] of [['http', undefined], ['https', { key, cert }]]) {
  for (const [name, make] of Object.entries(APPLICATIONS)) {
    test(`${name}, ${scheme}: pages, an upload and WebSockets of one port`, async (t) => {
      const server = await make();
      const wss = new WebSocketServer({ server, path: '/live' });
      const listener = listen(server, { port: 0, host: '127.0.0.1', tls });
      close(t, server, listener);
      await once(listener, 'listening');
      const { port } = listener.address();
      assert.equal(wss.metrics().handshakes.byJavaScript, null);
      wss.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
      const base = `${scheme}://localhost:${port}`;
      for (let count = 0; count < 5; count++) {
        assert.deepEqual(await call(`${base}/hello?name=you`), [200, { hello: 'you', secure: scheme === 'https', ip: '127.0.0.1' }]);
      }
      const headers = { 'content-type': 'application/octet-stream' };
      assert.deepEqual(await call(`${base}/size`, { method: 'POST', body: upload, headers }), [200, upload.length]);
      assert.equal((await call(`${base}/nothing`))[0], 404);
      const client = await open(t, `${scheme.replace('http', 'ws')}://localhost:${port}/live`, [], { ca: cert });
      const bytes = Buffer.alloc(MEGABYTE, 'bytes');
      assert.deepEqual(await ask(client, bytes), bytes);
      await assertOnReactor(1);
      client.close();
      await once(client, 'close');
    });
  }

  for (const [name, [make, message]] of Object.entries(OWN_WAYS)) {
    test(`${name}, ${scheme}: WebSockets in its own way`, async (t) => {
      const server = await make();
      const listener = listen(server, { port: 0, host: '127.0.0.1', tls });
      close(t, server, listener);
      await once(listener, 'listening');
      const origin = `localhost:${listener.address().port}`;
      const client = await open(t, `${scheme.replace('http', 'ws')}://${origin}/live`, [], { ca: cert });
      assert.equal(await ask(client, message), message);
      await assertOnReactor(1);
      assert.equal((await call(`${scheme}://${origin}/nothing`))[0], 404);
      client.close();
      await once(client, 'close');
    });
  }

  test(`socket.io, ${scheme}: polling and websocket over listen()`, async (t) => {
    const pages = createServer();
    const server = new Server(pages, { wsEngine: WebSocketServer, maxHttpBufferSize: 4 * MEGABYTE });
    server.on('connection', (socket) => socket.on('echo', (data, answer) => answer(data)));
    const listener = listen(pages, { port: 0, host: '127.0.0.1', tls });
    close(t, pages, listener);
    t.after(() => server.close());
    await once(listener, 'listening');
    const url = `${scheme}://localhost:${listener.address().port}`;
    for (const transports of [['polling', 'websocket'], ['websocket'], ['polling']]) {
      const client = io(url, { forceNew: true, reconnection: false, transports, ca: cert });
      t.after(() => client.close());
      await once(client, 'connect');
      if (transports.length === 2 && client.io.engine.transport.name !== 'websocket') await once(client.io.engine, 'upgrade');
      const bytes = Buffer.alloc(MEGABYTE, 'bytes');
      assert.deepEqual(await client.emitWithAck('echo', bytes), bytes);
      if (transports.includes('websocket')) await assertOnReactor(1);
      const gone = once([...server.sockets.sockets.values()][0], 'disconnect');
      client.close();
      await gone;
      if (transports.includes('websocket')) await assertOnReactor(0);
    }
  });
}
