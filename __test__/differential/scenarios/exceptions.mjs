// Handlers and hooks of the user that throw.
import { frame } from '../../helpers/clients.mjs';
import { section } from '../scenario.mjs';

const s = section('exceptions');
export default s;

const CLOSE = frame(8, Buffer.from([3, 232]));
const fail = (where) => {
  throw new Error(`in ${where}`);
};

for (const [event, bytes] of Object.entries({ message: frame(1, 'a'), ping: frame(9, 'p'), pong: frame(10, 'q') })) {
  s.all(`in a ${event} handler`, async (c) => {
    const { ws, peer } = await c.open();
    const uncaught = c.uncaught();
    ws.on(event, () => fail(event));
    peer.send(bytes);
    await uncaught;
    c.log('server', 'readyState', ws.readyState);
  });
}

s.all('in a message handler: what comes later', async (c) => {
  const { ws, peer, closed } = await c.open();
  const uncaught = c.uncaught();
  ws.once('message', () => fail('message'));
  peer.send(frame(1, 'a'));
  await uncaught;
  await peer.send(Buffer.concat([frame(1, 'b'), CLOSE]));
  peer.end();
  await Promise.race([closed, peer.closed()]);
});

s.all('an error event without a listener', async (c) => {
  const { ws, peer } = await c.open({}, { events: ['message'] });
  const uncaught = c.uncaught();
  ws.removeAllListeners('error');
  peer.send(frame(3));
  await uncaught;
});

s.all('in an error handler', async (c) => {
  const { ws, peer } = await c.open();
  const uncaught = c.uncaught();
  ws.on('error', () => fail('error'));
  peer.send(frame(3));
  await uncaught;
  await peer.frames(1);
  peer.report();
});

s.all('in a close handler', async (c) => {
  const { wss, ws, peer } = await c.open();
  const uncaught = c.uncaught();
  ws.on('close', () => fail('close'));
  peer.send(CLOSE);
  await uncaught;
  await peer.closed();
  c.log('server', ws.readyState, wss.clients.size);
});

s.session('in the callback of send()', async ({ c, ws, peer }) => {
  const uncaught = c.uncaught();
  ws.send('a', () => fail('callback'));
  const called = new Promise((resolve) => ws.send('b', resolve));
  await Promise.all([uncaught, called, peer.frames(2)]);
  peer.send(CLOSE);
});

s.all('in a handler of an on* attribute', async (c) => {
  const { ws, peer } = await c.open();
  const uncaught = c.uncaught();
  ws.onmessage = () => fail('onmessage');
  peer.send(frame(1, 'a'));
  await uncaught;
});

s.all('in the connection handler: the connection is open', async (c) => {
  const { wss, port } = await c.listen();
  const uncaught = c.uncaught();
  let ws;
  wss.on('connection', (one) => {
    ws = one;
    c.watch('server', ws);
    fail('connection');
  });
  const peer = await c.peer(port);
  await peer.upgrade();
  await uncaught;
  await peer.upgraded();
  c.log('peer', peer.head);
  c.log('server', ws.readyState, wss.clients.size);
  const closed = new Promise((resolve) => ws.on('close', resolve));
  await peer.send(Buffer.concat([frame(1, 'a'), CLOSE]));
  await Promise.all([closed, peer.closed()]);
});

const hooks = {
  verifyClient: { options: { verifyClient: () => fail('verifyClient') } },
  handleProtocols: { options: { handleProtocols: () => fail('handleProtocols') }, request: { 'Sec-WebSocket-Protocol': 'a' } },
  'a headers listener': { prepare: (wss) => wss.on('headers', () => fail('headers')) },
  shouldHandle: { prepare: (wss) => { wss.shouldHandle = () => fail('shouldHandle'); } },
  'a wsClientError listener': { prepare: (wss) => wss.on('wsClientError', () => fail('wsClientError')), request: { Upgrade: 'x' } },
  'the constructor of the WebSocket': { options: (c) => ({ WebSocket: class extends c.WebSocket { constructor(...args) { super(...args); fail('new'); } } }) },
};
for (const [name, { options = {}, request, prepare = () => {} }] of Object.entries(hooks)) {
  s.all(`in ${name}: the server goes on`, async (c) => {
    const { wss, port } = await c.listen(typeof options === 'function' ? options(c) : options);
    const uncaught = c.uncaught();
    wss.on('connection', () => c.log('server', 'connection'));
    prepare(wss);
    const peer = await c.peer(port);
    await peer.upgrade(request);
    await uncaught;
    c.log('server', wss.clients.size);
    peer.reset();
    wss.shouldHandle = () => false;
    const other = await c.peer(port);
    await other.upgrade();
    await other.closed();
  });
}
