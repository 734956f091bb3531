// Handshakes of a client that fail: answers that are wrong, redirects, ends and timeouts.
import net from 'node:net';
import { once } from 'node:events';

import { frame } from '../../helpers/clients.mjs';
import { OWN_HOST } from '../../helpers/own-host.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';
import { accept, accepting, cleanHead, connect, visit, withFrames } from './client.mjs';

const s = section('client failures');
export default s;

const NO_DEFLATE = { perMessageDeflate: false };
const BYE = Buffer.from('880203e8', 'hex');

/** One handshake that this answer ends. */
async function answered(c, answer, ...args) {
  const ws = await visit(c, args, (head, peer) => peer.send(typeof answer === 'function' ? answer(head) : answer), () => {}, '/');
  c.log('client', 'in the end', ws.readyState, ws.protocol, ws._socket === null, outcome(() => ws.terminate()));
}

/** The correct answer with some of its lines replaced. */
const instead = (from, to) => (head) => accept(head).replace(from, to);

const cases = {
  'no Upgrade': instead('Upgrade: websocket\r\n', ''),
  'another Upgrade': instead('Upgrade: websocket', 'Upgrade: foo'),
  'Upgrade in capitals is fine, the key is not': instead(/Upgrade: websocket[^]*Accept: \S+/, 'Upgrade: WEBSOCKET\r\nConnection: Upgrade'),
  'a wrong key': instead(/Accept: \S+/, 'Accept: CxYS6+NgJSBG74mdgLvGscRvpns='),
  'status 200': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  'status 401': 'HTTP/1.1 401 Unauthorized\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: 12\r\n\r\nUnauthorized',
  'status 302 that is not followed': 'HTTP/1.1 302 Found\r\nLocation: ws://example.com\r\nContent-Length: 0\r\n\r\n',
  'no HTTP': 'nonsense\r\n\r\n',
  'a subprotocol nobody wanted': (head) => accept(head, 'Sec-WebSocket-Protocol: p'),
  'an extension nobody offered': (head) => accept(head, 'Sec-WebSocket-Extensions: foo'),
};
for (const [name, answer] of Object.entries(cases)) s.once(name, (c) => answered(c, answer, NO_DEFLATE));

s.once('no subprotocol where some were offered', (c) => answered(c, accept, ['a', 'b'], NO_DEFLATE));
s.once('another subprotocol than those that were offered', (c) =>
  answered(c, (head) => accept(head, 'Sec-WebSocket-Protocol: c'), ['a', 'b'], NO_DEFLATE),
);

const COMPRESSION = [
  undefined,
  true,
  false,
  { serverNoContextTakeover: true, clientNoContextTakeover: true },
  { serverNoContextTakeover: false, clientNoContextTakeover: false },
  { serverMaxWindowBits: 10, clientMaxWindowBits: 11 },
  { serverMaxWindowBits: true, clientMaxWindowBits: true, serverNoContextTakeover: true },
  { serverMaxWindowBits: false, clientMaxWindowBits: false },
  { clientMaxWindowBits: null, threshold: 5 },
];

const ANSWERS = [
  undefined, '', ';', 'permessage-deflate', 'permessage-deflate;', 'permessage-deflate, permessage-deflate', 'foo',
  'permessage-deflate, foo', 'Permessage-Deflate', 'permessage-deflate; foo', 'permessage-deflate; foo=1', 'constructor',
  'permessage-deflate; server_no_context_takeover', 'permessage-deflate; client_no_context_takeover',
  'permessage-deflate; server_no_context_takeover; client_no_context_takeover',
  'permessage-deflate; client_no_context_takeover; client_no_context_takeover',
  'permessage-deflate; server_no_context_takeover=1', 'permessage-deflate; server_max_window_bits=10',
  'permessage-deflate; server_max_window_bits', 'permessage-deflate; server_max_window_bits=7',
  'permessage-deflate; server_max_window_bits=15', 'permessage-deflate; client_max_window_bits',
  'permessage-deflate; client_max_window_bits=8', 'permessage-deflate; client_max_window_bits=10',
  'permessage-deflate; client_max_window_bits="11"', 'permessage-deflate; client_max_window_bits=12',
  'permessage-deflate; client_max_window_bits=15', 'permessage-deflate; client_max_window_bits=16',
  'permessage-deflate; server_max_window_bits=9; client_max_window_bits=9; client_no_context_takeover',
];

/** The offer in the request, and the result for each answer. */
for (const perMessageDeflate of COMPRESSION) {
  s.once(`answers to ${JSON.stringify(perMessageDeflate)}`, async (c) => {
    for (const answer of ANSWERS) {
      const lines = answer === undefined ? [] : [`Sec-WebSocket-Extensions: ${answer}`];
      const origin = (head, peer) => {
        c.log('origin', cleanHead(head));
        withFrames(BYE, ...lines)(head, peer);
      };
      const look = (ws) => c.log('client', answer, ws.extensions, ws._extensions['permessage-deflate']?.params);
      await visit(c, [perMessageDeflate === undefined ? {} : { perMessageDeflate }], origin, (ws) => ws.on('open', () => look(ws)));
    }
  });
}

s.once('a subprotocol that was offered, with an extension that was not', (c) =>
  answered(c, (head) => accept(head, 'Sec-WebSocket-Protocol: a', 'Sec-WebSocket-Extensions: foo'), ['a']),
);

s.once("'unexpected-response' takes the answer over", async (c) => {
  const port = await c.origin((head, peer) => peer.send('HTTP/1.1 401 No\r\nX-A: b\r\nContent-Length: 4\r\n\r\nbody'));
  const { ws } = connect(c, `ws://127.0.0.1:${port}`, NO_DEFLATE);
  const [request, response] = await once(ws, 'unexpected-response');
  c.log('client', response.statusCode, response.headers, request.method, ws.readyState);
  const chunks = await response.toArray();
  c.log('client', Buffer.concat(chunks), ws.readyState);
  const closed = once(ws, 'close').catch((error) => error);
  request.destroy();
  ws.terminate();
  await closed;
});

s.once('nobody listens', async (c) => {
  const server = net.createServer();
  server.listen(0, OWN_HOST);
  await once(server, 'listening');
  const port = c.hidePort(server.address().port);
  server.close();
  await once(server, 'close');
  const { closed } = connect(c, `ws://${OWN_HOST}:${port}`, NO_DEFLATE);
  await closed;
});

s.once('a host that does not exist', (c) => connect(c, 'ws://no..host', NO_DEFLATE).closed);
s.once('the server ends instead of answering', (c) => visit(c, [NO_DEFLATE], (head, peer) => peer.end()));
s.once('handshakeTimeout', (c) => visit(c, [{ ...NO_DEFLATE, handshakeTimeout: 30 }], () => {}));

for (const method of ['close', 'terminate']) {
  s.once(`${method}() before the connection is open`, async (c) => {
    const ws = await visit(c, [NO_DEFLATE], () => {}, (client) => {
      c.log('client', outcome(() => client[method]()), client.readyState);
      process.nextTick(() => c.log('client', 'tick', client.readyState));
    });
    ws.send('x', (error) => c.log('callbacks', error));
    c.log('client', ws.bufferedAmount, outcome(() => ws.close()), outcome(() => ws.ping()), outcome(() => ws.pause()));
    await new Promise(setImmediate);
  });

  s.once(`${method}() in the upgrade event`, (c) => visit(c, [NO_DEFLATE], accepting(), (ws) => ws.on('upgrade', () => ws[method]())));
}

s.once('the detached WebSocket has no handshake to abort', (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  c.log('client', ws.readyState, ws.url, ws._isServer, ws.protocol, ws.extensions);
});

/** Requests of one client that follows redirects; `answers` by number of the request. */
async function redirected(c, answers, options, events = []) {
  const port = await c.origin((head, peer, count) => {
    c.log('origin', 'request', cleanHead(head));
    const answer = answers[count];
    peer.send(answer === undefined ? Buffer.concat([Buffer.from(accept(head)), BYE]) : answer(port));
  });
  const { ws, closed } = connect(c, `ws://user:pass@127.0.0.1:${port}/first`, { ...NO_DEFLATE, followRedirects: true, ...options });
  for (const event of events) ws.on(event, (url, request) => c.log('client', event, url, request.path, request.getHeader('cookie')));
  await closed;
  c.log('client', ws.url);
}

const to = (location, status = '302 Found') => (port) =>
  `HTTP/1.1 ${status}\r\nLocation: ${location.replace('PORT', port)}\r\nContent-Length: 0\r\n\r\n`;
const headers = { Authorization: 'Basic Zm9v', Cookie: 'a=b', 'X-Other': 'kept' };

s.once('redirects: to another path', (c) => redirected(c, [to('/second'), to('third?x', '307 Temporary Redirect')], { headers }));
s.once('redirects: credentials do not go to another host', (c) => redirected(c, [to('ws://localhost:PORT/other')], { headers, family: 4 }));
s.once('redirects: a listener takes care of credentials', (c) =>
  redirected(c, [to('ws://localhost:PORT/other')], { headers, family: 4 }, ['redirect']),
);
s.once('redirects: credentials of the URL', (c) => redirected(c, [to('/second')], {}));
s.once('redirects: too many', (c) => redirected(c, [to('/1'), to('/2'), to('/3')], { maxRedirects: 2 }));
s.once('redirects: maxRedirects 0', (c) => redirected(c, [to('/1')], { maxRedirects: 0 }));
s.once('redirects: to what is no URL', (c) => redirected(c, [to('ws://')], {}));
s.once('redirects: to another scheme', (c) => redirected(c, [to('ftp://127.0.0.1/x')], {}));
s.once('redirects: to a fragment', (c) => redirected(c, [to('/a#b')], {}));
s.once('redirects: to http:', (c) => redirected(c, [to('http://127.0.0.1:PORT/http')], {}));
s.once('redirects: close() in the redirect event', async (c) => {
  const port = await c.origin((head, peer, count) => peer.send(count === 0 ? to('/second')(port) : accept(head)));
  const { ws, closed } = connect(c, `ws://127.0.0.1:${port}`, { ...NO_DEFLATE, followRedirects: true });
  ws.on('redirect', () => ws.close());
  await closed;
});
s.once('redirects: subprotocols and the version are sent again', (c) =>
  redirected(c, [to('/second')], { protocolVersion: 8, origin: 'https://o' }),
);

s.once('an agent and createConnection', (c) => {
  const createConnection = (options, ...rest) => {
    c.log('connection', typeof options, options.host, options.path, rest.length);
    return net.connect({ host: options.host, port: options.port });
  };
  return visit(c, [{ ...NO_DEFLATE, createConnection }], withFrames(BYE));
});

const MESSAGE = Buffer.from('810161', 'hex');
s.once('messages in the packet of the answer come after open', (c) => visit(c, [NO_DEFLATE], withFrames(Buffer.concat([MESSAGE, BYE]))));
s.once('an error in the packet of the answer', (c) => visit(c, [NO_DEFLATE], withFrames(frame(1, 'masked'))));
