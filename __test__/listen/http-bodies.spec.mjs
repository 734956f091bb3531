// Bodies, back-pressure and ends of connections that an HTTP server has from a reactor.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';

import test from 'ava';

import { WAYS, httpServer, listenGiven, startGiven, talk } from '../helpers/handoff.mjs';
import { RawClient } from '../helpers/raw-client.mjs';

const HOST = 'Host: a\r\n';
const CLOSE = 'Connection: close\r\n';
const MEGABYTE = 1 << 20;
/** Around the sizes at which this package changes its way. */
const SIZES = [0, 1, 511, 512, 2047, 2048, 2049, 4096, 16 << 10, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 256 << 10, MEGABYTE, 5 * MEGABYTE];

const digest = (bytes) => createHash('sha1').update(bytes).digest('hex');

async function exchange(port, path, body, options = {}) {
  const request = http.request({ host: '127.0.0.1', port, path, method: 'POST', ...options });
  request.end(body);
  const [response] = await once(request, 'response');
  return { response, body: Buffer.concat(await response.toArray()) };
}

/** Bytes that the kernel and the streams on the way may hold; more wait at their source. */
const IN_BETWEEN = 24 * MEGABYTE;

// The bytes come with the connection, and later ones after its listeners.
const EARLY = {
  destroy: (socket) => socket.destroy(),
  // Relayed bytes are not held back, as with TLS in Node.
  'destroy after a promise': async (socket) => {
    await undefined;
    await undefined;
    socket.destroy();
  },
  pause: (socket) => {
    socket.pause();
    setTimeout(() => socket.resume(), 20);
  },
};

for (const [name, act] of Object.entries(EARLY)) {
  for (const way of Object.keys(WAYS).filter((one) => one === 'socket' || !name.endsWith('promise'))) {
    test(`${way}: a listener of 'connection' that does: ${name}`, async (t) => {
      const seen = [];
      const server = httpServer(t, (request, response) => {
        seen.push(request.url);
        request.resume().on('end', () => response.end(request.url));
      });
      let isFirst = true;
      server.on('connection', (socket) => {
        if (isFirst) act(socket);
        isFirst = false;
      });
      const { port } = await listenGiven(t, way, server);
      const length = 3 * 65_536;
      const asked = [`POST /one HTTP/1.1\r\n${HOST}Content-Length: ${length}\r\n\r\n`, `${'b'.repeat(length)}GET /two HTTP/1.1\r\n${HOST}${CLOSE}\r\n`];
      const canary = () => talk(t, port, asked.join(''));
      const got = await talk(t, port, asked).catch(() => '');
      const isServed = name === 'pause';
      t.is(/\/one[\s\S]*\/two$/.test(got), isServed);
      t.deepEqual(seen, isServed ? ['/one', '/two'] : []);
      t.regex(await canary(), /\/one[\s\S]*\/two$/);
    });
  }
}

for (const way of Object.keys(WAYS)) {
  test(`${way}: bodies of every size, both ways, with and without a length`, async (t) => {
    const { port } = await startGiven(t, way, async (request, response) => {
      const bytes = Buffer.concat(await request.toArray());
      if (request.url === '/length') response.setHeader('Content-Length', bytes.length);
      response.write(bytes.subarray(0, 10));
      response.end(bytes.subarray(10));
    });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    for (const size of SIZES) {
      for (const path of ['/length', '/chunks']) {
        const sent = randomBytes(size);
        const headers = path === '/length' ? { 'Content-Length': size } : { 'Transfer-Encoding': 'chunked' };
        const { body } = await exchange(port, path, sent, { agent, headers });
        t.is(digest(body), digest(sent), `${size} ${path}`);
      }
    }
  });

  test(`${way}: strings of every encoding, and buffers that change after they were written`, async (t) => {
    const { port } = await startGiven(t, way, (request, response) => {
      const { socket } = request;
      socket.write('ä', 'latin1');
      socket.write('ä');
      socket.write('e4', 'hex');
      const bytes = Buffer.from('bytes');
      socket.write(bytes, () => bytes.fill(0));
      socket.cork();
      socket.write('a');
      socket.write(new Uint8Array([98]));
      socket.uncork();
      socket.end('c');
    });
    t.is(await talk(t, port, `GET / HTTP/1.1\r\n${HOST}\r\n`), '\xe4\xc3\xa4\xe4bytesabc');
  });

  test(`${way}: an upload that the server does not read waits at the client, and arrives whole`, async (t) => {
    let upload;
    const arrived = new Promise((resolve) => {
      upload = resolve;
    });
    // The server has enough of the body that comes with the head.
    const server = httpServer(t, (request, response) => upload([request, response]), { highWaterMark: 1000 });
    const { port } = await startGiven(t, way, undefined, { http: server });
    const total = 4 * IN_BETWEEN;
    const socket = net.connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    const piece = Buffer.alloc(MEGABYTE, 'piece');
    let sent = piece.length;
    socket.write(`POST / HTTP/1.1\r\n${HOST}${CLOSE}Content-Length: ${total}\r\n\r\n${piece}`);
    const more = () => {
      while (sent < total) {
        sent += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on('drain', more);
    more();
    const [request, response] = await arrived;
    // Several times the client has got rid of nothing for a while: it is stuck.
    for (let before = -1; before !== sent - socket.writableLength; ) {
      before = sent - socket.writableLength;
      for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    t.true(sent - socket.writableLength < IN_BETWEEN, `${sent - socket.writableLength}`);
    let read = 0;
    for await (const chunk of request) read += chunk.length;
    t.is(read, total);
    response.end('done');
    let text = '';
    for await (const chunk of socket) text += chunk;
    t.true(text.endsWith('done'));
  });

  test(`${way}: a download that the client does not read waits in the program, and arrives whole`, async (t) => {
    const total = 4 * IN_BETWEEN;
    const piece = Buffer.alloc(MEGABYTE, 'piece');
    let written = 0;
    const { port } = await startGiven(t, way, (request, response) => {
      response.writeHead(200, { 'Content-Length': total });
      const more = () => {
        while (written < total) {
          written += piece.length;
          if (!response.write(piece)) return response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const socket = net.connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.pause();
    socket.write(`GET / HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
    for (let before = -1; before !== written || written === 0; ) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    t.true(written < IN_BETWEEN, `${written}`);
    let read = 0;
    for await (const chunk of socket) read += chunk.length;
    t.true(read > total && read < total + 1000);
    t.is(written, total);
  });

  test(`${way}: a client that leaves during its upload aborts the request`, async (t) => {
    for (const leave of ['reset', 'end']) {
      let came;
      const request = new Promise((resolve) => {
        came = resolve;
      });
      const { http: server, port } = await startGiven(t, way, (incoming) => {
        incoming.on('data', () => came(incoming));
        incoming.on('error', () => {});
      });
      const raw = await RawClient.connect(t, port);
      await raw.send(`POST / HTTP/1.1\r\n${HOST}Content-Length: 100\r\n\r\nsome`);
      const incoming = await request;
      const [socket] = server.sockets;
      // Not `once`, which fails for an 'error' before.
      const gone = Promise.all([incoming, socket].map((one) => new Promise((resolve) => one.on('close', resolve))));
      raw[leave]();
      await gone;
      t.true(incoming.destroyed && !incoming.complete && socket.destroyed, leave);
      t.is(incoming.errored?.code, 'ECONNRESET');
    }
  });

  test(`${way}: a client that resets during its download closes the response, read or not`, async (t) => {
    for (const size of [10, 20 * MEGABYTE]) {
      let came;
      const answered = new Promise((resolve) => {
        came = resolve;
      });
      const { http: server, port } = await startGiven(t, way, (request, response) => {
        response.write(Buffer.alloc(size));
        came(response);
      });
      const raw = await RawClient.connect(t, port);
      await raw.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
      const response = await answered;
      const closed = once(response, 'close');
      await raw.until((text) => text.length > 10);
      raw.reset();
      await closed;
      t.false(response.writableFinished);
      if (server.sockets.size !== 0) await once([...server.sockets][0], 'close');
    }
  });

  for (const [title, end] of Object.entries({
    'destroy()': (socket) => socket.destroy(),
    'destroy(error)': (socket) => socket.destroy(new Error('mine')),
    'resetAndDestroy()': (socket) => socket.resetAndDestroy(),
    'destroySoon()': (socket) => socket.destroySoon(),
    'end()': (socket) => socket.end(),
  })) {
    test(`${way}: ${title} of the socket ends the connection, and 'close' comes once`, async (t) => {
      let closes = 0;
      const { http: server, port } = await startGiven(t, way, (request) => {
        request.socket.on('error', () => {});
        request.on('error', () => {});
        request.socket.on('close', () => closes++);
        request.socket.write('before');
        end(request.socket);
      });
      const text = await talk(t, port, `GET / HTTP/1.1\r\n${HOST}\r\n`);
      if (title !== 'resetAndDestroy()') t.is(text, 'before');
      while (server.sockets.size !== 0) await new Promise(setImmediate);
      await new Promise(setImmediate);
      t.is(closes, 1);
    });
  }

  test(`${way}: a half-closed client gets its answer where the server allows it`, async (t) => {
    const { http: server, port } = await startGiven(t, way, (request, response) => {
      request.socket.once('end', () => response.end('late'));
    });
    server.httpAllowHalfOpen = true;
    const raw = await RawClient.connect(t, port);
    await raw.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    raw.end();
    t.true((await raw.until((text) => text.endsWith('late'))).startsWith('HTTP/1.1 200 OK'));
    server.closeAllConnections();
    await raw.closed();
  });

  test(`${way}: 'timeout' of a silent socket, and none while a slow client reads`, async (t) => {
    const { http: server, port } = await startGiven(t, way, (request, response) => {
      if (request.url === '/silent') return;
      response.end(Buffer.alloc(30 * MEGABYTE));
    });
    server.timeout = 2000;
    server.keepAliveTimeout = 100;
    t.is(await talk(t, port, `GET /silent HTTP/1.1\r\n${HOST}\r\n`), '');
    const socket = net.connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.write(`GET /long HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
    let read = 0;
    for await (const chunk of socket) {
      read += chunk.length;
      // Some pauses, each shorter than the timeout, and longer together.
      if (read % (5 * MEGABYTE) < chunk.length) await new Promise((resolve) => setTimeout(resolve, 500));
    }
    t.true(read > 30 * MEGABYTE);
    // After an answer the server waits for another request only so long.
    t.regex(await talk(t, port, `HEAD / HTTP/1.1\r\n${HOST}\r\n`), /^HTTP\/1\.1 200/);
  });

  test(`${way}: counters and switches of the socket`, async (t) => {
    let socket;
    const { port } = await startGiven(t, way, (request, response) => {
      ({ socket } = request);
      response.end('12345');
    });
    const raw = await RawClient.connect(t, port);
    const request = `GET / HTTP/1.1\r\n${HOST}\r\n`;
    await raw.send(request);
    await raw.until((text) => text.endsWith('12345'));
    t.is(socket.bytesRead, request.length);
    t.is(socket.bytesWritten, raw.text.length);
    await raw.send(request);
    await raw.until((text) => text.split('12345').length === 3);
    t.is(socket.bytesRead, 2 * request.length);
    t.is(socket.setNoDelay(false).setNoDelay().setKeepAlive(true, 1000).setKeepAlive(false).unref().ref(), socket);
    t.true(socket instanceof net.Socket);
    t.is(socket.setTimeout(1000).timeout, 1000);
  });
}
