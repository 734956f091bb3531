// Upgrades on connections that an HTTP server has from a reactor: they return to the reactor.
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';

import test from 'ava';

import { frame, wsClient } from '../helpers/clients.mjs';
import { WAYS, home, httpServer, listenGiven, startGiven } from '../helpers/handoff.mjs';
import { WebSocketServer } from '../helpers/impl.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const HOST = 'Host: a\r\n';
const GET = `GET /page HTTP/1.1\r\n${HOST}\r\n`;

/** Opens WebSockets on connections that first have requests, for the server of `listen()` or of option `http`. */
const PORTS = {
  http: async (t, way, options) => {
    const { port, wss } = await startGiven(t, way, home, options);
    return { port, wss };
  },
  listen: async (t, way, options) => {
    const server = httpServer(t);
    const wss = new WebSocketServer({ noServer: true, ...options });
    server.on('upgrade', (request, socket, head) => {
      wss.handleUpgrade(request, socket, head, (ws) => wss.emit('connection', ws, request));
    });
    t.teardown(() => wss.clients.forEach((ws) => ws.terminate()));
    const { port } = await listenGiven(t, way, server);
    return { port, wss };
  },
};

function assertOnReactor(t, ws) {
  t.is(ws._extra?.stream ?? null, null);
  t.true(ws._slot >= 0);
}

/** Bytes after the head of the last answer. */
function body(text) {
  return Buffer.from(text.slice(text.lastIndexOf('\r\n\r\n') + 4), 'latin1');
}

for (const way of Object.keys(WAYS)) {
  for (const [via, start] of Object.entries(PORTS)) {
    const title = `${way}, ${via}`;

    for (const before of [0, 1, 3]) {
      test(`${title}: an upgrade after ${before} requests is served by a reactor`, async (t) => {
        const { port, wss } = await start(t, way);
        const raw = await RawClient.connect(t, port);
        for (let count = 0; count < before; count++) {
          await raw.send(GET);
          await raw.until((text) => text.split('GET /page').length === count + 2);
        }
        const connected = once(wss, 'connection');
        await raw.send(upgradeRequest());
        const [ws, request] = await connected;
        assertOnReactor(t, ws);
        t.is(request.socket, ws._socket);
        t.is(request.socket.remoteAddress, '127.0.0.1');
        t.is(request.socket.localPort, port);
        await raw.until((text) => text.includes('101 Switching Protocols') && text.endsWith('\r\n\r\n'));
        ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
        await raw.send(frame(1, 'hello'));
        await raw.until((text) => text.endsWith('hello'));
        ws.ping('p');
        await raw.until((text) => text.endsWith('p'));
        const closed = once(ws, 'close');
        await raw.send(frame(8, Buffer.from([3, 0xe8])));
        t.is((await closed)[0], 1000);
        await raw.closed();
        t.is(wss.clients.size, 0);
      });
    }

    // A request, the upgrade and frames in one write, cut at every place that matters. (After two requests Node itself
    // emits 'upgrade' before the second one is answered.)
    test(`${title}: a pipeline of a request, an upgrade and frames goes to whom it belongs, however it is cut`, async (t) => {
      const { port, wss } = await start(t, way);
      const seen = [];
      wss.on('connection', (ws) => {
        seen.push([]);
        ws.on('message', (data) => seen.at(-1).push(String(data)));
      });
      const frames = Buffer.concat(['one', 'two', 'three'].map((text) => frame(1, text)));
      const upgrade = Buffer.from(upgradeRequest());
      const whole = Buffer.concat([Buffer.from(GET), upgrade, frames, frame(8, Buffer.from([3, 0xe8]))]);
      const after = GET.length + upgrade.length;
      const cuts = [1, GET.length - 1, GET.length, GET.length + 1, after - 4, after - 1, after, after + 1, after + 5, after + 9, whole.length - 1];
      for (const cut of [0, ...cuts]) {
        const raw = await RawClient.connect(t, port);
        await raw.send(whole.subarray(0, cut));
        if (cut !== 0) await new Promise(setImmediate);
        await raw.send(whole.subarray(cut));
        const text = await raw.closed();
        t.is(text.split('GET /page').length, 2, `${cut}`);
        t.true(text.includes('101 Switching Protocols'));
        t.deepEqual(body(text), Buffer.from('880203e8', 'hex'));
        t.deepEqual(seen.at(-1), ['one', 'two', 'three'], `${cut}`);
      }
    });

    test(`${title}: many frames right after the upgrade arrive in order and whole`, async (t) => {
      const { port, wss } = await start(t, way, { maxPayload: 0 });
      const raw = await RawClient.connect(t, port);
      await raw.send(GET);
      await raw.until((text) => text.endsWith('GET /page'));
      const seen = [];
      const done = new Promise((resolve) => {
        wss.on('connection', (ws) => ws.on('message', (data) => seen.push(data.readUInt32LE()) === 5000 && resolve(ws)));
      });
      const numbered = (number) => {
        const payload = Buffer.alloc(4 + (number % 100));
        payload.writeUInt32LE(number);
        return frame(2, payload);
      };
      // More than one read brings.
      raw.send(Buffer.concat([Buffer.from(upgradeRequest()), ...Array.from({ length: 5000 }, (_, number) => numbered(number))]));
      const ws = await done;
      t.deepEqual(seen, Array.from({ length: 5000 }, (_, number) => number));
      ws.terminate();
    });

    test(`${title}: compression, subprotocols and hooks of the WebSocketServer`, async (t) => {
      const { port, wss } = await start(t, way, {
        perMessageDeflate: { threshold: 0 },
        handleProtocols: (protocols) => [...protocols][1],
        verifyClient: ({ req }) => req.headers.cookie === 'let=me',
      });
      wss.on('headers', (lines) => lines.push('X-Own: yes'));
      wss.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      t.teardown(() => agent.destroy());
      let connections = 0;
      agent.createConnection = (options) => {
        connections++;
        return net.connect(options);
      };
      const response = await new Promise((resolve) => http.get({ host: '127.0.0.1', port, agent, path: '/page' }, resolve));
      await response.toArray();
      for (const cookie of ['let=me', 'other']) {
        const client = new wsClient(`ws://127.0.0.1:${port}`, ['a', 'b'], { agent: cookie === 'let=me' ? agent : undefined, headers: { cookie } });
        t.teardown(() => client.terminate());
        if (cookie === 'other') {
          client.on('error', () => {});
          const [request, answer] = await once(client, 'unexpected-response');
          request.destroy();
          t.is(answer.statusCode, 401);
          continue;
        }
        const [[answer]] = await Promise.all([once(client, 'upgrade'), once(client, 'open')]);
        t.is(answer.headers['x-own'], 'yes');
        t.is(connections, 1);
        t.is(client.protocol, 'b');
        t.is(client.extensions, 'permessage-deflate');
        const text = 'compressible '.repeat(20_000);
        client.send(text);
        t.is(String((await once(client, 'message'))[0]), text);
        assertOnReactor(t, [...wss.clients][0]);
      }
    });

    test(`${title}: what is sent in the callback of the upgrade follows the 101, and the socket's counters go on`, async (t) => {
      const { port, wss } = await start(t, way);
      const raw = await RawClient.connect(t, port);
      await raw.send(GET);
      await raw.until((text) => text.endsWith('GET /page'));
      const connected = new Promise((resolve) => {
        wss.on('connection', (ws) => {
          ws.send('first');
          ws.pause();
          resolve(ws);
        });
      });
      await raw.send(Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'held')]));
      const ws = await connected;
      t.deepEqual(body(await raw.until((text) => text.endsWith('first'))), Buffer.concat([Buffer.from([0x81, 5]), Buffer.from('first')]));
      const got = once(ws, 'message');
      ws.resume();
      t.is(String((await got)[0]), 'held');
      await new Promise((resolve) => ws.send('x', resolve));
      t.is(ws.bufferedAmount, 0);
      raw.end();
      t.is((await once(ws, 'close'))[0], 1006);
    });

    test(`${title}: a client that leaves with the upgrade is seen to leave, after its frames`, async (t) => {
      const { port, wss } = await start(t, way);
      for (const leave of ['end', 'reset']) {
        const seen = [];
        const closed = new Promise((resolve) => {
          wss.once('connection', (ws) => {
            ws.on('message', (data) => seen.push(String(data)));
            ws.on('error', () => {});
            ws.on('close', (code) => resolve(code));
          });
        });
        const raw = await RawClient.connect(t, port);
        await raw.send(GET);
        await raw.until((text) => text.endsWith('GET /page'));
        await raw.send(Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'last')]));
        raw[leave]();
        t.is(await closed, 1006);
        if (leave === 'end') t.deepEqual(seen, ['last']);
        while (wss.clients.size !== 0) await new Promise(setImmediate);
      }
    });
  }

  test(`${way}: a closed WebSocketServer takes no upgrade of a connection that was given`, async (t) => {
    const { port, wss } = await startGiven(t, way, home);
    const raw = await RawClient.connect(t, port);
    await raw.send(GET);
    await raw.until((text) => text.endsWith('GET /page'));
    wss.close();
    await once(wss, 'close');
    await raw.send(upgradeRequest());
    // As without a WebSocketServer: it is a request.
    t.true((await raw.until((text) => text.endsWith('GET /'))).includes('200 OK'));
  });

  test(`${way}: where the upgrade finds a socket in use, the WebSocket runs over it as a stream`, async (t) => {
    const server = httpServer(t, home);
    const wss = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => {
      socket.on('data', () => {});
      wss.handleUpgrade(request, socket, head, (ws) => ws.on('message', (data) => ws.send(data)));
    });
    const { port } = await listenGiven(t, way, server);
    const client = new wsClient(`ws://127.0.0.1:${port}`);
    t.teardown(() => client.terminate());
    await once(client, 'open');
    const text = 'long '.repeat(100_000);
    client.send(text);
    t.is(String((await once(client, 'message'))[0]), text);
    const closed = once(client, 'close');
    client.close(3000, 'enough');
    t.is((await closed)[0], 3000);
  });
}
