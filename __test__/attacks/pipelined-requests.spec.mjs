// A client that pipelines requests, or sends a body in tiny chunks, as fast as it can: no turn of the event loop has to
// parse more than a socket of Node brings, a WebSocket beside it is answered, and all is answered in the end.
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';

import { wsClient } from '../helpers/clients.mjs';
import { startGiven } from '../helpers/handoff.mjs';

const KIB = 1024;
/** Most bytes of a turn: its share, the buffer of the stream, and one delivery. */
const MOST_IN_TURN = 208 * KIB;
const GET = 'GET /up HTTP/1.1\r\nHost: a\r\n\r\n';
const CHUNK = '1\r\na\r\n';
const GETS = 15_000;
const CHUNKS = 100_000;

/** The bytes that are sent, and the number of answers to them. */
const ATTACKS = {
  'pipelined requests': { bytes: GET.repeat(GETS), unit: GET.length, answers: GETS },
  'chunks of one byte': { bytes: `POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNK.repeat(CHUNKS)}0\r\n\r\n`, unit: CHUNK.length, answers: 1 },
};

for (const [name, { bytes, unit, answers }] of Object.entries(ATTACKS)) {
  test.serial(name, async (t) => {
    let units = 0;
    const { port, wss } = await startGiven(t, 'relay', (request, response) => {
      if (answers !== 1) units++;
      request.on('data', () => units++);
      request.on('end', () => response.end('ok'));
    }, { path: '/live' });
    wss.on('connection', (ws) => ws.on('message', (data) => ws.send(data)));
    const canary = new wsClient(`ws://127.0.0.1:${port}/live`);
    t.teardown(() => canary.terminate());
    await once(canary, 'open');
    let echoes = 0;
    canary.on('message', () => {
      echoes++;
      canary.send('beat');
    });
    canary.send('beat');
    const client = net.connect(port, '127.0.0.1');
    t.teardown(() => client.destroy());
    let [got, rest] = [0, ''];
    client.on('data', (data) => {
      const parts = (rest + data.toString('latin1')).split('\r\n\r\nok');
      got += parts.length - 1;
      rest = parts.at(-1);
    });
    client.write(bytes);
    let [handled, most] = [0, 0];
    while (got < answers) {
      await new Promise(setImmediate);
      most = Math.max(most, units - handled);
      handled = units;
    }
    t.is(units * unit, bytes.length - (answers === 1 ? bytes.indexOf(CHUNK) + '0\r\n\r\n'.length : 0));
    t.true(most * unit <= MOST_IN_TURN, `${most * unit} bytes in one turn`);
    t.true(echoes > 1, `${echoes}`);
  });
}
