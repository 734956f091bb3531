// Methods of WebSocketServer and WebSocket that a subclass, an instance or a patched prototype
// replaces: the calls, their arguments, and their effect.
import { section } from '../scenario.mjs';
import { outcome, show } from '../show.mjs';

const s = section('overrides');
export default s;

/** Ways to replace a method, by name: before the server is made, or after it listens. */
const STYLES = {
  'of a subclass': { before: true, apply: (target, name, make) => make(target.prototype, name) },
  'of the instance': { apply: (wss, name, make) => make(wss, name) },
  'of the prototype': { apply: (wss, name, make) => make(Object.getPrototypeOf(wss), name) },
};

/** Puts `hook(self, original, args)` in the place of a method. */
function replace(c, target, name, hook) {
  const own = Object.getOwnPropertyDescriptor(target, name);
  const original = target[name];
  target[name] = function (...args) {
    return hook(this, (...all) => original.apply(this, all), args);
  };
  c.teardown(() => {
    if (own === undefined) delete target[name];
    else if ('value' in own) Object.defineProperty(target, name, own);
    else target[name] = original;
  });
}

/** A server with some of its methods replaced in a style. */
async function listen(c, style, hooks, options) {
  const { apply, before } = STYLES[style];
  const make = (target) => {
    for (const [name, hook] of Object.entries(hooks)) apply(target, name, (owner) => replace(c, owner, name, hook));
  };
  if (before) {
    c.WebSocketServer = class extends c.WebSocketServer {};
    make(c.WebSocketServer);
  }
  const listening = await c.listen(options);
  if (!before) {
    // A server of the scenario before may still emit events.
    for (const [name, hook] of Object.entries(hooks)) {
      hooks[name] = (self, original, args) => (self === listening.wss ? hook(self, original, args) : original(...args));
    }
    make(listening.wss);
  }
  listening.wss.on('connection', (ws, request) => {
    c.log('server', 'connection', ws.protocol, ws.extensions, ws.tag, request?.url, listening.wss.clients?.has(ws));
    ws.on('error', () => {});
    ws.on('message', (data) => ws.send(data));
  });
  return listening;
}

/** A request to it, with an echoed message and the close if it is accepted, else all that comes. */
async function visit(c, { port }, { method = 'GET', path = '/', ...fields } = {}, early, lane = 'peer') {
  const peer = await c.peer(port, lane);
  await peer.upgrade({ line: `${method} ${path} HTTP/1.1`, ...fields }, early);
  await peer.upgraded();
  if (peer.head.includes(' 101 ')) {
    c.log(lane, peer.head);
    await peer.send(['8182 00000000 6869']);
    await peer.frames(early === undefined ? 1 : 2);
    await peer.send(['8882 00000000 03e8']);
  }
  await peer.closed();
}

const FIELDS = { 'Sec-WebSocket-Protocol': 'one, two' };
const kinds = {
  handleUpgrade: ([request, socket, head, callback, ...more]) => [
    request.method, request.url, socket === request.socket, socket.writable, head, typeof callback, more.length,
  ],
  completeUpgrade: ([extensions, key, protocols, request, socket, head, callback, ...more]) => [
    Object.keys(extensions), key.length, protocols, request.url, socket.writable, head, typeof callback, more.length,
  ],
};
/** Where the socket and the callback are. */
const PLACES = { handleUpgrade: [1, 3], completeUpgrade: [4, 6] };

const decisions = {
  'lets in': (c, name) => (self, original, args) => {
    c.log(name, outcome(() => original(...args)));
  },
  'lets in later': (c, name) => (self, original, args) => {
    setImmediate(() => c.log(name, 'later', outcome(() => original(...args))));
  },
  'writes 401 and destroys': (c, name) => (self, original, args) => {
    const socket = args[PLACES[name][0]];
    socket.write('HTTP/1.1 401 Unauthorized\r\n\r\n');
    socket.destroy();
  },
  'ends with 401': (c, name) => (self, original, args) => {
    args[PLACES[name][0]].end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n');
  },
  'ends with 401 and lets in': (c, name) => (self, original, args) => {
    args[PLACES[name][0]].end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n');
    c.log(name, outcome(() => original(...args)));
  },
  'has a callback of its own': (c, name) => (self, original, args) => {
    const at = PLACES[name][1];
    const callback = args[at];
    args[at] = (ws, request) => {
      c.log(name, 'called back', request.url, ws.readyState, self.clients.has(ws));
      ws.tag = name;
      callback(ws, request);
    };
    original(...args);
  },
  'has a callback of its own that keeps it': (c, name) => (self, original, args) => {
    args[PLACES[name][1]] = (ws) => {
      c.log(name, 'called back', self.clients.has(ws));
      ws.on('message', (data) => ws.send(data));
    };
    original(...args);
  },
  'lets in twice': (c, name) => (self, original, args) => {
    c.log(name, outcome(() => original(...args)), outcome(() => original(...args)));
  },
};

for (const [style] of Object.entries(STYLES)) {
  for (const name of ['handleUpgrade', 'completeUpgrade']) {
    for (const [title, decide] of Object.entries(decisions)) {
      s.all(`${name} ${style} ${title}`, async (c) => {
        const hook = decide(c, name);
        const seen = (self, original, args) => {
          c.log(name, ...kinds[name](args));
          return hook(self, original, args);
        };
        const listening = await listen(c, style, { [name]: seen }, { perMessageDeflate: true });
        await visit(c, listening, { ...FIELDS, 'Sec-WebSocket-Extensions': 'permessage-deflate' });
        await visit(c, listening, {}, undefined, 'second');
      });
    }
    s.all(`${name} ${style} sees what came behind the request, and passes it on`, async (c) => {
      const seen = (self, original, args) => {
        c.log(name, ...kinds[name](args));
        setImmediate(() => original(...args));
      };
      const listening = await listen(c, style, { [name]: seen });
      await visit(c, listening, FIELDS, Buffer.from('8182000000006162', 'hex'));
    });
    s.all(`${name} ${style} passes on something else than came behind the request`, async (c) => {
      const at = name === 'handleUpgrade' ? 2 : 5;
      const changed = (self, original, args) => {
        args[at] = Buffer.from('8182000000007879', 'hex');
        original(...args);
      };
      const listening = await listen(c, style, { [name]: changed });
      await visit(c, listening, FIELDS, Buffer.from('8182000000006162', 'hex'));
    });
    s.all(`${name} ${style} never answers`, async (c) => {
      let socket;
      const asked = new Promise((resolve) => {
        c.asked = resolve;
      });
      const listening = await listen(c, style, {
        [name]: (self, original, args) => {
          socket = args[PLACES[name][0]];
          c.asked();
        },
      });
      const peer = await c.peer(listening.port);
      await peer.upgrade(FIELDS);
      await asked;
      await c.settle();
      c.log('peer', 'nothing', peer.text, listening.wss.clients.size);
      socket.destroy();
      await peer.closed();
    });
  }

  s.all(`both ${style}, with what they change`, async (c) => {
    const listening = await listen(c, style, {
      handleUpgrade: (self, original, [request, socket, head, callback]) => {
        request.url = '/changed';
        request.headers['sec-websocket-protocol'] = 'three, four';
        delete request.headers['sec-websocket-extensions'];
        original(request, socket, head, callback);
      },
      completeUpgrade: (self, original, [extensions, key, protocols, ...rest]) => {
        c.log('completeUpgrade', Object.keys(extensions), protocols);
        original(extensions, 'x3JJHMbDL1EzLkh9GBhXDw==', new Set(['five']), ...rest);
      },
    }, { path: '/changed', perMessageDeflate: true });
    await visit(c, listening, { ...FIELDS, 'Sec-WebSocket-Extensions': 'permessage-deflate' });
  });

  s.all(`completeUpgrade ${style} takes the compression away`, async (c) => {
    const listening = await listen(c, style, {
      completeUpgrade: (self, original, [, ...rest]) => original({}, ...rest),
    }, { perMessageDeflate: { threshold: 0 } });
    await visit(c, listening, { ...FIELDS, 'Sec-WebSocket-Extensions': 'permessage-deflate' });
  });

  s.all(`shouldHandle ${style} refuses`, async (c) => {
    const hook = (self, original, args) => {
      c.log('shouldHandle', args.length, args[0].url, original(...args));
      return args[0].url === '/yes';
    };
    const listening = await listen(c, style, { shouldHandle: hook }, { path: '/never' });
    await visit(c, listening, { path: '/no' });
    await visit(c, listening, { path: '/yes' }, undefined, 'second');
  });

  s.all(`listenerCount ${style} takes refusals over`, async (c) => {
    const hook = (self, original, [event]) => (event === 'wsClientError' ? 1 : original(event));
    const listening = await listen(c, style, {
      listenerCount: hook,
      emit: (self, original, [event, ...args]) => {
        if (event !== 'wsClientError') return original(event, ...args);
        c.log('emit', event, args[0]);
        args[1].end('HTTP/1.1 499 Mine\r\n\r\n');
        return true;
      },
    });
    await visit(c, listening, { method: 'PUT' });
  });

  s.all(`emit ${style} sees events and changes header lines`, async (c) => {
    const listening = await listen(c, style, {
      emit: (self, original, args) => {
        c.log('emit', args[0], args.length - 1);
        if (args[0] === 'headers') args[1].push('X-Added: 1');
        return original(...args);
      },
    });
    await visit(c, listening, FIELDS);
    const closed = new Promise((resolve) => { listening.wss.on('close', resolve); });
    listening.wss.close();
    await closed;
  });

  s.all(`emit ${style} keeps 'connection' to itself`, async (c) => {
    let keep;
    const kept = new Promise((resolve) => { keep = resolve; });
    const listening = await listen(c, style, {
      emit: (self, original, args) => {
        if (args[0] !== 'connection') return original(...args);
        c.log('emit', args[0]);
        args[1].on('message', (data) => args[1].send(data));
        keep();
        return true;
      },
    });
    void kept;
    await visit(c, listening, FIELDS);
  });
}

s.all('clients: an add that is replaced', async (c) => {
  const listening = await listen(c, 'of a subclass', {});
  const { clients } = listening.wss;
  clients.add = (ws) => { c.log('clients', 'add', ws.readyState); return Set.prototype.add.call(clients, ws); };
  clients.delete = (ws) => { c.log('clients', 'delete'); return Set.prototype.delete.call(clients, ws); };
  const gone = new Promise((resolve) => { listening.wss.on('connection', (ws) => ws.on('close', resolve)); });
  await visit(c, listening);
  await gone;
});

class Watched extends Set {
  constructor(c) {
    super();
    this.c = c;
  }

  add(ws) {
    this.c.log('clients', 'add');
    return super.add(ws);
  }
}
/** What a subclass has, or what is done to the server when it listens. */
const sets = {
  'that is assigned': (c) => [class extends c.WebSocketServer {}, (wss) => { wss.clients = new Watched(c); }],
  'that is defined': (c) => [class extends c.WebSocketServer {}, (wss) => Object.defineProperty(wss, 'clients', { configurable: true, value: new Watched(c), writable: true })],
  'in a field of a subclass': (c) => [class extends c.WebSocketServer { clients = new Watched(c); }],
  'by an accessor of a subclass': (c) => [class extends c.WebSocketServer {
    get clients() { return this.mine; }
    set clients(set) { c.log('clients', 'set', set.size); this.mine = set; }
  }],
};
for (const [title, make] of Object.entries(sets)) {
  s.all(`clients: another Set ${title}`, async (c) => {
    const [Class, put = () => {}] = make(c);
    c.WebSocketServer = Class;
    const listening = await listen(c, 'of the instance', {});
    put(listening.wss);
    await visit(c, listening);
    c.log('server', listening.wss.clients.constructor.name);
  });
}

s.over('port')("'upgrade' of _server: another listener before, behind, and alone", async (c) => {
  const listening = await listen(c, 'of the instance', {});
  const { wss: { _server: server } } = listening;
  c.log('server', server.listenerCount('upgrade'));
  server.prependListener('upgrade', (request, socket, head) => {
    c.log('upgrade', 'before', request.url, socket === request.socket, head);
    if (request.url === '/no') socket.end('HTTP/1.1 401 No\r\n\r\n');
  });
  server.on('upgrade', (request) => c.log('upgrade', 'behind', request.url));
  await visit(c, listening, { path: '/no' });
  await visit(c, listening, { path: '/yes' }, undefined, 'second');
  server.removeAllListeners('upgrade');
  server.on('upgrade', (request, socket) => socket.end('HTTP/1.1 403 No\r\n\r\n'));
  await visit(c, listening, {}, undefined, 'third');
});

s.over('port')('handleUpgrade hands on to a server without a port, with its options', async (c) => {
  const inner = new c.WebSocketServer({ noServer: true, maxPayload: 10, perMessageDeflate: true });
  inner.on('connection', (ws, request) => {
    c.log('inner', 'connection', request.url, ws.extensions, inner.clients.has(ws));
    ws.on('error', (error) => c.log('inner', error));
    ws.on('message', (data) => ws.send(data));
    ws.on('close', (code) => c.log('inner', 'close', code, inner.clients.size));
  });
  const listening = await listen(c, 'of the instance', {
    handleUpgrade: (self, original, [request, socket, head]) => {
      inner.handleUpgrade(request, socket, head, (ws) => inner.emit('connection', ws, request));
    },
  });
  await visit(c, listening, { 'Sec-WebSocket-Extensions': 'permessage-deflate' });
  const peer = await c.peer(listening.port, 'long');
  await peer.upgrade({});
  await peer.upgraded();
  await peer.send(['828b 00000000 0102030405060708090a0b']);
  await peer.frames(1);
  await peer.send(['8882 00000000 03f1']);
  await peer.closed();
  c.log('server', listening.wss.clients.size, show(inner.clients.size));
});
