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

s.all('verifyClient: what it gets', (c) =>
  ask(
    c,
    { verifyClient: (...args) => { c.log('verify', args.length, infoOf(args[0]), Object.keys(args[0])); return true; } },
    { Origin: 'https://a.example', 'Sec-WebSocket-Origin': 'https://b.example' },
  ),
);

s.all('verifyClient: the origin of version 8', (c) =>
  ask(
    c,
    { verifyClient: ({ origin }) => { c.log('verify', origin); return true; } },
    { Origin: 'https://a.example', 'Sec-WebSocket-Origin': 'https://b.example', 'Sec-WebSocket-Version': '8' },
  ),
);

for (const [name, value] of Object.entries({ false: false, undefined, 'a truthy string': 'yes', 0: 0, 'a promise': Promise.resolve(false) })) {
  s.all(`verifyClient returns ${name}`, (c) => ask(c, { verifyClient: () => value }));
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
  s.all(`verifyClient calls back at once: ${name}`, (c) => ask(c, { verifyClient: (info, done) => done(...args) }));
}
s.all('verifyClient calls back later', (c) => ask(c, { verifyClient: (info, done) => setImmediate(done, true) }));
s.all('verifyClient refuses later', (c) => ask(c, { verifyClient: (info, done) => setImmediate(done, false, 418) }));
s.all('verifyClient refuses, and then calls back again', (c) =>
  ask(c, {
    verifyClient: (info, done) => {
      done(false, 403);
      c.log('verify', outcome(() => done(true)), outcome(() => done(false)), info.req.socket.writable);
    },
  }),
);
s.all('verifyClient calls back twice with true', (c) =>
  ask(c, {
    verifyClient: (info, done) => {
      done(true);
      c.log('verify', outcome(() => done(true)));
    },
  }),
);
s.all('verifyClient with three parameters is synchronous', (c) =>
  ask(c, { verifyClient: (info, done, more) => { c.log('verify', done, more); return true; } }),
);
s.all('verifyClient is called with the options as this', (c) =>
  ask(c, { verifyClient() { c.log('verify', typeof this.verifyClient, this.clientTracking); return true; } }),
);

s.all('verifyClient destroys the socket', (c) =>
  ask(c, { verifyClient: ({ req }) => { req.socket.destroy(); return true; } }),
);

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

s.all('handleProtocols: what it gets and what it chooses', (c) =>
  ask(
    c,
    { handleProtocols: (...args) => { c.log('handle', args.length, args[0], args[1].url); return 'b'; } },
    { 'Sec-WebSocket-Protocol': 'a, b', line: 'GET /x HTTP/1.1' },
  ),
);
for (const [name, value] of Object.entries({ false: false, undefined, 'the empty string': '', 'one that was not offered': 'other', 'a number': 7 })) {
  s.all(`handleProtocols returns ${name}`, (c) =>
    ask(c, { handleProtocols: () => value }, { 'Sec-WebSocket-Protocol': 'a, b' }),
  );
}
s.all('handleProtocols is not called without an offer', (c) =>
  ask(c, { handleProtocols: () => { c.log('handle', 'called'); return 'x'; } }),
);
s.all('handleProtocols may be assigned later', (c) =>
  ask(c, {}, { 'Sec-WebSocket-Protocol': 'a, b' }, (wss) => {
    wss.options.handleProtocols = () => 'b';
  }),
);

s.all("'headers': the lines, and changes to them", (c) =>
  ask(c, {}, { 'Sec-WebSocket-Protocol': 'p' }, (wss) => {
    wss.on('headers', (lines, request) => {
      c.log('headers', lines, request.url);
      lines.push('Set-Cookie: a=1');
      lines.splice(1, 0, 'X-First: 1');
    });
    wss.on('headers', (lines) => c.log('headers', lines.length));
  }),
);
s.all("'headers' comes before connection and once()", (c) =>
  ask(c, {}, {}, (wss) => {
    wss.once('headers', () => c.log('server', 'headers'));
  }),
);
s.all("'headers' is not emitted for a refusal", (c) =>
  ask(c, { verifyClient: () => false }, {}, (wss) => {
    wss.on('headers', () => c.log('server', 'headers'));
  }),
);

const invalid = {
  method: { line: 'POST / HTTP/1.1' },
  upgrade: { Upgrade: 'foo' },
  key: { 'Sec-WebSocket-Key': null },
  version: { 'Sec-WebSocket-Version': '1' },
  subprotocols: { 'Sec-WebSocket-Protocol': ',' },
};
for (const [name, fields] of Object.entries(invalid)) {
  s.all(`'wsClientError': ${name}`, (c) =>
    ask(c, {}, fields, (wss) => {
      wss.on('wsClientError', (error, socket, request) => {
        c.log('server', 'wsClientError', error, request.method, request.url, socket === request.socket || c.way === 'stream');
        socket.end('HTTP/1.1 418 Mine\r\n\r\nbody');
      });
    }),
  );
}
s.all("'wsClientError' is not emitted for the path and for verifyClient", async (c) => {
  const prepare = (wss) => wss.on('wsClientError', () => c.log('server', 'wsClientError'));
  await ask(c, { path: '/a' }, {}, prepare);
  await ask(c, { verifyClient: () => false }, {}, prepare);
});
s.all("'wsClientError': the listener destroys the socket", (c) =>
  ask(c, {}, { Upgrade: 'x' }, (wss) => wss.on('wsClientError', (error, socket) => socket.destroy())),
);

s.all('shouldHandle assigned on the server', (c) =>
  ask(c, {}, { line: 'GET /no HTTP/1.1' }, (wss) => {
    wss.shouldHandle = (request) => {
      c.log('should', request.url);
      return request.url === '/yes';
    };
  }),
);
s.all('shouldHandle of a subclass', async (c) => {
  const { WebSocketServer } = c;
  c.WebSocketServer = class extends WebSocketServer {
    shouldHandle(request) {
      c.log('should', request.url, super.shouldHandle(request));
      return request.url === '/yes';
    }
  };
  await ask(c, { path: '/never' }, { line: 'GET /yes HTTP/1.1' });
});
s.all('shouldHandle called by hand', async (c) => {
  const { wss } = await c.listen({ path: '/a' });
  for (const url of ['/a', '/a?b', '/b', '/', '/a/b', '?', '']) c.log('should', url, wss.shouldHandle({ url }));
});
s.all('the path may be assigned later', (c) =>
  ask(c, { path: '/a' }, { line: 'GET /b HTTP/1.1' }, (wss) => {
    wss.options.path = '/b';
  }),
);

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

s.all("close() of the server in 'headers': the connection is open all the same", (c) =>
  ask(c, {}, {}, (wss) => {
    wss.on('headers', () => wss.close());
  }),
);

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
