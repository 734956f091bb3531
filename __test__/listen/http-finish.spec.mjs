// 'finish' of a response says that the kernel has its bytes: what ends a connection, or the process, after it cuts nothing.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import tls from 'node:tls';

import test from 'ava';

import { cert } from '../helpers/certificate.mjs';

const SERVER = fileURLToPath(new URL('../fixtures/finish-server.mjs', import.meta.url));
const STEP = 128 * 1024;
const MOST = 64 * STEP;
/** Milliseconds after which a response is taken for one that waits for its client. */
const SILENCE = 300;

/** How many bytes of a body come if the client begins to read after `finished`, or after a time; and which it was. */
async function read(port, isSecure, size, finished) {
  const options = { port, host: '127.0.0.1', ca: cert, servername: 'localhost' };
  const socket = isSecure ? tls.connect(options) : net.connect(options);
  await once(socket, isSecure ? 'secureConnect' : 'connect');
  socket.on('error', () => {});
  socket.write(`GET /${size} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const isFinished = await Promise.race([finished().then(() => true), new Promise((resolve) => setTimeout(resolve, SILENCE, false))]);
  const bytes = Buffer.concat(await socket.toArray());
  return { isFinished, length: bytes.length - bytes.indexOf('\r\n\r\n') - 4 };
}

/** `end`: destroy, idle or exit. */
async function start(t, way, isSecure, end) {
  const server = fork(SERVER, [way, isSecure ? 'tls' : 'tcp', end]);
  t.teardown(() => server.kill());
  const [port] = await once(server, 'message');
  return { finished: () => once(server, end === 'exit' ? 'exit' : 'message'), port };
}

for (const way of ['http', 'listen']) {
  for (const isSecure of [false, true]) {
    test.serial(`${way}, ${isSecure ? 'tls' : 'tcp'}: all that has finished arrives, whatever ends then`, async (t) => {
      let size = 0;
      for (const end of ['destroy', 'idle']) {
        const { finished, port } = await start(t, way, isSecure, end);
        // The first one that does not finish by itself is more than the kernel takes.
        for (size = STEP; ; size += STEP) {
          const { isFinished, length } = await read(port, isSecure, size, finished);
          t.is(length, size, end);
          if (!isFinished) break;
          t.true(size < MOST, 'the kernel takes all');
        }
      }
      const { finished, port } = await start(t, way, isSecure, 'exit');
      t.is((await read(port, isSecure, size - STEP, finished)).length, size - STEP, 'exit');
    });

    test.serial(`${way}, ${isSecure ? 'tls' : 'tcp'}: a download is not of sendBudget`, async (t) => {
      const { port } = await start(t, way, isSecure, 'destroy');
      const size = 20 << 20;
      t.is((await read(port, isSecure, `${size}?whole`, () => Promise.resolve())).length, size);
    });
  }
}
