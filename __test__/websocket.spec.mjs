// What the programs of differential/scenarios do not show of a connection. Run with WS_IMPL=ws, the same holds for ws.

import { WebSocket, openPair, test } from './helpers/index.mjs';

test('listeners are those of any emitter', async (t) => {
  const { ws } = await openPair(t);
  // Listeners that a server with clientTracking, or this suite, has attached do not count.
  ws.removeAllListeners();
  t.deepEqual(ws.eventNames(), []);
  const calls = [];
  const listener = (...all) => calls.push(all);
  for (const event of ['a', '__proto__', 'constructor', 'toString']) {
    t.is(ws.listenerCount(event), 0);
    t.false(ws.emit(event));
    ws.on(event, listener);
  }
  ws.once('a', listener);
  t.deepEqual(ws.eventNames(), ['a', '__proto__', 'constructor', 'toString']);
  t.true(ws.emit('a', 1, 2));
  t.true(ws.emit('__proto__', 3));
  t.deepEqual(calls, [[1, 2], [1, 2], [3]]);
  ws.off('a', listener);
  t.deepEqual(ws.eventNames(), ['__proto__', 'constructor', 'toString']);
});

test('an event whose listeners are gone is gone', (t) => {
  const ws = new WebSocket(null, undefined, {});
  const removed = [];
  ws.on('removeListener', (event) => removed.push(event));
  ws.on('message', () => {});
  ws.once('close', () => {});
  ws.removeListener('message', ws.listeners('message')[0]);
  ws.emit('close');
  t.deepEqual(ws.eventNames(), ['removeListener']);
  t.deepEqual(removed, ['message', 'close']);
});
