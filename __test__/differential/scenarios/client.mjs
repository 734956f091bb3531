// The client: its arguments, its request, and its results for the answers.
import { createHash } from 'node:crypto';
import http from 'node:http';

import { frame } from '../../helpers/clients.mjs';
import { next } from '../context.mjs';
import { section } from '../scenario.mjs';
import { outcome, unmaskedList } from '../show.mjs';

const s = section('client');
export default s;

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
export const KEY = /(?<=sec-websocket-key: )[+/\w]{22}==/i;
const EVENTS = ['open', 'upgrade', 'message', 'ping', 'pong', 'error', 'close'];

export function accept(head, ...lines) {
  const digest = createHash('sha1').update(head.match(KEY)[0] + GUID).digest('base64');
  const fields = ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${digest}`, ...lines];
  return `HTTP/1.1 101 Switching Protocols\r\n${fields.join('\r\n')}\r\n\r\n`;
}

export const cleanHead = (head) => head.replace(KEY, '<key>').split('\r\n');

/** A client with its events in the lane `client`, and the promise of its 'close'. */
export function connect(c, address, ...args) {
  const ws = new c.WebSocket(address, ...args);
  c.watch('client', ws, EVENTS);
  c.teardown(() => ws.terminate());
  return { ws, closed: next(ws, 'close') };
}

/** A client of an origin, `act` on it, and its end. `args` are those of its constructor without the address. */
export async function visit(c, args, origin, act = () => {}, path = '') {
  const port = await c.origin(origin);
  const { ws, closed } = connect(c, `ws://127.0.0.1:${port}${path}`, ...args);
  act(ws);
  await closed;
  return ws;
}

/** An origin that accepts, and then acts. */
export const accepting = (act = () => {}) => async (head, peer) => {
  await peer.send(accept(head));
  await act(peer);
};

/** An origin that accepts, with these frames in the same packet. */
export const withFrames = (frames, ...lines) => (head, peer) => peer.send(Buffer.concat([Buffer.from(accept(head, ...lines)), frames]));

/** A request that is logged, and the end; `lines` are further ones of the answer. */
function session(c, args, frames = BYE, lines = [], path = '') {
  const answer = withFrames(frames, ...lines);
  const origin = (head, peer) => {
    c.log('origin', 'request', cleanHead(head));
    answer(head, peer);
  };
  return visit(c, args, origin, () => {}, path);
}

const NO_DEFLATE = { perMessageDeflate: false };
const CLOSE = frame(8, Buffer.from([3, 232]));
const unmasked = (opcode, text) => Buffer.concat([Buffer.from([0x80 | opcode, text.length]), Buffer.from(text, 'latin1')]);
const BYE = unmasked(8, '\x03\xe8');

s.once('addresses that are none', (c) => {
  for (const address of ['', 'foo', 'ws://', 'ws://a b', undefined, {}, 7, 'ftp://a', 'ws://a#b', 'ws+unix:', 'ws+unix:#', 'mailto:a']) {
    c.log('thrown', outcome(() => new c.WebSocket(address)));
  }
});

s.once('protocol versions and subprotocols that are none', (c) => {
  for (const protocolVersion of [0, 12, '13', null]) {
    c.log('thrown', outcome(() => new c.WebSocket('ws://127.0.0.1', { protocolVersion })));
  }
  for (const protocols of [[''], ['a', 'a'], ['a b'], 'a,b', ['a', ''], [7], ['a;'], ['é'], null]) {
    c.log('thrown', outcome(() => new c.WebSocket('ws://127.0.0.1', protocols)));
  }
});

s.once('new without arguments, and without new', (c) => {
  c.log('thrown', outcome(() => new c.WebSocket()), outcome(() => c.WebSocket('ws://a')).replace(/'?WebSocket'?/, ''));
});

s.once('the request', (c) => session(c, [NO_DEFLATE]));
s.once('the request: path, query and credentials', async (c) => {
  const port = await c.origin((head, peer) => {
    c.log('origin', 'request', cleanHead(head));
    withFrames(BYE)(head, peer);
  });
  const { ws, closed } = connect(c, `ws://us%65r:p%40ss@127.0.0.1:${port}/path/x?a=b&c=%20`, NO_DEFLATE);
  c.log('client', ws.url);
  await closed;
});
s.once('the request: subprotocols, origin, headers, version 8', (c) => {
  const options = { ...NO_DEFLATE, origin: 'https://o', headers: { 'X-Mine': '1', Cookie: 'a=b', Host: 'other' }, protocolVersion: 8 };
  return session(c, [['one', 'two'], options], BYE, ['Sec-WebSocket-Protocol: two']);
});
s.once('the request: origin and auth', (c) =>
  session(c, [undefined, { ...NO_DEFLATE, origin: 'https://o', auth: 'a:b', protocols: 'p' }], BYE, ['Sec-WebSocket-Protocol: p']),
);
s.once('the request: headers that are the handshake', (c) =>
  session(c, [{ ...NO_DEFLATE, headers: { Upgrade: 'mine', connection: 'x', 'Sec-WebSocket-Version': 1 } }]),
);
s.once('a URL object, an http: URL', async (c) => {
  const port = await c.origin(withFrames(BYE));
  for (const address of [new URL(`ws://127.0.0.1:${port}/a`), `http://127.0.0.1:${port}/b`, new URL(`http://127.0.0.1:${port}`)]) {
    const { ws, closed } = connect(c, address, NO_DEFLATE);
    c.log('client', ws.url, String(address));
    await closed;
  }
});

s.once('finishRequest', async (c) => {
  const finishRequest = (request, ws) => {
    c.log('finish', request instanceof http.ClientRequest, ws.readyState, request.getHeader('upgrade'));
    request.setHeader('X-Late', 'yes');
    setImmediate(() => request.end());
  };
  await session(c, [{ ...NO_DEFLATE, finishRequest }]);
});

s.once('fields and states from CONNECTING to CLOSED', (c) => {
  const look = (ws, where) =>
    c.log('client', where, ws.readyState, ws.protocol, ws.extensions, ws.url, ws.bufferedAmount, ws._socket === null, ws._isServer);
  const watch = (ws) => {
    look(ws, 'new');
    for (const event of ['upgrade', 'open', 'close']) ws.on(event, () => look(ws, `in ${event}`));
    c.log('client', ws.binaryType, ws.isPaused, ws.onopen);
  };
  return visit(c, ['p', NO_DEFLATE], withFrames(BYE, 'Sec-WebSocket-Protocol: p'), watch, '/x');
});

s.once('data before the connection is open', (c) =>
  visit(c, [NO_DEFLATE], withFrames(BYE), (ws) => {
    for (const method of ['send', 'ping', 'pong']) c.log('client', outcome(() => ws[method]('x')));
    c.log('client', outcome(() => ws.pause()), outcome(() => ws.resume()), ws.isPaused, ws.bufferedAmount);
  }),
);

s.once('messages of both directions', async (c) => {
  const origin = accepting(async (peer) => {
    await peer.send(Buffer.concat([unmasked(1, 'text'), unmasked(2, 'bytes'), unmasked(9, 'ping'), unmasked(10, 'pong')]));
    await peer.frames(5);
    c.log('origin', 'frames', unmaskedList(peer.body));
    await peer.send(BYE);
  });
  await visit(c, [NO_DEFLATE], origin, (client) => client.on('open', () => {
    client.send('from the client');
    client.send(Buffer.from([1, 2, 3]), { fin: false });
    client.ping('p');
    client.send('end');
  }));
});

s.once('the masks: generateMask, mask false, and data that stays as it is', async (c) => {
  const origin = accepting(async (peer) => {
    await peer.frames(4);
    c.log('origin', 'frames', peer.body);
    await peer.send(BYE);
  });
  let calls = 0;
  const generateMask = (key) => {
    calls++;
    key[calls % 2]++;
  };
  const data = Buffer.from('data of the user');
  await visit(c, [{ ...NO_DEFLATE, generateMask }], origin, (ws) => ws.on('open', () => {
    ws.send(data);
    ws.send('text');
    ws.send('unmasked', { mask: false });
    ws.ping('ping', true);
  }));
  c.log('client', data, calls);
});

s.once('close() by the client', (c) => {
  const origin = accepting(async (peer) => {
    await peer.frames(1);
    c.log('origin', 'frames', unmaskedList(peer.body));
    await peer.send(unmasked(8, '\x0f\xa0bye'));
  });
  return visit(c, [NO_DEFLATE], origin, (ws) => ws.on('open', () => {
    ws._receiver.on('conclude', (...args) => c.log('client', 'conclude', ...args, ws.readyState));
    ws.close(4000, 'bye');
  }));
});

s.once('a client waits for the server to end the connection', (c) =>
  visit(c, [NO_DEFLATE], accepting(async (peer) => {
    await peer.send(BYE);
    await peer.frames(1);
    await peer.ended();
    c.log('origin', 'the client has ended');
  })),
);

s.once('closeTimeout of a client', (c) =>
  visit(c, [{ ...NO_DEFLATE, closeTimeout: 30 }], accepting(), (ws) => ws.on('open', () => {
    ws.close();
    c.log('client', ws._closeTimer._idleTimeout);
  })),
);

s.once('masked frames, a reserved bit and others errors of a server', async (c) => {
  for (const bytes of [frame(1, 'masked'), Buffer.from('9100', 'hex'), Buffer.from('8300', 'hex'), CLOSE, Buffer.from('8101ff', 'hex')]) {
    await session(c, [NO_DEFLATE], bytes);
  }
});

s.once('maxPayload of a client', (c) => session(c, [{ ...NO_DEFLATE, maxPayload: 3 }], unmasked(1, 'four')));

s.once('allowSynchronousEvents false of a client', (c) =>
  session(c, [{ ...NO_DEFLATE, allowSynchronousEvents: false }], Buffer.concat([unmasked(1, 'a'), unmasked(1, 'b'), BYE])),
);

s.once('the server closes and ends while its messages come one by one', (c) =>
  visit(c, [{ allowSynchronousEvents: false, closeTimeout: 2 ** 31 - 1 }], async (head, peer) => {
    await withFrames(Buffer.concat([...Array(100).fill(unmasked(1, 'one')), BYE]))(head, peer);
    peer.end();
  }),
);
s.once('the server just ends', (c) => visit(c, [NO_DEFLATE], accepting((peer) => peer.end())));
s.once('the server resets', (c) => visit(c, [NO_DEFLATE], accepting((peer) => setImmediate(() => peer.reset()))));

s.once('terminate() of an open client', (c) =>
  visit(c, [NO_DEFLATE], accepting(), (ws) => ws.on('open', () => {
    ws.on('close', () => c.log('client', 'paused', ws.isPaused));
    ws.pause();
    ws.terminate();
    c.log('client', ws.readyState);
  })),
);

s.once('a client and a server of the same implementation', async (c) => {
  const { wss, port } = await c.listen();
  wss.on('connection', (ws, request) => {
    c.watch('server', ws);
    c.log('server', request.url, ws.protocol);
    ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
  });
  const { ws, closed } = connect(c, `ws://127.0.0.1:${port}/echo`, ['p'], NO_DEFLATE);
  ws.on('open', () => ws.send('echo'));
  ws.on('message', () => ws.close(1000, 'done'));
  const [[server]] = await Promise.all([next(wss, 'connection'), closed]);
  if (server.readyState !== server.CLOSED) await next(server, 'close');
});
