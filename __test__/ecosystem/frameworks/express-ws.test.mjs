// express-ws requires 'ws' itself, in version 7: it gets reactor-ws by an override. Text comes as a Buffer, as from ws 8.
import assert from 'node:assert/strict';
import test from 'node:test';

import express from 'express';
import expressWs from 'express-ws';

import { ask, open } from '../helpers/clients.mjs';
import { assertOnReactor, assertOurs } from '../helpers/on-reactor.mjs';

test('express-ws: a route with middleware, parameters and another route', async (t) => {
  const { app, getWss } = expressWs(express());
  app.use((request, _response, next) => {
    request.name = request.query.name;
    next();
  });
  app.get('/page', (_request, response) => response.send('page'));
  app.ws('/rooms/:room', (ws, request) => {
    ws.on('message', (data) => ws.send(`${request.name} in ${request.params.room}: ${data}`));
  });
  assertOurs(getWss());
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `127.0.0.1:${server.address().port}`;
  assert.equal(await (await fetch(`http://${origin}/page`)).text(), 'page');
  const client = await open(t, `ws://${origin}/rooms/one?name=ada`);
  assert.equal(await ask(client, 'hello'), 'ada in one: hello');
  await assertOnReactor(1);
});
