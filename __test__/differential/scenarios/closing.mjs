// The closing handshake from both sides, and ends without one.
import { once } from 'node:events';

import { frame } from '../../helpers/clients.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('closing');
export default s;

const closeFrame = (code, reason = '') => {
  const body = Buffer.alloc(2 + Buffer.byteLength(reason));
  body.writeUInt16BE(code);
  body.write(reason, 2);
  return frame(8, body);
};

const state = (c, ws, where) => c.log('server', where, ws.readyState, ws._closeFrameReceived, ws._closeCode);

s.session('by the peer, without a code', ({ peer }) => peer.send(frame(8)));
s.all('by the peer, with every code that it may use', async (c) => {
  for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 4999]) {
    await c.session({}, ({ peer }) => peer.send(closeFrame(code)));
  }
});
s.session('by the peer, with a reason', ({ peer }) => peer.send(closeFrame(1000, 'done ✓')));
s.session('by the peer, with a reason of 123 bytes', ({ peer }) => peer.send(closeFrame(4000, 'r'.repeat(123))));

/** The server calls close(), the peer answers. */
function byServer(title, args, answer = closeFrame(1000)) {
  s.all(title, (c) =>
    c.session({}, async ({ ws, peer }) => {
      c.log('server', 'returns', ws.close(...args));
      state(c, ws, 'state');
      await peer.frames(1);
      await peer.send(answer);
    }),
  );
}

byServer('by the server, without a code', [], frame(8));
byServer('by the server, with a code', [1001]);
byServer('by the server, with code and reason', [4321, 'because'], closeFrame(4321, 'because'));
byServer('by the server, with a Buffer as reason', [1000, Buffer.from('bytes')]);
byServer('by the server, with a Uint8Array as reason', [1000, new Uint8Array([104, 105])]);
byServer('by the server, with an empty reason', [1000, '']);
byServer('by the server, with a reason of 123 bytes', [1000, 'é'.repeat(61)]);
byServer('by the server; the peer answers with another code', [1000], closeFrame(3456, 'mine'));

s.session('arguments that close() does not take', async ({ c, ws, peer }) => {
  const calls = [
    [0], [999], [1004], [1005], [1006], [1015], [1016], [2999], [5000], ['1000'], [null], [NaN], [{}],
    [1000, 'x'.repeat(124)], [1000, 'é'.repeat(62)], [1000, Buffer.alloc(124)],
    [1000, 7], [1000, {}], [1000, [1]], [1000, true], [1000, null],
  ];
  for (const [code, reason] of calls) {
    const before = ws.readyState;
    if (before !== ws.OPEN) break;
    c.log('server', outcome(() => ws.close(code, reason)), ws.readyState);
  }
  if (ws.readyState === ws.OPEN) ws.close();
  await peer.frames(1);
  await peer.send(frame(8));
});

s.session('calling close() again, also with wrong arguments', async ({ c, ws, peer }) => {
  ws.close(1000, 'first');
  c.log('server', outcome(() => ws.close(1001, 'second')), outcome(() => ws.close(7)));
  await peer.frames(1);
  await peer.send(closeFrame(1000));
  ws.on('close', () => c.log('server', outcome(() => ws.close(7)), outcome(() => ws.terminate())));
});

s.session('messages that come after close() was called', async ({ ws, peer }) => {
  ws.close(1000);
  await peer.frames(1);
  await peer.send(Buffer.concat([frame(1, 'still'), frame(10, 'pong'), closeFrame(1000)]));
});

s.session('close() in the message handler sends what was sent before', ({ c, ws, peer }) => {
  ws.on('message', () => {
    ws.send('a');
    ws.send('b');
    ws.close(1000, 'end');
    state(c, ws, 'state');
  });
  return peer.send(Buffer.concat([frame(1, 'go'), closeFrame(1000)]));
});

s.session('states while closing', async ({ c, ws, peer }) => {
  state(c, ws, 'open');
  ws.on('close', () => state(c, ws, 'in close'));
  ws.on('message', () => state(c, ws, 'in message'));
  ws.close(1000);
  await peer.frames(1);
  await peer.send(Buffer.concat([frame(1, 'x'), closeFrame(1000)]));
});

s.session('the server ends its side only after both close frames', async ({ c, ws, peer }) => {
  peer.answersEnd = false;
  ws.close(1000);
  await peer.frames(1);
  c.log('peer', 'closes');
  peer.send(closeFrame(1000));
  await peer.ended();
  c.log('server', 'before the FIN of the peer', ws.readyState);
  peer.end();
});

s.session('closeTimeout: a peer that does not answer', ({ c, ws }) => {
  c.log('server', ws._closeTimer);
  ws.close(1000, 'hello?');
  c.log('server', ws._closeTimer._idleTimeout);
}, { closeTimeout: 30 });

s.all('closeTimeout: a peer that answers and does not end', async (c) => {
  const { ws, peer, closed } = await c.open({ closeTimeout: 30 });
  peer.answersEnd = false;
  // The answer comes with the message in whose handler the server closes: in time on any machine.
  ws.on('message', () => ws.close(1000));
  peer.send(Buffer.concat([frame(1, 'x'), closeFrame(1000)]));
  await closed;
  peer.end();
  await peer.closed();
});

s.session('FIN without a close frame', ({ peer }) => peer.end());

s.session('FIN behind a message', ({ ws, peer }) => {
  ws.on('message', (data) => ws.send(`echo ${data}`));
  peer.send(frame(1, 'last'));
  peer.end();
});

s.session('FIN inside of a frame', ({ peer }) => {
  peer.send(frame(1, 'cut').subarray(0, 5));
  peer.end();
});

s.all('RST', async (c) => {
  const { peer, closed } = await c.open();
  peer.reset();
  await closed;
});

s.session('terminate()', ({ c, ws }) => {
  c.log('server', 'returns', ws.terminate());
  state(c, ws, 'state');
  ws.on('close', () => state(c, ws, 'in close'));
  c.log('server', outcome(() => ws.terminate()), outcome(() => ws.close(1000)));
});

s.session('terminate() while closing', async ({ ws, peer }) => {
  ws.close(1000);
  await peer.frames(1);
  ws.terminate();
});

s.all("close is never emitted inside of close() or terminate()", async (c) => {
  const { ws, closed } = await c.open();
  ws.terminate();
  c.log('server', 'after terminate');
  process.nextTick(() => c.log('server', 'tick'));
  await closed;
});

s.all('events that listeners of close start', async (c) => {
  const { ws, peer, closed } = await c.open();
  ws.on('close', () => {
    ws.send('x', (error) => c.log('callbacks', 'send', error));
    ws.ping('x', undefined, (error) => c.log('callbacks', 'ping', error));
    ws.pause();
    ws.resume();
    c.log('server', 'paused', ws.isPaused);
  });
  peer.send(closeFrame(1000));
  await Promise.all([closed, peer.closed()]);
  await new Promise((resolve) => ws.send('y', resolve));
});

s.session('_closeFrameSent: after close(), and in the end', async ({ c, ws, peer }) => {
  ws.close(1000);
  c.log('server', 'after close()', ws._closeFrameSent);
  await peer.frames(1);
  c.log('server', 'when the peer has it', ws._closeFrameSent);
  await peer.send(closeFrame(1000));
});

s.all('listeners are left on the WebSocket', async (c) => {
  const { ws, peer, closed } = await c.open({ clientTracking: false });
  peer.send(closeFrame(1000));
  await Promise.all([closed, peer.closed()]);
  c.log('server', ['message', 'close', 'error', 'ping'].map((event) => ws.listenerCount(event)));
});

s.session('two close frames of the peer', ({ peer }) => peer.send(Buffer.concat([closeFrame(1000, 'one'), closeFrame(1001, 'two')])));

s.all('events.once rejects for a protocol error', async (c) => {
  const { ws, peer } = await c.open();
  const waiting = once(ws, 'message');
  peer.send(['8380 00000000']);
  c.log('once', await waiting.catch((error) => error));
});
