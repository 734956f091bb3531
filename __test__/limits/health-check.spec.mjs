// The option healthCheck: answers to load balancers.
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';

import { WebSocketServer, askRaw, connect, openPair, startServer, test } from '../helpers/index.mjs';

const HOST = '127.0.0.1';

/** Who answers: a reactor; a server of Node, as in the workers of a cluster. */
const LISTENERS = { reactor: 0, Node: { port: 0, host: HOST, readableAll: true } };

async function answer(server, path, { method = 'GET', agent } = {}) {
  const request = httpRequest({ host: HOST, port: server.address().port, path, method, agent });
  request.end();
  const [response] = await once(request, 'response');
  let body = '';
  for await (const chunk of response.setEncoding('latin1')) body += chunk;
  return [response.statusCode, body, request.reusedSocket];
}

for (const [name, port] of Object.entries(LISTENERS)) {
  test(`healthCheck, answered by ${name}: GET and HEAD of that path have 200`, async (t) => {
    const server = await startServer(t, { port, healthCheck: '/healthz' });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    t.deepEqual(await answer(server, '/healthz', { agent }), [200, 'OK', false]);
    t.deepEqual(await answer(server, '/healthz?deep=1', { agent }), [200, 'OK', true]);
    t.deepEqual(await answer(server, '/healthz', { agent, method: 'HEAD' }), [200, '', true]);
    for (const [path, method] of [['/', 'GET'], ['/healthz/', 'GET'], ['/Healthz', 'GET'], ['/healthz', 'POST'], ['/healthz', 'OPTIONS']]) {
      t.deepEqual(await answer(server, path, { agent, method }), [426, 'Upgrade Required', true], `${method} ${path}`);
    }
    // It is no path of WebSockets, and takes none away.
    const { client } = await connect(t, server, { path: '/healthz' });
    client.close();
    t.true(Object.values(server.metrics().handshakes.refused).every((count) => count === 0));
  });

  test(`healthCheck, answered by ${name}: 503 once the server is drained`, async (t) => {
    const { client, server } = await openPair(t, { port, healthCheck: '/healthz' });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    t.deepEqual(await answer(server, '/healthz', { agent }), [200, 'OK', false]);
    const drained = server.drain({ duration: 0 });
    t.is((await answer(server, '/healthz', { agent }))[0], 503);
    client.close();
    await drained;
    t.is((await answer(server, '/healthz'))[0], 503);
    t.is((await answer(server, '/'))[0], 426);
  });

  test(`without healthCheck, ${name} answers every path with 426`, async (t) => {
    const server = await startServer(t, { port });
    for (const path of ['/', '/healthz']) t.is((await answer(server, path))[0], 426);
  });
}

test('healthCheck: a reactor and Node judge each request alike', async (t) => {
  const servers = [];
  for (const port of Object.values(LISTENERS)) servers.push(await startServer(t, { port, healthCheck: '/healthz' }));
  const targets = ['/healthz', '/healthz?', '/healthz?a?/healthz', '/?/healthz', '//healthz', '/healthz/', '/HEALTHZ', '/%68ealthz', '/healthz;a', '/healthz#a', 'http://a/healthz', '*'];
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE']) {
    for (const target of targets) {
      const request = `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      const [one, other] = await Promise.all(servers.map(async (server) => (await (await askRaw(t, server.address().port, request)).closed()).split('\r\n')[0]));
      const isHealth = /^(GET|HEAD) \/healthz( |\?)/.test(request);
      t.is(one, isHealth ? 'HTTP/1.1 200 OK' : 'HTTP/1.1 426 Upgrade Required', request);
      t.is(other, one, request);
    }
  }
});

// The counters include all servers of the thread.
test.serial('healthCheck: HTTP/1.0 without a Host, as HAProxy asks; no Host in HTTP/1.1 is 400', async (t) => {
  const server = await startServer(t, { healthCheck: '/healthz' });
  for (const [version, status] of [['1.0', '200 OK'], ['1.1', '400 Bad Request']]) {
    const raw = await askRaw(t, server.address().port, `GET /healthz HTTP/${version}\r\n\r\n`);
    t.true((await raw.closed()).startsWith(`HTTP/1.1 ${status}\r\n`));
  }
  const { plainRequests } = server.metrics().reactors;
  await answer(server, '/healthz');
  t.is(server.metrics().reactors.plainRequests, plainRequests);
});

test.serial('healthCheck: a pipeline of checks that nobody reads ends', async (t) => {
  const server = await startServer(t, { healthCheck: '/healthz' });
  const raw = await askRaw(t, server.address().port, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
  const text = await raw.closed();
  t.true(text.split('200 OK').length <= 1001);
  t.true(text.includes('Connection: close'));
});

test('healthCheck: what is no path, or has no port, throws', (t) => {
  for (const options of [
    { port: 0, healthCheck: true },
    { port: 0, healthCheck: '' },
    { port: 0, healthCheck: 'healthz' },
    { port: 0, healthCheck: '/healthz?' },
    { port: 0, healthCheck: '/a b' },
    { port: 0, healthCheck: '/ä' },
    { noServer: true, healthCheck: '/healthz' },
  ]) {
    const { message } = t.throws(() => new WebSocketServer(options), { instanceOf: TypeError });
    t.true(message.startsWith('options.healthCheck must be '), message);
  }
  t.notThrows(() => new WebSocketServer({ noServer: true, healthCheck: null }));
});
