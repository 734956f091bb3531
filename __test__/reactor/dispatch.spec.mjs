// Batches of records: order, handlers that throw, memory, and the flush of sends meanwhile.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { connect, frame, isReference, ownOnly, startServer, test } from '../helpers/index.mjs';

/** Runs a script with a server, the client of ws and `frame`; resolves with its lines. */
async function run(source) {
  const from = isReference ? 'ws' : fileURLToPath(new URL('../../lib/index.js', import.meta.url));
  const child = spawn(process.execPath, [
    '-e',
    `const { WebSocketServer } = require(${JSON.stringify(from)});
    const net = require('node:net');
    const frame = ${frame};
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
      const socket = net.connect(server.address().port, '127.0.0.1');
      socket.write('GET / HTTP/1.1\\r\\nHost: x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n');
      socket.once('data', () => start(socket));
    });
    ${source}`,
  ]);
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const [code] = await once(child, 'close');
  return { code, lines: Buffer.concat(output).toString().trimEnd().split('\n') };
}

// J16.
test('whoever has replaced emit sees every message, and one listener or many get the same', async (t) => {
  const { code, lines } = await run(`
    const EventEmitter = require('node:events');
    const { emit } = EventEmitter.prototype;
    const start = (socket) => socket.write(Buffer.concat([...'abcde'].map((text) => frame(1, text))));
    server.on('connection', (ws) => {
      const log = (name) => function (data, isBinary) {
        console.log(name, String(data), isBinary, arguments.length, this === ws);
        return String(data);
      };
      const first = log('first');
      ws.once('message', log('once'));
      ws.on('message', first);
      ws.on('message', (data) => steps[data]());
      const steps = {
        a: () => ws.removeListener('message', first),
        b() {
          ws.emit = function (type, data) {
            console.log('own', type, String(data));
            return emit.apply(this, arguments);
          };
        },
        c() {
          delete ws.emit;
          EventEmitter.prototype.emit = function (type, data) {
            if (this === ws) console.log('every', type, String(data));
            return emit.apply(this, arguments);
          };
        },
        d: () => { EventEmitter.prototype.emit = emit; },
        e: () => { console.log('e'); process.exit(0); },
      };
    });
  `);
  t.is(code, 0);
  t.deepEqual(lines, ['once a false 2 true', 'first a false 2 true', 'own message c', 'every message d', 'e']);
});

// J03.
test('captureRejections of node:events is heeded', async (t) => {
  const { lines } = await run(`
    require('node:events').captureRejections = true;
    const start = (socket) => socket.write(frame(1, 'a'));
    server.on('connection', (ws) => {
      ws.on('message', async () => { throw new Error('rejected'); });
      ws.on('error', (error) => {
        console.log('error', error.message);
        process.exit(0);
      });
    });
  `);
  t.deepEqual(lines, ['error rejected']);
});

// J03.
test('captureRejections of node:events that is set later is not for connections that there are', async (t) => {
  const { lines } = await run(`
    const start = (socket) => socket.write(frame(1, 'a'));
    process.on('unhandledRejection', (error) => {
      console.log('unhandled', error.message);
      process.exit(0);
    });
    server.on('connection', (ws) => {
      require('node:events').captureRejections = true;
      ws.on('message', async () => { throw new Error('rejected'); });
      ws.on('error', (error) => console.log('error', error.message));
    });
  `);
  t.deepEqual(lines, ['unhandled rejected']);
});

// J03.
test('node:domain finds its way into connections', async (t) => {
  const { lines } = await run(`
    const domain = require('node:domain').create();
    const start = (socket) => socket.write(frame(1, 'a'));
    domain.on('error', (error) => {
      console.log('domain', error.message);
      process.exit(0);
    });
    server.on('connection', (ws) => {
      domain.add(ws);
      ws.on('message', () => { throw new Error('thrown'); });
    });
  `);
  t.deepEqual(lines, ['domain thrown']);
});

// J02.
ownOnly("what was sent before a handler threw leaves, and what a 'close' handler throws is not lost", async (t) => {
  const { code, lines } = await run(`
    process.on('uncaughtException', (error) => console.log(error.message));
    const start = (socket) => {
      socket.write(frame(1, 'a'));
      socket.on('data', (data) => {
        console.log(data.toString('hex'));
        socket.destroy();
      });
    };
    server.on('connection', (ws) => {
      ws.on('message', (data) => {
        ws.send(data);
        throw new Error('after the send');
      });
      ws.on('close', () => {
        server.close();
        throw new Error('in close');
      });
    });
  `);
  t.is(code, 0);
  t.deepEqual(lines, ['after the send', '820161', 'in close']);
});

test('jobs run between two connections', async (t) => {
  const server = await startServer(t);
  const log = [];
  server.on('connection', (ws) => {
    ws.on('message', (data) => {
      log.push(`message ${data}`);
      process.nextTick(() => log.push(`tick of ${data}`));
      queueMicrotask(() => log.push(`job of ${data}`));
    });
  });
  const pairs = [await connect(t, server), await connect(t, server), await connect(t, server)];
  const all = Promise.all(pairs.map(({ ws }) => once(ws, 'message')));
  pairs.forEach(({ client }, index) => client.send(String(index)));
  await all;
  await new Promise((resolve) => setImmediate(resolve));
  for (const index of [0, 1, 2]) {
    const at = log.indexOf(`message ${index}`);
    t.deepEqual(log.slice(at, at + 3), [`message ${index}`, `tick of ${index}`, `job of ${index}`]);
  }
});
