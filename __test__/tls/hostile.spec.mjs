// Handshakes that are slow, cut, wrong or no TLS at all, beside a connection that must not notice.
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';

import { wsClient } from '../helpers/clients.mjs';
import { isSpread } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';
import { SERVER, clientHello, connectTls, openSecure, startSecure } from '../helpers/secure.mjs';

/** The next error of a client, and what its connection got. */
async function failing(t, server, act) {
  const failed = once(server.listener, 'tlsClientError');
  const raw = await RawClient.connect(t, server.port);
  await act(raw);
  const [error, socket] = await failed;
  t.true(socket.destroyed);
  t.true(socket.encrypted);
  // A reset takes the address away, if another reactor has not asked for it before.
  t.true(socket.remoteAddress === '127.0.0.1' || (isSpread && socket.remoteAddress === undefined), socket.remoteAddress);
  return { code: error.code, answer: await raw.closed() };
}

test('plain HTTP on the port', async (t) => {
  const server = await startSecure(t);
  for (const request of [upgradeRequest(), 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n', 'POST / HTTP/1.0\r\n\r\n']) {
    const { code } = await failing(t, server, (raw) => raw.send(request));
    t.is(code, 'ERR_SSL_HTTP_REQUEST');
  }
});

test('bytes that are no TLS', async (t) => {
  const server = await startSecure(t);
  for (const bytes of [Buffer.alloc(100), Buffer.alloc(100, 0xff), Buffer.from('1603010005ffffffffff', 'hex'), Buffer.from('15030100020228', 'hex'), Buffer.from('16030100040e000000', 'hex'), Buffer.from(`1703030100${'00'.repeat(256)}`, 'hex'), Buffer.from(`160301ffff${'00'.repeat(70_000)}`, 'hex')]) {
    const { code } = await failing(t, server, (raw) => raw.send(bytes));
    t.regex(code, /^(ERR_SSL_|ECONNRESET)/, bytes.subarray(0, 8).toString('hex'));
  }
});

test('a ClientHello above 64 KiB fails as soon as its length is known', async (t) => {
  const server = await startSecure(t);
  const { code } = await failing(t, server, (raw) => raw.sendHex('16 0301 0004 01 010000'));
  t.regex(code, /^ERR_SSL_/);
});

test('a handshake that is cut anywhere', async (t) => {
  const server = await startSecure(t);
  const bytes = await clientHello();
  for (const [how, end] of [['end', 'end'], ['reset', 'reset']]) {
    for (const cut of [0, 1, 4, 5, 6, 50, bytes.length - 1, bytes.length]) {
      const { code } = await failing(t, server, async (raw) => {
        await raw.send(bytes.subarray(0, cut));
        raw[end]();
      });
      t.is(code, 'ECONNRESET', `${how} after ${cut}`);
    }
  }
});

test('a handshake that is slow: handshakeTimeout', async (t) => {
  const server = await startSecure(t, { ...SERVER, handshakeTimeout: 100 });
  const bytes = await clientHello();
  for (const cut of [0, 1, 100, bytes.length]) {
    const { code } = await failing(t, server, (raw) => raw.send(bytes.subarray(0, cut)));
    t.is(code, 'ERR_TLS_HANDSHAKE_TIMEOUT', `${cut}`);
  }
  // A byte now and then is no excuse.
  const { code } = await failing(t, server, (raw) => {
    let at = 0;
    const timer = setInterval(() => raw.send(bytes.subarray(at, ++at)).catch(() => {}), 5);
    t.teardown(() => clearInterval(timer));
  });
  t.is(code, 'ERR_TLS_HANDSHAKE_TIMEOUT');
});

test('a client with TLS that asks for nothing: the handshakeTimeout of the server', async (t) => {
  const server = await startSecure(t, { ...SERVER, handshakeTimeout: 60_000 }, { handshakeTimeout: 100 });
  const idle = await connectTls(t, server.port);
  idle.resume();
  await once(idle, 'close');
  const started = await connectTls(t, server.port);
  started.write('GET / HTTP/1.1\r\n');
  const [answer] = await once(started, 'data');
  t.true(String(answer).startsWith('HTTP/1.1 408 '), String(answer));
});

test('a handshake in pieces of one byte, and frames too', async (t) => {
  const server = await startSecure(t);
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
    const proxy = net.createServer((client) => {
      const upstream = net.connect({ port: server.port, host: '127.0.0.1', noDelay: true });
      t.teardown(() => client.destroy() && upstream.destroy());
      for (const socket of [client, upstream]) socket.on('error', () => {});
      upstream.pipe(client);
      let sent = Promise.resolve();
      client.on('data', (bytes) => {
        for (const byte of bytes) {
          sent = sent.then(() => new Promise((resolve) => upstream.write(Buffer.from([byte]), () => setImmediate(resolve))));
        }
      });
    });
    proxy.listen(0, '127.0.0.1');
    t.teardown(() => proxy.close());
    await once(proxy, 'listening');
    const { client, ws } = await openSecure(t, { ...server, url: `wss://localhost:${proxy.address().port}` }, wsClient, { maxVersion });
    for (const message of ['', 'short', 'x'.repeat(500)]) {
      client.send(message);
      t.is(String((await once(ws, 'message'))[0]), message);
    }
  }
});

test('errors without a listener end their clients only', async (t) => {
  const server = await startSecure(t);
  const raw = await RawClient.connect(t, server.port);
  await raw.send(upgradeRequest());
  await raw.closed();
  await t.throwsAsync(connectTls(t, server.port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }));
  const { client, ws } = await openSecure(t, server, wsClient);
  client.send('on');
  t.is(String((await once(ws, 'message'))[0]), 'on');
});

test('a listener that comes later hears errors, and one that has gone does not', async (t) => {
  const server = await startSecure(t);
  const codes = [];
  const listener = ({ code }) => codes.push(code);
  const fail = async () => {
    const raw = await RawClient.connect(t, server.port);
    await raw.send(upgradeRequest());
    await raw.closed();
  };
  await fail();
  server.listener.on('tlsClientError', listener);
  await fail();
  while (codes.length === 0) await new Promise(setImmediate);
  server.listener.off('tlsClientError', listener);
  await openSecure(t, server, wsClient);
  await fail();
  await openSecure(t, server, wsClient);
  t.deepEqual(codes, ['ERR_SSL_HTTP_REQUEST']);
});

test('300 handshakes at once beside a connection that goes on', async (t) => {
  const server = await startSecure(t);
  const { client, ws } = await openSecure(t, server, wsClient);
  ws.on('message', (data) => ws.send(data));
  let isOver = false;
  const canary = (async () => {
    let count = 0;
    for (; !isOver; count++) {
      client.send(`${count}`);
      t.is(String((await once(client, 'message'))[0]), `${count}`);
    }
    return count;
  })();
  const sockets = await Promise.all(Array.from({ length: 300 }, () => connectTls(t, server.port)));
  isOver = true;
  t.true((await canary) > 0);
  t.true(sockets.every((socket) => socket.getProtocol() === 'TLSv1.3'));
});
