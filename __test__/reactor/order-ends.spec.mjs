// A peer's end: 'close' comes before a later request, and after work that handlers have put off.
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { RawClient, isInline, isReference, test, upgradeRequest } from '../helpers/index.mjs';
import { SERVERS, listening } from '../helpers/order.mjs';

const threadOnly = isReference || isInline ? test.skip : test.serial;

/** Opens a connection on each 'open', and ends its side at last; the shared word counts ends. */
const ENDING = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { port, request, word } = workerData;
  let socket;
  const open = () => {
    let text = '';
    socket = require('node:net').connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(request));
    socket.once('data', () => parentPort.postMessage('open'));
    socket.on('data', (data) => (text += data.toString('latin1')));
    socket.on('close', () => parentPort.postMessage(text));
    socket.on('finish', () => {
      Atomics.add(word, 0, 1);
      Atomics.notify(word, 0);
    });
  };
  parentPort.on('message', ({ name, bytes }) => (name === 'open' ? open() : socket[name](bytes, 'latin1')));
`;

/**
 * Puts the answer off to a timer that is due when the handler returns: Node calls the timer before
 * it reads any socket again.
 */
function toDueTimer(act, milliseconds = 2) {
  setTimeout(act, 0);
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

const MESSAGE = '\x81\x81\0\0\0\0a';

/** Ways to put an answer off with which `ws` sends it, wherever the end comes. */
const PUT_OFF = {
  'not at all': (act) => act(),
  'to a tick': (act) => process.nextTick(act),
  'to a job': async (act) => act(await null),
  'to an immediate': (act) => setImmediate(act),
  'to an immediate of a tick': (act) => process.nextTick(setImmediate, act),
  'to an immediate of a job': async (act) => setImmediate(act, await null),
  'to an immediate that is not waited for': (act) => setImmediate(act).unref(),
  'to a job of a tick of an immediate': (act) => setImmediate(() => process.nextTick(async () => act(await null))),
  'to a timer': (act) => toDueTimer(act),
  'to a timer, for longer than a delivery lasts': (act) => toDueTimer(act, 12),
  'to a timer beside an immediate': (act) => toDueTimer(act, setImmediate(() => {}) && 2),
  'to an immediate beside a timer': (act) => toDueTimer(() => {}, setImmediate(act) && 2),
  'to a timer of an immediate': (act) => setImmediate(toDueTimer, act),
  'to the callback of a send': (act, ws) => ws.send('s', act),
  'to an immediate of the callback of a send': (act, ws) => ws.send('s', () => setImmediate(act)),
  'to the callback of a send of an immediate': (act, ws) => setImmediate(() => ws.send('s', act)),
};

/** The place of the end: actions when the peer is open, and in the handler of its message. */
const ENDS = {
  'together with the message': { opened: (peer) => peer.end(MESSAGE) },
  'while its handler runs': { opened: (peer) => peer.write(MESSAGE), handled: (peer) => peer.end() },
  'in the turn of its handler': {
    opened: (peer) => peer.write(MESSAGE),
    handled: (peer) => setImmediate(() => peer.end()),
  },
};

/** A peer in another thread, which ends its side while this one does nothing else. */
function endingPeer(t, server) {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { port: server.address().port, request: upgradeRequest(), word };
  const worker = new Worker(ENDING, { eval: true, workerData });
  t.teardown(() => worker.terminate());
  return {
    heard: async () => (await once(worker, 'message'))[0],
    /** Calls back when the peer is open, and not in a promise job. */
    open(isOpen) {
      worker.postMessage({ name: 'open' });
      worker.once('message', isOpen);
    },
    write: (bytes) => worker.postMessage({ name: 'write', bytes }),
    /** Ends the peer's side after these bytes, and waits for the end. */
    end(bytes = '') {
      const ended = word[0];
      worker.postMessage({ name: 'end', bytes });
      t.not(Atomics.wait(word, 0, ended, 60_000), 'timed-out');
    },
  };
}

for (const [way, start] of Object.entries(SERVERS)) {
  test.serial(`${way}: what handlers put off is answered, wherever the end comes`, async (t) => {
    const { server } = await listening(t, start);
    const peer = endingPeer(t, server);
    let putOff;
    let handled;
    server.on('connection', (ws) =>
      ws.on('message', () => {
        putOff(() => ws.send('m'), ws);
        handled?.(peer);
      }),
    );
    for (const [how, act] of Object.entries(PUT_OFF)) {
      for (const [when, end] of Object.entries(ENDS)) {
        for (const isInJob of [false, true]) {
          putOff = act;
          ({ handled } = end);
          await new Promise((resolve) =>
            peer.open(() => {
              if (!isInJob) end.opened(peer);
              resolve();
            }),
          );
          if (isInJob) end.opened(peer);
          t.true((await peer.heard()).endsWith('\x81\x01m'), `put off ${how}, the end comes ${when}`);
        }
      }
    }
  });

  test.serial(`${way}: 'close' comes when what came before has taken long`, async (t) => {
    const { server } = await listening(t, start);
    const peer = endingPeer(t, server);
    let handled = 0;
    server.on('connection', (ws) =>
      ws.on('message', () => {
        // The end comes while this handler runs, and so with the next batch.
        if (handled++ === 0) peer.end(MESSAGE);
        const until = performance.now() + 12;
        while (performance.now() < until);
      }),
    );
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => peer.open(resolve));
      const clients = [];
      for (let client; clients.length < 4; clients.push(client)) {
        client = await RawClient.connect(t, server.address().port);
        client.send(upgradeRequest());
        await client.until((text) => text.includes('\r\n\r\n'));
      }
      handled = 0;
      for (const client of clients) {
        client.send(MESSAGE);
        client.end();
      }
      // Our side ends when the peer's end has been reported.
      await Promise.all([...clients.map((client) => client.closed()), peer.heard()]);
    }
    t.pass();
  });
}

/**
 * A peer in another thread that closes, or answers the server's close frame. The shared word is 1
 * when it may go on after the server's close frame, and 2 when it has seen the end.
 */
const CLOSING = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { port, request, word, closes } = workerData;
  const frame = Buffer.from('888200000000' + '03e8', 'hex');
  const socket = require('node:net').connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(request));
  let text = '';
  socket.on('data', (data) => {
    const before = text;
    text += data.toString('latin1');
    if (!before.includes('\\r\\n\\r\\n') && text.includes('\\r\\n\\r\\n') && closes) socket.write(frame);
    if (before.includes('\\x88\\x02') || !text.includes('\\x88\\x02')) return;
    Atomics.wait(word, 0, 0);
    if (closes) socket.end();
    else socket.write(frame);
  });
  socket.on('end', () => {
    Atomics.store(word, 0, 2);
    Atomics.notify(word, 0);
    socket.end();
  });
`;

for (const [way, start] of Object.entries(SERVERS)) {
  for (const closes of [true, false]) {
    threadOnly(`${way}: the end of a close that both sides know waits for no handler: ${closes ? 'the peer' : 'the server'} closes`, async (t) => {
      const { server } = await listening(t, start);
      const word = new Int32Array(new SharedArrayBuffer(4));
      const workerData = { port: server.address().port, request: upgradeRequest(), word, closes };
      const worker = new Worker(CLOSING, { eval: true, workerData });
      t.teardown(() => worker.terminate());
      const [ws] = await once(server, 'connection');
      await nextTurn();
      if (!closes) ws.close(1000);
      while (ws.readyState === ws.OPEN) await nextTurn();
      Atomics.store(word, 0, 1);
      Atomics.notify(word, 0);
      t.not(Atomics.wait(word, 0, 1, 60_000), 'timed-out');
      // After our answer 'close' comes at once. After the peer's answer it waits for JavaScript.
      if (!closes) t.is(ws.readyState, ws.CLOSING);
      if (ws.readyState !== ws.CLOSED) await once(ws, 'close');
    });
  }
}
