// The constructor of WebSocketServer: defaults, refused options, and fields.
import { EventEmitter, once } from 'node:events';
import http from 'node:http';

import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('options');
export default s;

/** The visible options, without those that are objects of this process. */
const shown = ({ server, WebSocket, ...rest }) => ({ ...rest, server: typeof server, WebSocket: typeof WebSocket });

s.all('the defaults in server.options', async (c) => {
  const { wss } = await c.listen();
  const { port, ...rest } = shown(wss.options);
  c.log('options', rest, typeof port, Object.keys(wss.options).length);
});

s.all('given options in server.options', async (c) => {
  const { wss } = await c.listen({ maxPayload: 5, foo: 'bar', path: '/x', perMessageDeflate: true, autoPong: undefined });
  const { port, ...rest } = shown(wss.options);
  c.log('options', rest, typeof port);
});

s.once('given options are not changed, and not kept', async (c) => {
  const given = { noServer: true, perMessageDeflate: true };
  const wss = new c.WebSocketServer(given);
  c.log('options', given, wss.options === given);
});

s.once('exactly one of port, server and noServer', (c) => {
  const server = http.createServer();
  const cases = [
    undefined, {}, { port: undefined }, { port: null }, { noServer: false }, { server: null },
    { port: 0, server }, { port: 0, noServer: true }, { server, noServer: true }, { port: 0, server, noServer: true },
  ];
  for (const options of cases) c.log('thrown', outcome(() => {
    new c.WebSocketServer(options);
    return 'made';
  }));
});

s.once('ports that are none', (c) => {
  for (const port of [-1, 65536, 1.5, NaN, '', ' ', {}, [], true, false]) {
    c.log('thrown', outcome(() => {
      new c.WebSocketServer({ port, host: '127.0.0.1' });
      return 'made';
    }));
  }
});

s.once('a port in text', async (c) => {
  const { port, http: none } = await c.listen();
  c.log('server', none, typeof port);
  const wss = new c.WebSocketServer({ port: '0', host: '127.0.0.1' });
  c.teardown(() => wss.close());
  await once(wss, 'listening');
  c.log('server', typeof wss.address().port, wss.address().port > 0);
});

s.once('a port that is taken', async (c) => {
  const { port } = await c.listen();
  const wss = new c.WebSocketServer({ port, host: '127.0.0.1' }, () => c.log('server', 'listening'));
  const [error] = await once(wss, 'error');
  c.log('server', error, error.errno, error.syscall, error.address, error.port, Object.keys(error));
  await new Promise((resolve) => {
    wss.close((...args) => {
      c.log('server', 'closed', ...args);
      resolve();
    });
  });
});

s.once('a host that does not exist', async (c) => {
  // No server is asked for a name with an empty label: the answer is always the same, and at once.
  const wss = new c.WebSocketServer({ port: 0, host: 'no..host' });
  const [error] = await once(wss, 'error');
  c.log('server', error, error.syscall, error.hostname);
});

s.once('an address that is not here', async (c) => {
  const wss = new c.WebSocketServer({ port: 0, host: '192.0.2.1' });
  const [error] = await once(wss, 'error');
  c.log('server', error, error.syscall, error.address, Object.keys(error));
});

s.once('hosts: a name, IPv6, none', async (c) => {
  for (const host of ['localhost', '::1', undefined, null, '0.0.0.0']) {
    const wss = new c.WebSocketServer({ port: 0, host });
    await once(wss, 'listening');
    const { port, ...rest } = wss.address();
    c.log('server', typeof port, rest, Object.keys(wss.address()));
    wss.close();
    await once(wss, 'close');
  }
});

s.once('listening: the callback, the event, and when', async (c) => {
  const wss = new c.WebSocketServer({ port: 0, host: '127.0.0.1' }, (...args) => c.log('server', 'callback', ...args));
  c.teardown(() => wss.close());
  c.log('server', 'address before', wss.address());
  wss.on('listening', (...args) => c.log('server', 'event', ...args));
  await once(wss, 'listening');
  c.log('server', wss.listenerCount('listening'));
});

s.once('the callback is for port only', async (c) => {
  const server = await c.httpServer();
  for (const options of [{ noServer: true }, { server }]) {
    const wss = new c.WebSocketServer(options, () => c.log('server', 'callback'));
    c.log('server', wss.listenerCount('listening'));
    wss.close();
    await once(wss, 'close');
  }
});

s.once('the listeners on an external server', async (c) => {
  const server = http.createServer();
  const counts = () => ['listening', 'error', 'upgrade', 'close', 'connection'].map((name) => server.listenerCount(name));
  const before = counts();
  const wss = new c.WebSocketServer({ server });
  c.log('server', counts().map((count, i) => count - before[i]), wss._server === server);
  for (const event of ['listening', 'error']) wss.on(event, (...args) => c.log('server', event, ...args));
  server.emit('listening');
  server.emit('error', new Error('forwarded'));
  wss.close();
  c.log('server', counts().map((count, i) => count - before[i]), wss._server);
});

s.once('a server that is any emitter', (c) => {
  const server = new EventEmitter();
  const wss = new c.WebSocketServer({ server });
  c.log('server', outcome(() => wss.address()));
  wss.close();
  c.log('server', server.eventNames());
});

s.all('address()', async (c) => {
  const { wss } = await c.listen();
  c.log('server', outcome(() => wss.address()));
  wss.close();
  c.log('server', outcome(() => wss.address()));
  await once(wss, 'close');
  c.log('server', outcome(() => wss.address()));
});

s.all('_server and _state', async (c) => {
  const { wss } = await c.listen();
  c.log('server', typeof wss._server, wss._state);
  wss.close();
  c.log('server', wss._server, wss._state);
  await once(wss, 'close');
  c.log('server', wss._state);
});

s.once('_server stands for the listener', async (c) => {
  const wss = new c.WebSocketServer({ port: 0, host: '127.0.0.1' });
  const { _server: listener } = wss;
  for (const [name, one] of Object.entries({ listener, wss })) {
    for (const event of ['listening', 'close']) one.on(event, () => c.log('server', name, event));
  }
  await once(wss, 'listening');
  const own = wss.address();
  c.log('server', listener.address().port === own.port, listener.listening, listener.unref() === listener, listener.unref().ref() === listener);
  wss.close();
  await once(wss, 'close');
  c.log('server', listener.listening, listener.address());
});

s.over('port')('_server is an HTTP server that can be asked', async (c) => {
  const { wss } = await c.listen();
  c.log('server', wss._server instanceof http.Server, wss._server?.listening, wss._server?.address());
});

s.all('clientTracking', async (c) => {
  const { wss, ws, peer, closed } = await c.open({ clientTracking: true });
  c.log('clients', wss.clients instanceof Set, wss.clients.size, wss.clients.has(ws));
  ws.on('close', () => c.log('clients', 'in close', wss.clients.size));
  peer.end();
  await closed;
});

s.all('clientTracking: the Set when connection is emitted', (c) =>
  c.session({}, ({ peer }) => peer.end(), {
    onConnection: (ws) => c.log('clients', 'in connection', ws.readyState, ws._socket !== null),
  }),
);

s.all('clientTracking false', async (c) => {
  const { wss, peer, closed } = await c.open({ clientTracking: false });
  c.log('clients', wss.clients, 'clients' in wss);
  peer.end();
  await closed;
});

s.all('options that are changed count for the next connection', async (c) => {
  const { frame } = await import('../../helpers/clients.mjs');
  const listening = await c.listen();
  for (const maxPayload of [2, 3]) {
    listening.wss.options.maxPayload = maxPayload;
    const { peer, closed } = await c.join(listening);
    await peer.send(Buffer.concat([frame(1, 'abc'), frame(8)]));
    await Promise.all([closed, peer.closed()]);
  }
});
