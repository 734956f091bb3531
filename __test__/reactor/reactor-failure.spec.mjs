// P11: the reactor thread dies. Connections and servers report it, and give it nothing more.
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';

import { Child, askRaw, frame, implementation, openVisitor, ownOnLinuxSerial, ownSerial } from '../helpers/index.mjs';
import { TOPIC_WAYS, heardBy, join } from '../helpers/topics.mjs';

const { WebSocketServer } = implementation;

/**
 * The thread can be made to die only in a process of its own; this is what the report of its death does, from which no
 * process recovers.
 */
function pretendFailure() {
  const { fail } = createRequire(import.meta.url)('../../lib/reactor/table.js');
  fail(new Error('The reactor thread failed: as pretended'), false);
}

ownSerial('an HTTP server goes on: its connections are served on this thread', async (t) => {
  pretendFailure();
  const server = http.createServer();
  const wss = new WebSocketServer({ server });
  t.teardown(() => server.close());
  wss.on('connection', (ws) => ws.on('message', (data) => ws.send(data, { binary: false })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = await openVisitor(t, `ws://127.0.0.1:${server.address().port}`);
  client.send('hello');
  t.is(String((await once(client, 'message'))[0]), 'hello');
  client.close();
  t.is((await once(client, 'close'))[0], 1005);
});

for (const slow of ['queue', 'catch-up']) {
  ownSerial(`topics of an HTTP server go on, ${slow}`, async (t) => {
    const server = await TOPIC_WAYS.https(t, { topicOptions: () => ({ history: 10, slow }) });
    const [one, two] = [await join(t, server), await join(t, server)];
    one.ws.subscribe('room');
    server.publish('room', 'past');
    pretendFailure();
    const answer = new Promise((resolve) => two.ws.subscribe('room', { since: 'oldest' }, resolve));
    t.is(server.publish('room', 'live'), 2);
    const { recovered, replayed, position } = await answer;
    t.deepEqual([recovered, replayed, position.offset], [true, 1, 1]);
    await t.throwsAsync(server.history('room'), { message: 'The reactor failed' });
    t.deepEqual(await heardBy(one, two), [['past', 'live'], ['past', 'live']]);
  });
}

ownSerial('a port: an error', async (t) => {
  pretendFailure();
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.is((await once(wss, 'error'))[0].message, 'The reactor thread failed: as pretended');
  wss.close();
  await once(wss, 'close');
});

// With 'auto' the event loop notices, or the thread.
for (const [reactors, turns] of [['1', ''], ['"auto"', ''], ['"auto"', 'every-turn']]) {
  ownOnLinuxSerial(`reactors: ${reactors} ${turns}: connections close with 1006, the server has an 'error', and the process ends by itself`, async (t) => {
    const child = new Child(t, 'failing.mjs', ['port', reactors], { env: { REACTOR_WS_SWITCH: turns } });
    const raw = await askRaw(t, await child.line(0));
    await raw.until((text) => text.includes('\r\n\r\n'));
    await raw.send(frame(1, 'a'));
    // The flush that echoes wakes the reactor from its last wait.
    await raw.closed();
    const { code, signal, stdout, stderr } = await child.ended();
    t.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
    t.deepEqual(stdout.trim().split('\n').slice(1).sort(), [
      'send: WebSocket is not open: readyState 3 (CLOSED)',
      'server close',
      'server error: WS_ERR_REACTOR_FAILED: The reactor failed: waiting for events failed: Invalid argument (os error 22)',
      'ws close 1006 reactor-failed',
    ]);
  });
}

for (const dying of [0, 1, 2]) {
  ownOnLinuxSerial(`reactor ${dying} of 3 dies: requests are read meanwhile, and later`, async (t) => {
    const { code, stdout, stderr } = await new Child(t, 'outliving.mjs', [dying]).ended();
    t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '30\nerror\nopen\n40\n', stderr: '' });
  });
}

for (const reactors of ['0', '1', '3', '"auto"']) {
  ownOnLinuxSerial(`${reactors} reactors that cannot start: 'error' has the code of the system`, async (t) => {
    const { code, stdout, stderr } = await new Child(t, 'unstartable.mjs', [reactors]).ended();
    t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'EMFILE -24\n', stderr: '' });
  });
}
