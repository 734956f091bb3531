// verifyClient, handleProtocols, shouldHandle, 'headers' and 'wsClientError'.
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('hooks');
export default s;

/** A server, one request, its answer and the events of the server. */
async function ask(c, options, fields = {}, prepare = () => {}) {
  const { wss, port } = await c.listen(options);
  wss.on('connection', (ws) => {
    c.log('server', 'connection', ws.protocol);
    ws.close(1000);
  });
  prepare(wss);
  const peer = await c.peer(port);
  await peer.upgrade(fields);
  await peer.upgraded();
  if (peer.head.includes(' 101 ')) {
    c.log('peer', peer.head);
    await peer.frames(1);
    await peer.send(['8882 00000000 03e8']);
  }
  await peer.closed();
}

const infoOf = ({ origin, secure, req }) => [origin, secure, req.url, Object.keys(req.headers)];

/** The same over all ways; functions get the context, too. */
const asks = (title, options, fields, prepare = () => {}) => s.all(title, (c) => ask(c, options(c), fields, (wss) => prepare(wss, c)));
const prepared = (title, fields, prepare) => asks(title, () => ({}), fields, prepare);
const verified = (title, verify, fields) => asks(title, (c) => ({ verifyClient: verify(c) }), fields);

const ORIGINS = { Origin: 'https://a.example', 'Sec-WebSocket-Origin': 'https://b.example' };
const OFFER = { 'Sec-WebSocket-Protocol': 'a, b' };

// H16.
verified('verifyClient: what it gets', (c) => (...args) => {
  c.log('verify', args.length, infoOf(args[0]), Object.keys(args[0]));
  return true;
}, ORIGINS);
verified('verifyClient: the origin of version 8', (c) => ({ origin }) => {
  c.log('verify', origin);
  return true;
}, { ...ORIGINS, 'Sec-WebSocket-Version': '8' });

for (const [name, value] of Object.entries({ false: false, undefined, 'a truthy string': 'yes', 0: 0, 'a promise': Promise.resolve(false) })) {
  verified(`verifyClient returns ${name}`, () => () => value);
}

const verdicts = {
  true: [true],
  false: [false],
  'false with a code': [false, 404],
  'false with a code and a message': [false, 403, 'go away'],
  'false with header fields': [false, 429, 'slow down', { 'Retry-After': 7, 'X-List': 'a' }],
  'false with fields that replace': [false, 403, 'é', { 'Content-Type': 'text/plain', Connection: 'keep' }],
  'false with a code of nobody': [false, 799, 'body'],
  'true with a code': [true, 404, 'ignored'],
};
for (const [name, args] of Object.entries(verdicts)) {
  verified(`verifyClient calls back at once: ${name}`, () => (info, done) => done(...args));
}
verified('verifyClient calls back later', () => (info, done) => setImmediate(done, true));
verified('verifyClient refuses later', () => (info, done) => setImmediate(done, false, 418));
verified('verifyClient refuses, and then calls back again', (c) => (info, done) => {
  done(false, 403);
  c.log('verify', outcome(() => done(true)), outcome(() => done(false)), info.req.socket.writable);
});
verified('verifyClient calls back twice with true', (c) => (info, done) => {
  done(true);
  c.log('verify', outcome(() => done(true)));
});
verified('verifyClient with three parameters is synchronous', (c) => (info, done, more) => {
  c.log('verify', done, more);
  return true;
});
verified('verifyClient is called with the options as this', (c) => function () {
  c.log('verify', typeof this.verifyClient, this.clientTracking);
  return true;
});
verified('verifyClient destroys the socket', () => ({ req }) => {
  req.socket.destroy();
  return true;
});

s.all('verifyClient calls back when the client has gone', async (c) => {
  let verdict;
  const asked = new Promise((resolve) => {
    verdict = (info, done) => resolve([info.req.socket, done]);
  });
  const { wss, port } = await c.listen({ verifyClient: (info, done) => verdict(info, done) });
  wss.on('connection', () => c.log('server', 'connection'));
  const peer = await c.peer(port);
  await peer.upgrade();
  const [socket, done] = await asked;
  const gone = new Promise((resolve) => socket.on('close', resolve));
  socket.resume?.();
  peer.reset();
  await gone;
  c.log('verify', outcome(() => done(true)));
  c.log('server', wss.clients.size);
});

s.all('verifyClient calls back after close() of the server', async (c) => {
  let server;
  await ask(c, { verifyClient: (info, done) => { server.close(); setImmediate(done, true); } }, {}, (wss) => {
    server = wss;
  });
});

const chosen = (title, handle, fields = OFFER) => asks(title, (c) => ({ handleProtocols: handle(c) }), fields);
chosen('handleProtocols: what it gets and what it chooses', (c) => (...args) => {
  c.log('handle', args.length, args[0], args[1].url);
  return 'b';
}, { ...OFFER, line: 'GET /x HTTP/1.1' });
for (const [name, value] of Object.entries({ false: false, undefined, 'the empty string': '', 'one that was not offered': 'other', 'a number': 7 })) {
  chosen(`handleProtocols returns ${name}`, () => () => value);
}
chosen('handleProtocols is not called without an offer', (c) => () => {
  c.log('handle', 'called');
  return 'x';
}, {});
prepared('handleProtocols may be assigned later', OFFER, (wss) => {
  wss.options.handleProtocols = () => 'b';
});

prepared("'headers': the lines, and changes to them", { 'Sec-WebSocket-Protocol': 'p' }, (wss, c) => {
  wss.on('headers', (lines, request) => {
    c.log('headers', lines, request.url);
    lines.push('Set-Cookie: a=1');
    lines.splice(1, 0, 'X-First: 1');
  });
  wss.on('headers', (lines) => c.log('headers', lines.length));
});
prepared("'headers' comes before connection and once()", {}, (wss, c) => wss.once('headers', () => c.log('server', 'headers')));
asks("'headers' is not emitted for a refusal", () => ({ verifyClient: () => false }), {}, (wss, c) =>
  wss.on('headers', () => c.log('server', 'headers')),
);

const invalid = {
  method: { line: 'POST / HTTP/1.1' },
  upgrade: { Upgrade: 'foo' },
  key: { 'Sec-WebSocket-Key': null },
  version: { 'Sec-WebSocket-Version': '1' },
  subprotocols: { 'Sec-WebSocket-Protocol': ',' },
};
for (const [name, fields] of Object.entries(invalid)) {
  prepared(`'wsClientError': ${name}`, fields, (wss, c) => {
    wss.on('wsClientError', (error, socket, request) => {
      c.log('server', 'wsClientError', error, request.method, request.url, socket === request.socket || c.way === 'stream');
      socket.end('HTTP/1.1 418 Mine\r\n\r\nbody');
    });
  });
}
s.all("'wsClientError' is not emitted for the path and for verifyClient", async (c) => {
  const prepare = (wss) => wss.on('wsClientError', () => c.log('server', 'wsClientError'));
  await ask(c, { path: '/a' }, {}, prepare);
  await ask(c, { verifyClient: () => false }, {}, prepare);
});
prepared("'wsClientError': the listener destroys the socket", { Upgrade: 'x' }, (wss) =>
  wss.on('wsClientError', (error, socket) => socket.destroy()),
);

s.all('shouldHandle called by hand', async (c) => {
  const { wss } = await c.listen({ path: '/a' });
  for (const url of ['/a', '/a?b', '/b', '/', '/a/b', '?', '']) c.log('should', url, wss.shouldHandle({ url }));
});
asks('the path may be assigned later', () => ({ path: '/a' }), { line: 'GET /b HTTP/1.1' }, (wss) => {
  wss.options.path = '/b';
});

s.all('the class of the WebSockets', async (c) => {
  class Mine extends c.WebSocket {
    constructor(...args) {
      super(...args);
      c.log('class', 'constructor', args.length, args[0], args[1], typeof args[2]);
    }

    hello() {
      return 'hello';
    }
  }
  const { ws, peer, closed } = await c.open({ WebSocket: Mine });
  c.log('class', ws instanceof Mine, ws.hello(), ws.constructor.name);
  peer.end();
  await closed;
});

prepared("close() of the server in 'headers': the connection is open all the same", {}, (wss) => wss.on('headers', () => wss.close()));

s.over('server', 'noServer')("the socket is ended in 'headers'", async (c) => {
  const { wss, port } = await c.listen();
  const closed = new Promise((resolve) => {
    wss.on('connection', (ws) => {
      c.log('server', 'connection', ws.readyState);
      ws.on('close', (code) => resolve(c.log('server', 'close', code)));
    });
  });
  wss.on('headers', (lines, { socket }) => socket.end());
  const peer = await c.peer(port);
  await peer.upgrade();
  await Promise.all([closed, peer.closed()]);
});
