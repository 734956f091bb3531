// pause(), resume() and the methods of the raw socket of a connection.
import { once } from 'node:events';

import { frame } from '../../helpers/clients.mjs';
import { section } from '../scenario.mjs';

const s = section('pausing');
export default s;

const CLOSE = frame(8, Buffer.from([3, 232]));

s.session('isPaused', async ({ c, ws, peer }) => {
  c.log('server', ws.isPaused, ws.pause(), ws.isPaused, ws.pause(), ws.resume(), ws.isPaused, ws.resume());
  ws.on('close', () => {
    ws.pause();
    c.log('server', 'in close', ws.isPaused);
  });
  await peer.send(CLOSE);
});

s.session('a paused WebSocket gets nothing until resume()', async ({ c, ws, peer }) => {
  ws.pause();
  await peer.send(Buffer.concat([frame(1, 'a'), frame(1, 'b')]));
  await c.settle();
  c.log('server', 'resume');
  ws.resume();
  await once(ws, 'message');
  await peer.send(CLOSE);
});

s.session('pause() inside a message handler: the rest of the chunk still comes', async ({ c, ws, peer }) => {
  ws.once('message', () => ws.pause());
  const third = new Promise((resolve) => {
    ws.on('message', (data) => String(data) === 'c' && resolve());
  });
  await peer.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(1, 'c')]));
  await third;
  await peer.send(frame(1, 'd'));
  await c.settle();
  c.log('server', 'resume');
  ws.resume();
  await peer.send(CLOSE);
});

s.session('a paused WebSocket can send and be closed', async ({ c, ws, peer }) => {
  ws.pause();
  ws.send('sent');
  await peer.frames(1);
  ws.close(1000);
  await peer.frames(2);
  await peer.send(CLOSE);
  await c.settle();
  ws.resume();
});

s.session('a paused WebSocket and terminate()', async ({ c, ws, peer }) => {
  ws.pause();
  await peer.send(frame(1, 'unread'));
  await c.settle();
  ws.terminate();
  c.log('server', ws.isPaused);
});

s.session('the last word over pause() and resume() of the socket', async ({ c, ws, peer }) => {
  ws._socket.pause();
  ws.resume();
  const first = once(ws, 'message');
  await peer.send(frame(1, 'a'));
  await first;
  ws.pause();
  ws._socket.resume();
  ws.pause();
  await peer.send(Buffer.concat([frame(1, 'b'), frame(9, 'c')]));
  await c.settle();
  c.log('server', 'resume');
  ws.resume();
  await peer.send(CLOSE);
});

s.session('pause() and resume() in the handler of each message, one event per turn', async ({ ws, peer }) => {
  const third = new Promise((resolve) => {
    ws.on('message', (data) => {
      ws.pause();
      ws.resume();
      if (String(data) === 'c') resolve();
    });
  });
  await peer.send(Buffer.concat(['a', 'b', 'c'].map((text) => frame(1, text))));
  await third;
  await peer.send(Buffer.concat([...['d', 'e', 'f'].map((text) => frame(1, text)), CLOSE]));
}, { allowSynchronousEvents: false });

s.session('close() on a paused WebSocket whose peer does not come: the timer', ({ ws }) => {
  ws.pause();
  ws.close(1000);
}, { closeTimeout: 30 });

s.session('close() on a paused WebSocket whose peer has sent messages: they come at the end of the timer', async ({ c, ws, peer }) => {
  ws.pause();
  await peer.send(frame(1, 'unread'));
  await c.settle();
  ws.close(1000);
}, { closeTimeout: 30 });

s.session('pause() and resume() in one turn', async ({ ws, peer }) => {
  ws.pause();
  ws.resume();
  await peer.send(Buffer.concat([frame(1, 'a'), CLOSE]));
});

s.session('a paused WebSocket whose peer ends: close comes after resume()', async ({ c, ws, peer }) => {
  ws.pause();
  peer.send(frame(1, 'last'));
  peer.end();
  await c.settle();
  c.log('server', 'resume');
  ws.resume();
});

for (const way of ['end', 'reset']) {
  s.over('port', 'server', 'noServer')(`a paused WebSocket whose peer is gone (${way}), with nothing unread: close comes at once`, async (c) => {
    const { ws, peer, closed } = await c.open();
    ws.pause();
    await c.settle();
    peer[way]();
    await closed;
    c.log('server', ws.isPaused, ws.readyState);
  });
}

s.over('port', 'server', 'noServer')('pause() in a message handler, and then the end of the peer', async (c) => {
  const { ws, peer, closed } = await c.open();
  const got = once(ws, 'message');
  ws.on('message', () => ws.pause());
  await peer.send(frame(1, 'only'));
  await got;
  peer.end();
  await closed;
});

s.session('pause() in the connection handler', async ({ c, ws }) => {
  await c.settle();
  c.log('server', 'resume');
  ws.resume();
}, {}, { onConnection: (ws) => ws.pause(), early: Buffer.concat([frame(1, 'early'), CLOSE]) });

for (const [method, ...args] of [['destroy'], ['destroy', new Error('mine')], ['resetAndDestroy'], ['destroySoon']]) {
  s.over('port', 'server', 'noServer')(`_socket.${method}() with ${args.length} arguments`, (c) =>
    c.session({}, ({ ws }) => {
      for (const event of ['error', 'close']) ws._socket.on(event, () => c.log('socket', event));
      ws._socket[method](...args);
      c.log('server', ws._socket.destroyed, ws.readyState);
    }),
  );
}

s.session('_socket.destroy(error) is no error of the WebSocket', ({ ws }) => {
  ws._socket.destroy(new Error('mine'));
});

s.session('terminate() destroys the socket', async ({ c, ws }) => {
  ws._socket.on('close', (...args) => c.log('socket', 'close', ...args));
  ws.terminate();
  c.log('socket', ws._socket.destroyed);
});

s.over('port', 'server', 'noServer')('_socket.write() and end(): callbacks and finish', (c) =>
  c.session({}, async ({ ws }) => {
    const { _socket: socket } = ws;
    ws.send('a');
    const written = new Promise((resolve) => { socket.write(Buffer.from([0x81, 1]), resolve); });
    socket.write('b');
    socket.end(Buffer.alloc(0));
    await Promise.all([written, once(socket, 'finish')]);
    // destroySoon() looks at it.
    c.log('socket', socket.writableFinished, await new Promise((resolve) => { socket.end(resolve); }));
  }),
);

s.session('_socket.end()', ({ c, ws }) => {
  ws._socket.end();
  c.log('server', ws._socket.writable, ws._socket.writableEnded);
});

s.session('_socket.write() puts bytes between frames', async ({ c, ws, peer }) => {
  ws.send('a');
  c.log('server', ws._socket.write(Buffer.from('8101ff'.slice(0, 4) + '62', 'hex')));
  ws.send('c');
  await peer.frames(3);
  await peer.send(CLOSE);
});

s.session('events of the socket when the peer closes', ({ c, ws, peer }) => {
  for (const event of ['end', 'close', 'error']) ws._socket.on(event, () => c.log('socket', event));
  return peer.send(CLOSE);
});

s.session('events of the socket when the peer just ends', ({ c, ws, peer }) => {
  for (const event of ['end', 'close', 'error']) ws._socket.on(event, () => c.log('socket', event));
  peer.end();
});

s.session('setTimeout() of the socket', async ({ c, ws }) => {
  if (c.way === 'stream') return ws.terminate();
  ws._socket.setTimeout(20, () => {
    c.log('socket', 'timeout');
    ws.terminate();
  });
});

s.session('methods of the socket return it', ({ c, ws, peer }) => {
  const socket = ws._socket;
  for (const name of ['setNoDelay', 'setKeepAlive', 'ref', 'unref', 'setTimeout', 'pause', 'resume']) {
    c.log('socket', name, typeof socket[name] === 'function' && socket[name](0) === socket);
  }
  return peer.send(CLOSE);
});

s.all('_sender and _receiver are there', async (c) => {
  const { ws, peer, closed } = await c.open({ maxBufferedChunks: 1024, maxFragments: 512, maxPayload: 20480, skipUTF8Validation: true });
  const fields = ['_maxBufferedChunks', '_maxFragments', '_maxPayload', '_skipUTF8Validation', '_isServer', '_allowSynchronousEvents', '_binaryType', '_extensions'];
  for (const name of fields) c.log('receiver', name, ws._receiver[name]);
  ws._receiver.on('conclude', (...args) => c.log('receiver', 'conclude', ...args, ws.readyState));
  c.log('server', typeof ws._sender, typeof ws._receiver, typeof ws._sender.sendFrame, ws._sender._socket === ws._socket);
  ws._sender.sendFrame(c.impl.Sender.frame(Buffer.from('framed'), { fin: true, opcode: 1, mask: false }), (error) =>
    c.log('callbacks', error),
  );
  await peer.frames(1);
  peer.send(CLOSE);
  await Promise.all([closed, peer.closed()]);
  c.log('server', ws._socket !== null, ws._isServer);
});
