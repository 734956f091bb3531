// close() of a server, in all its states, and handleUpgrade() by hand.
import { once } from 'node:events';
import net from 'node:net';

import { frame } from '../../helpers/clients.mjs';
import { OWN_HOST } from '../../helpers/own-host.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('server closing');
export default s;

s.all('without clients: the callback, the event, their order', async (c) => {
  const { wss } = await c.listen();
  wss.on('close', (...args) => c.log('server', 'close', ...args));
  c.log('server', 'returns', wss.close((...args) => c.log('server', 'callback', ...args)));
  c.log('server', 'not yet');
  await once(wss, 'close');
});

s.all('clients stay open, and close comes behind the last of them', async (c) => {
  const { wss, ws, peer, closed } = await c.open();
  wss.on('close', () => c.log('server', 'server closed'));
  const done = once(wss, 'close');
  wss.close();
  peer.send(frame(1, 'still'));
  const [data] = await once(ws, 'message');
  ws.send(data);
  await peer.frames(1);
  c.log('peer', 'got the echo');
  peer.send(frame(8));
  await Promise.all([closed, peer.closed(), done]);
  c.log('server', wss.clients.size);
});

s.all('close() twice: both callbacks', async (c) => {
  const { wss } = await c.listen();
  wss.close((...args) => c.log('server', 'first', ...args));
  wss.close((...args) => c.log('server', 'second', ...args));
  wss.close();
  await once(wss, 'close');
});

s.all('close() once it is closed', async (c) => {
  const { wss } = await c.listen();
  wss.close();
  await once(wss, 'close');
  wss.on('close', () => c.log('server', 'close again'));
  await new Promise((resolve) => {
    wss.close((...args) => {
      c.log('server', 'callback', ...args);
      resolve();
    });
    c.log('server', 'not yet');
  });
});

// J07.
s.all('clients that are terminated in the loop of a shutdown', async (c) => {
  const listening = await c.listen();
  const first = await c.join(listening, { lane: 'first', peerLane: 'peer one' });
  const second = await c.join(listening, { lane: 'second', peerLane: 'peer two' });
  const done = once(listening.wss, 'close');
  listening.wss.close();
  for (const ws of listening.wss.clients) ws.terminate();
  c.log('server', listening.wss.clients.size);
  await Promise.all([first.closed, second.closed, done, first.peer.closed(), second.peer.closed()]);
  c.log('server', listening.wss.clients.size);
});

s.over('server', 'noServer', 'stream')('without tracking close does not wait', async (c) => {
  const { wss, peer, closed } = await c.open({ clientTracking: false });
  wss.on('close', () => c.log('server', 'close'));
  wss.close();
  c.log('server', 'not yet');
  await once(wss, 'close');
  peer.end();
  await closed;
});

s.over('port')('without tracking close does wait with a port', async (c) => {
  const { wss, peer, closed } = await c.open({ clientTracking: false });
  wss.on('close', () => c.log('server', 'server closed'));
  wss.close();
  const done = once(wss, 'close');
  peer.end();
  await Promise.all([closed, done]);
});

s.over('port')('no connections are taken any more', async (c) => {
  for (const close of [(wss) => wss.close(), (wss) => wss._server.close()]) {
    const { wss, port } = await c.listen({ host: OWN_HOST });
    const closed = once(wss._server, 'close');
    close(wss);
    await closed;
    const [error] = await once(net.connect(port, OWN_HOST), 'error');
    c.log('peer', error.code);
  }
});

s.over('server')('the HTTP server goes on', async (c) => {
  const { wss, http: server, port } = await c.listen();
  server.on('request', (request, response) => response.end('page'));
  wss.close();
  await once(wss, 'close');
  const peer = await c.peer(port);
  peer.send('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await peer.closed();
  c.log('server', server.listening);
});

s.over('noServer', 'stream')('an upgrade behind close() gets 503', async (c) => {
  const { wss, port } = await c.listen();
  wss.on('connection', () => c.log('server', 'connection'));
  wss.close();
  const peer = await c.peer(port);
  await peer.upgrade();
  await peer.closed();
});

s.over('noServer', 'stream')('a bad upgrade behind close() gets its 400', async (c) => {
  const { wss, port } = await c.listen();
  wss.close();
  const peer = await c.peer(port);
  await peer.upgrade({ Upgrade: 'x' });
  await peer.closed();
});

s.all('close() inside of connection', async (c) => {
  const { wss, ws, peer, closed } = await c.open({}, { onConnection: () => c.log('server', 'connection') });
  const done = once(wss, 'close');
  wss.close(() => c.log('server', 'server closed'));
  ws.close(1001);
  await peer.frames(1);
  peer.send(frame(8, Buffer.from([3, 233])));
  await Promise.all([closed, done, peer.closed()]);
});

s.once('handleUpgrade: what its callback gets, and when', async (c) => {
  const server = await c.httpServer();
  const wss = new c.WebSocketServer({ noServer: true });
  const done = new Promise((resolve) => {
    server.on('upgrade', (request, socket, head) => {
      wss.handleUpgrade(request, socket, head, (...args) => {
        const [ws, second] = args;
        c.watch('ws', ws);
        c.log('server', args.length, second === request, ws.readyState, ws._socket === socket, wss.clients.size);
        c.log('server', socket.listenerCount('error') > 0, head);
        resolve(ws);
      });
      c.log('server', 'behind handleUpgrade');
    });
  });
  const peer = await c.peer(server.address().port);
  await peer.upgrade({}, Buffer.concat([frame(1, 'head'), frame(8)]));
  const ws = await done;
  await Promise.all([once(ws, 'close'), peer.closed()]);
});

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
// What programs put into requests that they make themselves.
const keys = { number: 5, list: [KEY], 'list of two': [KEY, KEY], object: Object(KEY), null: null };
for (const [name, key] of Object.entries(keys)) {
  s.once(`handleUpgrade with a key that is no string: ${name}`, async (c) => {
    const server = await c.httpServer();
    const wss = new c.WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => {
      const made = { method: 'GET', url: '/', socket, headers: { ...request.headers, 'sec-websocket-key': key, 'sec-websocket-version': 13 } };
      c.log('server', outcome(() => wss.handleUpgrade(made, socket, head, (ws) => ws.terminate())));
    });
    const peer = await c.peer(server.address().port);
    await peer.upgrade();
    await peer.closed();
  });
}

s.once('handleUpgrade twice for one socket', async (c) => {
  const server = await c.httpServer();
  const wss = new c.WebSocketServer({ noServer: true });
  const done = new Promise((resolve) => {
    server.on('upgrade', (request, socket, head) => {
      wss.handleUpgrade(request, socket, head, resolve);
      c.log('server', outcome(() => wss.handleUpgrade(request, socket, head, () => c.log('server', 'called'))));
    });
  });
  const peer = await c.peer(server.address().port);
  await peer.upgrade();
  const ws = await done;
  ws.terminate();
  await Promise.all([once(ws, 'close'), peer.closed()]);
});

/** Asks for one path after the other, two of which are served. */
async function askForPaths(c, server) {
  for (const path of ['/one', '/two', '/three']) {
    const peer = await c.peer(server.address().port, path);
    await peer.upgrade({ line: `GET ${path} HTTP/1.1` });
    await peer.upgraded();
    if (peer.head.includes(' 101 ')) {
      await peer.frames(1);
      await peer.send(frame(8, Buffer.from([15, 161])));
    }
    await peer.closed();
  }
}

s.once('two servers on one HTTP server, each for its path', async (c) => {
  const server = await c.httpServer();
  const one = new c.WebSocketServer({ server, path: '/one' });
  const two = new c.WebSocketServer({ server, path: '/two' });
  one.on('connection', (ws) => ws.on('error', () => {}).close(4001));
  two.on('connection', (ws) => ws.on('error', () => {}).close(4002));
  await askForPaths(c, server);
});

s.once('two noServer servers that share an HTTP server by path', async (c) => {
  const server = await c.httpServer();
  const [one, two] = [4001, 4002].map((code) => {
    const wss = new c.WebSocketServer({ noServer: true });
    return wss.on('connection', (ws) => ws.close(code));
  });
  server.on('upgrade', (request, socket, head) => {
    const wss = { '/one': one, '/two': two }[request.url];
    if (wss === undefined) socket.destroy();
    else wss.handleUpgrade(request, socket, head, (ws) => wss.emit('connection', ws, request));
  });
  await askForPaths(c, server);
});
