// Methods and getters of WebSocket that the `WebSocket` option, an instance or a patched prototype
// replaces: the ones that ws calls itself are called, and take effect.
import { section, watchMethods } from '../scenario.mjs';

const s = section('websocket overrides');
export default s;

const METHODS = ['setSocket', 'emit', 'emitClose', 'close', 'terminate', 'pong', 'ping', 'send', 'pause', 'resume'];
const CLOSE = ['8882 00000000 03e8'];

/** The arguments of `setSocket`, and those of other methods. */
const shown = (name, args) =>
  name === 'setSocket' ? [typeof args[0].write, args[1], args[2]] : args.map((arg) => (arg instanceof Error ? arg.message : arg));

/** Wraps methods so that they log their arguments. */
function watch(c, target, names) {
  watchMethods(c, target, names, (name, args) => c.log(name, ...shown(name, args)));
}

const acts = {
  'a message, a ping and a close of the peer': async ({ ws, peer }) => {
    ws.on('message', (data) => ws.send(data));
    await peer.send(['8182 00000000 6869']);
    await peer.frames(1);
    await peer.send(['8982 00000000 7069']);
    await peer.frames(2);
    await peer.send(CLOSE);
  },
  'an invalid frame': async ({ peer }) => {
    await peer.send(['c182 00000000 6869']);
    await peer.frames(1);
    await peer.send(CLOSE);
    peer.end();
  },
  'a peer that just ends': async ({ peer }) => {
    peer.end();
  },
  'its own close': async ({ ws, peer }) => {
    ws.close(1001, 'bye');
    await peer.frames(1);
    await peer.send(CLOSE);
  },
};

for (const [title, act] of Object.entries(acts)) {
  s.all(`of the class: ${title}`, async (c) => {
    const Class = class extends c.WebSocket {};
    watch(c, Class.prototype, METHODS);
    await c.session({ WebSocket: Class }, act, { events: [] });
  });
  s.all(`of the prototype: ${title}`, async (c) => {
    const listening = await c.listen({});
    watch(c, c.WebSocket.prototype, METHODS.filter((name) => name !== 'pong'));
    const session = await c.join(listening, { events: [] });
    await act(session);
    await Promise.all([session.closed, session.peer.closed()]);
  });
  s.all(`of the instance: ${title}`, async (c) => {
    await c.session({}, act, { events: [], onConnection: (ws) => watch(c, ws, METHODS.filter((name) => name !== 'pong')) });
  });
}

s.all('a pong of the class that does not answer', async (c) => {
  const Class = class extends c.WebSocket {
    pong(...args) { c.log('pong', args[0], args[1], typeof args[2]); }
  };
  await c.session({ WebSocket: Class }, async ({ peer }) => {
    await peer.send(['8982 00000000 7069']);
    await peer.send(CLOSE);
  });
});

s.all('a close of the class that does not answer', async (c) => {
  const Class = class extends c.WebSocket {
    close(...args) { c.log('close', ...args); c.closing(); }
  };
  const closing = new Promise((resolve) => { c.closing = resolve; });
  const { ws, peer, closed } = await c.open({ WebSocket: Class });
  await peer.send(CLOSE);
  await closing;
  await c.settle();
  peer.report();
  c.log('server', ws.readyState);
  ws.terminate();
  await closed;
});

s.all('an emit of the class that keeps messages to itself', async (c) => {
  const Class = class extends c.WebSocket {
    emit(event, ...args) {
      if (event !== 'message') return super.emit(event, ...args);
      c.log('emit', event, ...args);
      return true;
    }
  };
  await c.session({ WebSocket: Class }, async ({ peer }) => {
    await peer.send(['8182 00000000 6869']);
    await peer.send(CLOSE);
  });
});

s.all('a readyState of the class that says closed', async (c) => {
  const Class = class extends c.WebSocket {
    get readyState() { return this.isDown ? 3 : super.readyState; }
  };
  await c.session({ WebSocket: Class }, async ({ ws, peer }) => {
    ws.isDown = true;
    await new Promise((resolve) => { ws.send('x', (error) => { c.log('send', error); resolve(); }); });
    await new Promise((resolve) => { ws.ping('x', false, (error) => { c.log('ping', error); resolve(); }); });
    ws.close(1001);
    ws.pause();
    c.log('server', ws.isPaused);
    ws.isDown = false;
    await peer.send(CLOSE);
  });
});

s.all('a setSocket of the class that keeps the socket', async (c) => {
  const Class = class extends c.WebSocket {
    setSocket(socket, head) { c.log('setSocket', head, socket.writable); this.kept = socket; }
  };
  const opened = new Promise((resolve) => { c.opened = resolve; });
  const { wss, port } = await c.listen({ WebSocket: Class });
  wss.on('connection', (ws) => { c.log('server', ws.readyState, wss.clients.size); c.opened(ws); });
  const peer = await c.peer(port);
  await peer.upgrade({});
  const ws = await opened;
  await peer.upgraded();
  c.log('peer', peer.head);
  ws.kept.destroy();
  await peer.closed();
  // No connection is left to be terminated.
  ws._readyState = 3;
});
