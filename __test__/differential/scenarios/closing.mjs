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

s.all('by the peer, without a code', (c) => c.session({}, ({ peer }) => peer.send(frame(8))));
s.all('by the peer, with every code that it may use', async (c) => {
  for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 4999]) {
    await c.session({}, ({ peer }) => peer.send(closeFrame(code)));
  }
});
s.all('by the peer, with a reason', (c) => c.session({}, ({ peer }) => peer.send(closeFrame(1000, 'done ✓'))));
s.all('by the peer, with a reason of 123 bytes', (c) =>
  c.session({}, ({ peer }) => peer.send(closeFrame(4000, 'r'.repeat(123)))),
);

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

s.all('arguments that close() does not take', async (c) => {
  await c.session({}, async ({ ws, peer }) => {
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
});

s.all('calling close() again, also with wrong arguments', (c) =>
  c.session({}, async ({ ws, peer }) => {
    ws.close(1000, 'first');
    c.log('server', outcome(() => ws.close(1001, 'second')), outcome(() => ws.close(7)));
    await peer.frames(1);
    await peer.send(closeFrame(1000));
    ws.on('close', () => c.log('server', outcome(() => ws.close(7)), outcome(() => ws.terminate())));
  }),
);

s.all('messages that come after close() was called', (c) =>
  c.session({}, async ({ ws, peer }) => {
    ws.close(1000);
    await peer.frames(1);
    await peer.send(Buffer.concat([frame(1, 'still'), frame(10, 'pong'), closeFrame(1000)]));
  }),
);

s.all('close() in the message handler sends what was sent before', (c) =>
  c.session({}, ({ ws, peer }) => {
    ws.on('message', () => {
      ws.send('a');
      ws.send('b');
      ws.close(1000, 'end');
      state(c, ws, 'state');
    });
    return peer.send(Buffer.concat([frame(1, 'go'), closeFrame(1000)]));
  }),
);

s.all('states while closing', (c) =>
  c.session({}, async ({ ws, peer }) => {
    state(c, ws, 'open');
    ws.on('close', () => state(c, ws, 'in close'));
    ws.on('message', () => state(c, ws, 'in message'));
    ws.close(1000);
    await peer.frames(1);
    await peer.send(Buffer.concat([frame(1, 'x'), closeFrame(1000)]));
  }),
);

s.all('the server ends its side only after both close frames', async (c) => {
  const { ws, peer, closed } = await c.open();
  peer.answersEnd = false;
  ws.close(1000);
  await peer.frames(1);
  c.log('peer', 'closes');
  peer.send(closeFrame(1000));
  await peer.ended();
  c.log('server', 'before the FIN of the peer', ws.readyState);
  peer.end();
  await Promise.all([closed, peer.closed()]);
});

s.all('closeTimeout: a peer that does not answer', (c) =>
  c.session({ closeTimeout: 30 }, ({ ws }) => {
    ws.close(1000, 'hello?');
  }),
);

s.all('closeTimeout: a peer that answers and does not end', async (c) => {
  const { ws, peer, closed } = await c.open({ closeTimeout: 30 });
  peer.answersEnd = false;
  // The answer comes with the message in whose handler the server closes: in
  // time, however slow the machine is.
  ws.on('message', () => ws.close(1000));
  peer.send(Buffer.concat([frame(1, 'x'), closeFrame(1000)]));
  await closed;
  peer.end();
  await peer.closed();
});

s.all('FIN without a close frame', (c) => c.session({}, ({ peer }) => peer.end()));

s.all('FIN behind a message', (c) =>
  c.session({}, ({ ws, peer }) => {
    ws.on('message', (data) => ws.send(`echo ${data}`));
    peer.send(frame(1, 'last'));
    peer.end();
  }),
);

s.all('FIN inside of a frame', (c) =>
  c.session({}, ({ peer }) => {
    peer.send(frame(1, 'cut').subarray(0, 5));
    peer.end();
  }),
);

s.all('RST', async (c) => {
  const { peer, closed } = await c.open();
  peer.reset();
  await closed;
});

s.all('terminate()', (c) =>
  c.session({}, ({ ws }) => {
    c.log('server', 'returns', ws.terminate());
    state(c, ws, 'state');
    ws.on('close', () => state(c, ws, 'in close'));
    c.log('server', outcome(() => ws.terminate()), outcome(() => ws.close(1000)));
  }),
);

s.all('terminate() while closing', (c) =>
  c.session({}, async ({ ws, peer }) => {
    ws.close(1000);
    await peer.frames(1);
    ws.terminate();
  }),
);

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

s.all('_closeFrameSent: after close(), and in the end', (c) =>
  c.session({}, async ({ ws, peer }) => {
    ws.close(1000);
    c.log('server', 'after close()', ws._closeFrameSent);
    await peer.frames(1);
    c.log('server', 'when the peer has it', ws._closeFrameSent);
    await peer.send(closeFrame(1000));
  }),
);

s.all('listeners are left on the WebSocket', async (c) => {
  const { ws, peer, closed } = await c.open({ clientTracking: false });
  peer.send(closeFrame(1000));
  await Promise.all([closed, peer.closed()]);
  c.log('server', ['message', 'close', 'error', 'ping'].map((event) => ws.listenerCount(event)));
});

s.all('two close frames of the peer', (c) =>
  c.session({}, ({ peer }) => peer.send(Buffer.concat([closeFrame(1000, 'one'), closeFrame(1001, 'two')]))),
);

s.all('events.once rejects for a protocol error', async (c) => {
  const { ws, peer } = await c.open();
  const waiting = once(ws, 'message');
  peer.send(['8380 00000000']);
  c.log('once', await waiting.catch((error) => error));
});
