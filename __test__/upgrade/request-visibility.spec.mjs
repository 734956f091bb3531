// The request of 'connection' is made only when a listener could see it.
import EventEmitter, { on, once } from 'node:events';
import { createRequire } from 'node:module';

import { WebSocketServer, openVisitor, startServer, test, urlOf } from '../helpers/index.mjs';

const { isRequestSeen, usesSecondArgument } = createRequire(import.meta.url)('../../lib/upgrade/request-visibility.js');

const BLIND = [
  (ws) => ws,
  ws => ws,
  async (ws) => ws,
  async ws => ws,
  (ws) => {
    ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
  },
  (_$1) => {},
  function (ws) {},
  function named(ws) {},
  async function (ws) {},
  (async) => async,
  function(
    ws,
  ) {},
];

const SEEING = [
  () => {},
  (ws, request) => {},
  (...all) => {},
  (ws, ...rest) => {},
  (ws = null) => {},
  (ws, request = null) => {},
  ({ send }) => {},
  ([first]) => {},
  (ws /* , request */) => {},
  function () {
    return arguments[1];
  },
  function (ws) {
    return arguments[1];
  },
  function (ws) {
    return (() => arguments[1])();
  },
  function self(ws) {
    return self.arguments;
  },
  new Function('ws', 'return eval("argu" + "ments")[1]'),
  new Function('ws', 'return \\u0061rguments[1]'),
  new Function('ws, request = ws', ''),
  function (ws) {}.bind(null),
  console.log,
  { method(ws) {} }.method,
  { async method(ws) {} }.method,
  { get(ws) {} }.get,
  function* (ws) {},
  class {
    constructor(ws) {}
  },
  new Proxy((ws) => {}, {}),
];

test('listeners that cannot see a second argument', (t) => {
  for (const listener of BLIND) t.false(usesSecondArgument(listener), String(listener));
});

test('listeners that can, or of which it is not known', (t) => {
  for (const listener of SEEING) t.true(usesSecondArgument(listener), String(listener));
});

test('one listener that can see is enough, none sees nothing', (t) => {
  const server = new WebSocketServer({ noServer: true });
  t.false(isRequestSeen(server));
  server.on('connection', (ws) => ws);
  t.false(isRequestSeen(server));
  server.prependOnceListener('connection', (ws) => ws);
  t.true(isRequestSeen(server), 'what once() registers is handed every argument');
  server.emit('connection');
  t.false(isRequestSeen(server));
  server.prependListener('connection', (ws, request) => request);
  t.true(isRequestSeen(server));
});

test.serial('emitters that show the arguments to others', (t) => {
  class Own extends WebSocketServer {
    emit(...all) {
      return super.emit(...all);
    }
  }
  t.true(isRequestSeen(new Own({ noServer: true })));
  t.true(isRequestSeen(Object.assign(new WebSocketServer({ noServer: true }), { emit() {} })));
  EventEmitter.captureRejections = true;
  t.teardown(() => (EventEmitter.captureRejections = false));
  t.true(isRequestSeen(new WebSocketServer({ noServer: true })));
});

for (const [title, attach] of [
  ['a second parameter', (server, tell) => server.on('connection', (ws, request) => tell(request))],
  ['a second parameter, once', (server, tell) => server.once('connection', (ws, request) => tell(request))],
  ['events.once', async (server, tell) => tell((await once(server, 'connection'))[1])],
  [
    'events.on',
    async (server, tell) => {
      for await (const [, request] of on(server, 'connection')) return tell(request);
    },
  ],
]) {
  test(`the request is seen through ${title}`, async (t) => {
    const server = await startServer(t);
    const seen = new Promise((resolve) => attach(server, resolve));
    await openVisitor(t, `${urlOf(server)}/a`);
    const request = await seen;
    t.is(request.url, '/a');
  });
}
