// Hooks that are put in place while a server on a port listens, also in ways without a
// notification: no connection is shown that the hooks have not let in. Their other arguments and
// decisions are compared with ws by __test__/differential/scenarios/overrides.mjs.
import { once } from 'node:events';

import { RawClient, WebSocketServer, askRaw, frame, startServer, test, upgradeRequest, urlOf, wsClient } from '../helpers/index.mjs';

/** Puts `hook(original, args)` in the place of a method by a definition, not by an assignment. */
function define(t, target, name, hook) {
  const before = Object.getOwnPropertyDescriptor(target, name);
  const original = target[name];
  const value = function (...args) {
    return hook((...all) => original.apply(this, all), args);
  };
  Object.defineProperty(target, name, { configurable: true, value, writable: true });
  t.teardown(() => {
    if (before === undefined) delete target[name];
    else Object.defineProperty(target, name, before);
  });
}

/**
 * Ways to decide about upgrades from now on, by name: `(t, server, decide)`, where
 * `decide()` returns whether a client is accepted.
 */
const LATE = {
  'handleUpgrade, defined on the instance'(t, server, decide) {
    define(t, server, 'handleUpgrade', (original, args) => guard(original, args, 1, decide));
  },
  'handleUpgrade, defined on the prototype'(t, server, decide) {
    define(t, WebSocketServer.prototype, 'handleUpgrade', (original, args) => guard(original, args, 1, decide));
  },
  'completeUpgrade, defined on the instance'(t, server, decide) {
    define(t, server, 'completeUpgrade', (original, args) => guard(original, args, 4, decide));
  },
  'completeUpgrade, defined on the prototype'(t, server, decide) {
    define(t, WebSocketServer.prototype, 'completeUpgrade', (original, args) => guard(original, args, 4, decide));
  },
  'handleUpgrade, assigned'(t, server, decide) {
    const { handleUpgrade } = server;
    server.handleUpgrade = (...args) => guard(handleUpgrade.bind(server), args, 1, decide);
  },
  'shouldHandle, defined on the instance'(t, server, decide) {
    define(t, server, 'shouldHandle', () => decide());
  },
  'verifyClient of other options'(t, server, decide) {
    server.options = { ...server.options, verifyClient: () => decide() };
  },
  'verifyClient, defined'(t, server, decide) {
    Object.defineProperty(server.options, 'verifyClient', { value: () => decide() });
  },
};

function guard(original, args, at, decide) {
  if (decide()) original(...args);
  else args[at].end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n');
}

for (const [title, put] of Object.entries(LATE)) {
  test.serial(`who is refused by ${title}, does not come in`, async (t) => {
    const server = await startServer(t, { closeTimeout: 2 ** 31 - 1 });
    let asked = 0;
    put(t, server, () => {
      asked++;
      return false;
    });
    server.on('connection', () => t.fail());
    for (let i = 0; i < 3; i++) {
      const raw = await askRaw(t, server.address().port, Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'early')]));
      await raw.closed();
      t.regex(raw.text, /^HTTP\/1\.1 40[01] /);
      t.is(raw.text.indexOf('HTTP/1.1', 1), -1);
    }
    t.is(asked, 3);
    t.is(server.clients.size, 0);
    server.close();
    await once(server, 'close');
  });

  test.serial(`who is let in by ${title}, is served with all that came`, async (t) => {
    const server = await startServer(t);
    put(t, server, () => true);
    server.on('connection', (ws) => ws.on('message', (data) => ws.send(`${data}!`)));
    for (let i = 0; i < 3; i++) {
      const raw = await askRaw(t, server.address().port, Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'one'), frame(1, 'two')]));
      await raw.until((text) => text.endsWith('one!\x81\x04two!'));
      t.is(server.clients.size, i + 1);
    }
  });
}

test.serial('who is asked about later by a definition that nobody hears of waits with its messages', async (t) => {
  const server = await startServer(t);
  const held = [];
  define(t, server, 'handleUpgrade', (original, args) => held.push(() => original(...args)));
  const messages = [];
  server.on('connection', (ws) => ws.on('message', (data) => messages.push(String(data))));
  const raw = await RawClient.connect(t, server.address().port);
  await raw.send(Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'one'), frame(9, 'p'), frame(1, 'two')]));
  // Another connection has come all the way: the hook has been called for the first one.
  while (held.length === 0) await new Promise(setImmediate);
  t.deepEqual(messages, []);
  const [ws] = await Promise.all([once(server, 'connection').then(([one]) => one), held[0]()]);
  await raw.send(frame(1, 'three'));
  while (messages.length < 3) await once(ws, 'message');
  t.deepEqual(messages, ['one', 'two', 'three']);
});

test.serial('while connections come, none that is shown behind an assignment has passed by it', async (t) => {
  const server = await startServer(t);
  const passed = new WeakSet();
  let isPut = false;
  let seen = 0;
  server.on('connection', (ws, request) => {
    if (isPut) t.true(passed.has(request), 'shown, and not asked about');
    seen++;
  });
  const clients = Array.from({ length: 60 }, () => new wsClient(urlOf(server)));
  t.teardown(() => clients.forEach((client) => client.terminate()));
  for (const client of clients) client.on('error', () => {});
  while (seen < 5) await once(server, 'connection');
  const { handleUpgrade } = server;
  server.handleUpgrade = function (request, ...rest) {
    passed.add(request);
    handleUpgrade.call(this, request, ...rest);
  };
  isPut = true;
  while (seen < 60) await once(server, 'connection');
  t.is(server.clients.size, 60);
});

/** Ways of a subclass to refuse, which are there before anybody connects: none may get a 101. */
const FIELDS = {
  handleUpgrade: () => class extends WebSocketServer {
    handleUpgrade = (request, socket) => socket.end(UNAUTHORIZED);
  },
  completeUpgrade: () => class extends WebSocketServer {
    completeUpgrade = (extensions, key, protocols, request, socket) => socket.end(UNAUTHORIZED);
  },
  shouldHandle: () => class extends WebSocketServer {
    shouldHandle = () => false;
  },
};
const UNAUTHORIZED = 'HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n';

for (const [name, make] of Object.entries(FIELDS)) {
  test.serial(`who is refused by a subclass with the field ${name}, gets no 101`, async (t) => {
    const server = await startServer(t, {}, make());
    const raw = await askRaw(t, server.address().port);
    await raw.closed();
    t.regex(raw.text, /^HTTP\/1\.1 40[01] /);
  });
}

test.serial('an emit of the HTTP server that keeps upgrades to itself lets nobody in', async (t) => {
  const server = await startServer(t);
  server.on('connection', () => t.fail());
  const { emit } = server._server;
  server._server.emit = function (event, ...args) {
    if (event !== 'upgrade') return emit.call(this, event, ...args);
    args[1].destroy();
    return true;
  };
  for (let i = 0; i < 2; i++) {
    const raw = await askRaw(t, server.address().port);
    await raw.closed();
  }
  t.is(server.clients.size, 0);
});

for (const [title, options] of [['', {}], [', with earlyHandshake', { earlyHandshake: true }]]) {
  test.serial(`a subprotocol that is chosen when the reactor has chosen another: an answer all the same${title}`, async (t) => {
    const server = await startServer(t, options);
    const chosen = new Set();
    server.on('connection', (ws) => chosen.add(ws.protocol));
    for (let i = 0; i < 5; i++) {
      server.options.handleProtocols = undefined;
      const raw = await askRaw(t, server.address().port, upgradeRequest({ 'Sec-WebSocket-Protocol': 'one, two' }));
      // The reactor answers meanwhile, and its record waits.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      server.options.handleProtocols = () => 'two';
      const text = await raw.untilClosedOr((all) => all.includes('\r\n\r\n'));
      const early = options.earlyHandshake && text.includes('Protocol: one');
      if (early) await raw.closed();
      else t.regex(text, /^HTTP\/1\.1 (503 |101 [^]*Protocol: two\r\n)/);
    }
    t.false(chosen.has('one'));
  });
}
