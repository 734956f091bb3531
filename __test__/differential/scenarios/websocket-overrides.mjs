// Methods and getters of WebSocket that the `WebSocket` option replaces, and what follows from that.
// Which methods are called, however they are replaced: every-member.mjs.
import { section } from '../scenario.mjs';

const s = section('websocket overrides');
export default s;

const CLOSE = ['8882 00000000 03e8'];

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
