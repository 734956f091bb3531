// Events of servers and clients on node:diagnostics_channel.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';

import { ALL_WAYS as WAYS, RawClient, catchUncaught, connect, allWays as everyWay, implementation, openBy, ownSerial, upgradeRequest } from '../helpers/index.mjs';

const { WebSocket } = implementation;
// The process has one set of channels.

const EVENTS = ['open', 'close', 'error', 'refused'];
const messages = tracingChannel('reactor-ws:message');

/** The messages that are published until the end of the test, as `[name, message]`. */
function watch(t) {
  const seen = [];
  const listen = (name, on, off) => {
    const listener = (message) => seen.push([name, message]);
    on(listener);
    t.teardown(() => off(listener));
  };
  for (const name of EVENTS) {
    const whole = `reactor-ws:${name}`;
    listen(name, (listener) => subscribe(whole, listener), (listener) => unsubscribe(whole, listener));
  }
  for (const name of ['start', 'end', 'error']) {
    const one = messages[name];
    listen(`message ${name}`, (listener) => one.subscribe(listener), (listener) => one.unsubscribe(listener));
  }
  return seen;
}

everyWay(ownSerial, 'open, messages and close are published with the ws and its request', async (t, start) => {
  const seen = watch(t);
  const server = await start(t);
  const connected = once(server, 'connection');
  server.once('connection', () => seen.push(["'connection'"]));
  const { client } = await connect(t, server);
  const [ws, request] = await connected;
  ws.on('message', (data) => seen.push([`'message' ${data}`]));
  client.send('text');
  client.send(Buffer.from('bytes'));
  client.close(1000, 'enough');
  await once(ws, 'close');
  const ours = seen.filter(([, message]) => message === undefined || message.ws === ws);
  const around = ['message start', 'message end'];
  t.deepEqual(
    ours.map(([name]) => name),
    ['open', "'connection'", around[0], "'message' text", around[1], around[0], "'message' bytes", around[1], 'close'],
  );
  for (const [, message] of ours) if (message !== undefined) t.is(message.request, request);
  const [first, second] = ours.filter(([name]) => name === 'message start').map(([, message]) => message);
  t.deepEqual([String(first.data), first.isBinary], ['text', false]);
  t.deepEqual([String(second.data), second.isBinary], ['bytes', true]);
  t.like(ours.at(-1)[1], { code: 1000 });
  t.is(String(ours.at(-1)[1].reason), 'enough');
});

everyWay(ownSerial, 'what breaks the protocol, and what a handler throws', async (t, start) => {
  const seen = watch(t);
  const { client, ws } = await openBy(start, t);
  ws.removeAllListeners('error');
  ws.on('error', (error) => seen.push(["'error'", { ws, error }]));
  const failure = new Error('thrown on purpose');
  ws.on('message', () => {
    throw failure;
  });
  const thrown = catchUncaught(t);
  client.send('x');
  await once(process, 'uncaughtException');
  t.deepEqual(thrown, [failure]);
  client._socket.write(Buffer.from([0x83, 0x80, 0, 0, 0, 0]));
  await new Promise((resolve) => ws.once('close', resolve));
  const ours = seen.filter(([, message]) => message.ws === ws);
  t.deepEqual(ours.map(([name]) => name), ['open', 'message start', 'message error', 'message end', 'error', "'error'", 'close']);
  t.is(ours[2][1].error, failure);
  t.is(ours[4][1].error, ours[5][1].error);
  t.is(ours[4][1].error.code, 'WS_ERR_INVALID_OPCODE');
});

everyWay(ownSerial, 'refusals, with the same answers as nobody looks at', async (t, start) => {
  const wrong = [{ 'Sec-WebSocket-Key': 'short' }, { 'Sec-WebSocket-Version': '7' }, { line: 'GET /elsewhere HTTP/1.1' }, { Upgrade: 'h2c' }];
  const options = { path: '/here' };
  const answers = async (server) => {
    const all = [];
    for (const fields of wrong) {
      const raw = await RawClient.connect(t, (server.address() ?? server._server.address()).port);
      await raw.send(upgradeRequest({ line: 'GET /here HTTP/1.1', ...fields }));
      all.push(await raw.closed());
    }
    return all;
  };
  const before = await answers(await start(t, options));
  const seen = watch(t);
  const server = await start(t, options);
  t.deepEqual(await answers(server), before);
  const refused = seen.filter(([name]) => name === 'refused').map(([, message]) => message);
  t.deepEqual(refused.map(({ status }) => status), [400, 400, 400, 400]);
  t.true(refused.every((message) => message.server === server && message.request.headers.host === 'example.com'));
});

everyWay(ownSerial, 'a connection that is open already is seen from then on, and handlers have what a store is bound to', async (t, start) => {
  const { client, ws } = await openBy(start, t);
  const store = new AsyncLocalStorage();
  const answers = [];
  ws.on('message', () => answers.push(store.getStore()));
  const next = async () => {
    client.send('x');
    await once(ws, 'message');
  };
  await next();
  messages.start.bindStore(store, ({ request, isBinary }) => ({ request, isBinary }));
  t.teardown(() => messages.start.unbindStore(store));
  await next();
  messages.start.unbindStore(store);
  await next();
  t.deepEqual(answers, [undefined, { request: null, isBinary: false }, undefined]);
});

ownSerial('clients are seen without a request', async (t) => {
  const server = await WAYS.port(t);
  const seen = watch(t);
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
  const [ws] = await once(server, 'connection');
  ws.send('to the client');
  await once(client, 'message');
  client.close();
  await once(client, 'close');
  const ours = seen.filter(([, message]) => message.ws === client);
  t.deepEqual(ours.map(([name]) => name), ['open', 'message start', 'message end', 'close']);
  t.true(ours.every(([, { request }]) => request === null));
});
