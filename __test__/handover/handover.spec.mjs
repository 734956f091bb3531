// Option `handover`: connections move to the next process. Each process is one of its own, the clients are here.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, fstatSync, mkdirSync, readdirSync, renameSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import { createRequire } from 'node:module';
import net from 'node:net';
import { dirname, join } from 'node:path';

import { Child, WebSocketServer, listen, ownOnPosix, upgradeRequest } from '../helpers/index.mjs';
import { ask, exits, inMode, open, place, until, version } from '../helpers/versions.mjs';

const { prometheus } = createRequire(import.meta.url)('reactor-ws/prometheus');

// What wakes a loop or a thread without traffic is the conversation alone.
for (const [where, options] of [
  ['in the mode of this run', {}],
  ['on the event loop', { reactors: 0 }],
  ['on the event loop or a thread', { reactors: 'auto' }],
]) {
  inMode(`a connection moves through three versions, ${where}, and its client notices nothing`, async (t) => {
    const path = place(t);
    let current = await version(t, 'v0', 0, path, options);
    t.is(statSync(path).mode & 0o777, 0o600);
    const { port } = current;
    const ws = await open(port, '/chat?a=1', { headers: { cookie: 'who=me' }, protocols: ['one', 'two'] });
    t.is(await ask(ws, 'hello'), 'v0 /chat?a=1 1 hello who=me one');
    for (const [n, name] of ['v1', 'v2', 'v3'].entries()) {
      const next = await version(t, name, port, path, options);
      t.regex(await exits(t, current), /closed/);
      current = next;
      t.is(await ask(ws, 'again'), `${name} /chat?a=1 ${n + 2} again who=me one`);
    }
    ws.close(1000);
    t.is(await ws.closes, 1000);
  });
}

inMode('connections in their opening handshake, and the client that a proxy has named', async (t) => {
  const path = place(t);
  const options = { proxyProtocol: { trusted: ['127.0.0.1'] }, handshakeTimeout: 120_000 };
  let current = await version(t, 'v0', 0, path, options);
  const { port } = current;
  const request = 'GET /address HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  const stream = Buffer.concat([Buffer.from(`PROXY TCP4 192.0.2.7 192.0.2.8 4711 80\r\n${request}`), Buffer.from('818100000000', 'hex'), Buffer.from('x')]);
  const sockets = [0, 5, 39, 40, 60, stream.length - 7, stream.length - 6, stream.length - 1, stream.length].map((cut) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.write(stream.subarray(0, cut));
    return { cut, socket, text: '' };
  });
  for (const one of sockets) {
    one.socket.on('data', (chunk) => {
      one.text += chunk;
    });
  }
  await until(() => sockets.at(-1).text.includes('4711'));
  for (const name of ['v1', 'v2']) {
    const next = await version(t, name, port, path, options);
    await exits(t, current);
    current = next;
  }
  for (const { cut, socket } of sockets) socket.write(stream.subarray(cut));
  await until(() => sockets.every(({ text }) => text.endsWith('192.0.2.7 4711')));
  t.deepEqual(sockets.map(({ text }) => text.slice(-17, -15)), [...Array(8).fill('v2'), 'v0']);
  for (const { socket } of sockets) socket.destroy();
});

/** A client that always has some messages under way, and checks that each is answered once and in order. */
class Talker {
  constructor(t, ws, url) {
    Object.assign(this, { t, ws, url, sent: 0, got: 0, isOver: false });
    ws.on('message', (data) => {
      const [, , count, number] = String(data.subarray(0, 100)).split(' ');
      this.got++;
      if (Number(count) !== this.got || Number(number) !== this.got) t.fail(`${url}: answer ${count} to ${number}, not ${this.got}`);
      if (!this.isOver) this.say();
      else if (this.got === this.sent) ws.close(1000);
    });
    for (let n = 0; n < 4; n++) this.say();
  }

  say() {
    const text = `${++this.sent} ${this.url === '/long' ? 'x'.repeat(150_000) : 'ü€🙂'}`;
    if (this.url !== '/parts') return void this.ws.send(text);
    this.ws.send(text.slice(0, 2), { fin: false });
    setImmediate(() => {
      this.ws.send(text.slice(2, 3), { fin: false });
      this.ws.ping('in between');
      this.ws.send(text.slice(3));
    });
  }

  async end() {
    this.isOver = true;
    return this.ws.closes;
  }
}

const KINDS = ['/', '/paused', '/much', '/long'];

async function crowd(t, port, count, options, kinds = KINDS) {
  const talkers = [];
  for (let n = 0; n < count; n++) {
    const url = kinds[n % kinds.length];
    talkers.push(new Talker(t, await open(port, url, options), url));
  }
  return talkers;
}

for (const [name, { modes = [], ...options }, deflate, how] of [
  ['plain', {}, false],
  ['compressed, with windows', { perMessageDeflate: { threshold: 0 } }, true],
  ['on three reactors', { reactors: 3 }, false],
  ['on the event loop', { reactors: 0 }, false],
  ['on the event loop and a thread in turn', { reactors: 'auto' }, false, { env: { REACTOR_WS_SWITCH: 'every-turn' } }],
  ['each in another mode', { modes: [0, 3, 'auto', 1, 0, 'auto', 3] }, false],
  ['with handshakes that JavaScript answers', { hook: true }, false],
]) {
  inMode(`under load, ${name}: nothing is closed, lost, repeated or out of order`, async (t) => {
    const path = place(t);
    const start = (n, port) => version(t, `v${n}`, port, path, { ...options, reactors: modes[n] ?? options.reactors }, how);
    let current = await start(0, 0);
    const { port } = current;
    const talkers = await crowd(t, port, 16, { perMessageDeflate: deflate });
    for (let n = 1; n <= 6; n++) {
      const next = await start(n, port);
      await exits(t, current);
      current = next;
      const before = talkers.map((talker) => talker.got);
      await until(() => talkers.every((talker, index) => talker.got > before[index]));
    }
    t.deepEqual(new Set(await Promise.all(talkers.map((talker) => talker.end()))), new Set([1000]));
  });
}

for (const mode of ['native', 'hook', 'noServer']) {
  inMode(`on the port of an HTTP server, ${mode}: nothing is closed, lost, repeated or out of order`, async (t) => {
    const path = place(t);
    const options = { mode };
    let current = await version(t, 'v0', 0, path, options);
    const { port } = current;
    const talkers = await crowd(t, port, 6, { perMessageDeflate: true }, ['/', mode === 'native' ? '/other' : '/']);
    const headers = { cookie: 'who=me' };
    const ws = await open(port, '/?a=1', { headers, protocols: ['one'], perMessageDeflate: mode === 'hook' });
    t.is(await ask(ws, 'hello'), 'v0 /?a=1 1 hello who=me one');
    for (let n = 1; n <= 3; n++) {
      const next = await version(t, `v${n}`, port, path, options);
      const stdout = await exits(t, current);
      t.regex(stdout, /"stayed":\{("[a-z]+":0,?)+\}/);
      const count = (event) => stdout.split('\n').filter((line) => line === event).length;
      // The program closes a server of its own upgrades.
      t.deepEqual([count('handover'), count('over')], mode === 'noServer' ? [1, 0] : [2, 2]);
      current = next;
      t.is(await (await fetch(`http://127.0.0.1:${port}/page`)).text(), `v${n} /page`);
      t.is(await ask(ws, 'again'), `v${n} /?a=1 ${n + 1} again who=me one`);
      const before = talkers.map((talker) => talker.got);
      await until(() => talkers.every((talker, index) => talker.got > before[index]));
    }
    t.deepEqual(new Set(await Promise.all(talkers.map((talker) => talker.end()))), new Set([1000]));
    ws.close(1000);
    t.is(await ws.closes, 1000);
  });

  inMode(`on the port of an HTTP server, ${mode}: topics and histories move`, async (t) => {
    const path = place(t);
    const options = { mode, history: 10 };
    const old = await version(t, 'v0', 0, path, options);
    const ws = await open(old.port, mode === 'noServer' ? '/' : '/other');
    const heard = [];
    ws.on('message', (data) => heard.push(String(data)));
    ws.send('one');
    await until(() => heard.length === 1);
    await version(t, 'v1', old.port, path, options);
    await exits(t, old);
    ws.send('two');
    await until(() => heard.length === 2);
    t.deepEqual(heard, ['one', 'two']);
    t.is(await ask(ws, 'history'), 'has one,two');
  });
}

for (const [paths, has] of [[['/a', '/b'], ['a', 'b']], [[null, null], ['', '']]]) {
  inMode(`on the port of an HTTP server, WebSocketServers with paths ${paths}: none gets the history of another one`, async (t) => {
    const path = place(t);
    const options = { mode: 'noServer', history: 10, paths };
    const old = await version(t, 'v0', 0, path, options);
    const clients = [await open(old.port, '/a'), await open(old.port, '/b')];
    t.deepEqual([await ask(clients[0], 'a'), await ask(clients[1], 'b')], ['a', 'b']);
    await version(t, 'v1', old.port, path, options);
    await exits(t, old);
    for (const [index, ws] of clients.entries()) {
      t.is(await ask(ws, 'history'), `has ${has[index]}`);
      t.is(await ask(ws, 'still a member'), 'still a member');
    }
  });
}

for (const mode of ['native', 'hook', 'noServer']) {
  inMode(`on the port of an HTTP server, ${mode}: connections that have moved count`, async (t) => {
    const path = place(t);
    const options = { mode, maxConnections: 2 };
    const old = await version(t, 'v0', 0, path, options);
    const [one, other] = await Promise.all([open(old.port), open(old.port)]);
    await version(t, 'v1', old.port, path, options);
    await exits(t, old);
    t.is(await ask(other, 'x'), 'v1 / 1 x  ');
    await t.throwsAsync(open(old.port), { message: /503/ });
    one.close(1000);
    await one.closes;
    let next = null;
    while (next === null) next = await open(old.port).catch(() => null);
    t.is(await ask(next, 'y'), 'v1 / 1 y  ');
  });
}

/** Sends bytes, and returns all that comes, with its end. */
function raw(port, bytes) {
  const socket = net.connect(port, '127.0.0.1');
  socket.got = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    socket.got += chunk;
  });
  socket.ended = once(socket, 'close');
  socket.write(bytes);
  return socket;
}

inMode('on the port of an HTTP server: requests under way end in the old process, with their connections', async (t) => {
  const path = place(t);
  const options = { mode: 'native' };
  const old = await version(t, 'v0', 0, path, options);
  const head = (line) => `${line} HTTP/1.1\r\nHost: x\r\n`;
  const body = 'Content-Length: 2\r\n\r\n';
  const asked = raw(old.port, `${head('POST /one')}Expect: 100-continue\r\n${body}`);
  const begun = raw(old.port, `${head('POST /begun')}${body}`);
  const held = raw(old.port, `${head('GET /held')}\r\n`);
  const pipeline = raw(old.port, `${head('GET /held')}\r\n${head('POST /last')}${body}`);
  const upgraded = raw(old.port, `${head('POST /begun')}${body}`);
  await until(() => asked.got.includes('100 Continue') && [begun, upgraded].every(({ got }) => got.includes('200 OK')));
  await version(t, 'v1', old.port, path, options);
  await until(() => /^closed/m.test(old.output));
  for (const socket of [asked, begun, pipeline, upgraded]) socket.write('ab');
  await Promise.all([asked.ended, held.ended]);
  t.regex(asked.got, /Connection: close[^]*v0 \/one/);
  t.regex(held.got, /Connection: close[^]*v0 \/held/);
  await until(() => begun.got.includes('v0 /begun'));
  t.notRegex(begun.got, /Connection: close/);
  begun.write(`${head('GET /two')}\r\n`);
  await begun.ended;
  t.regex(begun.got, /Connection: close[^]*v0 \/two/);
  await until(() => upgraded.got.includes('v0 /begun'));
  upgraded.write(upgradeRequest());
  await upgraded.ended;
  t.regex(upgraded.got, /v0 \/begun[^]*HTTP\/1\.1 503/);
  await until(() => pipeline.got.includes('v0 /last'));
  t.regex(pipeline.got, /v0 \/held[^]*v0 \/last/);
  await exits(t, old);
});

for (const mode of ['native', 'hook', 'noServer']) {
  inMode(`on the port of an HTTP server, ${mode}: a kept connection moves between two requests`, async (t) => {
    const path = place(t);
    const proxies = mode === 'native' ? {} : { proxyProtocol: { trusted: ['127.0.0.1'] } };
    const options = { mode, handshakeTimeout: 1000, ...proxies };
    let current = await version(t, 'v0', 0, path, options);
    const { port } = current;
    const [from, line] = { native: ['127.0.0.1', ''], hook: ['192.0.2.7', 'PROXY TCP4 192.0.2.7 192.0.2.8 4711 80\r\n'], noServer: ['2001:db8::7', 'PROXY TCP6 2001:db8::7 ::1 4711 80\r\n'] }[mode];
    const request = 'GET /from HTTP/1.1\r\nHost: x\r\n\r\n';
    const [begun, kept, upgraded] = [0, 1, 2].map(() => raw(port, `${line}${request}`));
    await until(() => [begun, kept, upgraded].every(({ got }) => got.includes(`v0 ${from}`)));
    for (const name of ['v1', 'v2']) {
      const next = await version(t, name, port, path, options);
      await exits(t, current);
      current = next;
    }
    if (mode === 'native') {
      // The time is for a request that has begun. Otherwise Node reads it.
      begun.write('GET');
      await begun.ended;
      t.regex(begun.got, /408 Request Timeout/);
    }
    kept.write(request);
    await until(() => kept.got.includes(`v2 ${from}`));
    upgraded.write(upgradeRequest());
    await until(() => upgraded.got.includes('HTTP/1.1 101'));
    for (const socket of [begun, kept, upgraded]) socket.destroy();
  });
}

for (const mode of ['native', 'hook', 'noServer']) {
  inMode(`on the port of an HTTP server, ${mode}: what never ends does not keep the old process`, async (t) => {
    const path = place(t);
    const old = await version(t, 'v0', 0, path, { mode, steps: true });
    const head = (url) => `GET ${url} HTTP/1.1\r\nHost: x\r\n`;
    const half = raw(old.port, `${head('/one')}\r\n${head('/two')}`);
    const endless = raw(old.port, `${head('/endless')}\r\n`);
    const slow = raw(old.port, `${head('/slow')}\r\n`);
    const body = raw(old.port, 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc');
    const undecided = upgradeRequest({ line: `GET ${mode === 'hook' ? '/?never' : '/never'} HTTP/1.1` });
    const never = raw(old.port, undecided);
    const used = raw(old.port, `${head('/one')}\r\n`);
    const tunnel = raw(old.port, upgradeRequest({ line: 'GET /raw HTTP/1.1' }));
    await until(() => [half, used].every(({ got }) => got.includes('v0 /one')) && endless.got.includes('v0') && tunnel.got !== '');
    used.write(undecided);
    await until(() => mode === 'native' || old.output.split('asked').length === 3);
    await version(t, 'v1', old.port, path, { mode });
    await until(() => old.output.includes('waits 300000'));
    // After a second, ten, and five minutes.
    const ends = (...those) => old.process.kill('SIGUSR2') && Promise.all(those.map(({ ended }) => ended));
    await ends(slow);
    await ends(half, never, used);
    if (mode === 'noServer') {
      tunnel.write('more');
      await until(() => tunnel.got === 'rawmore');
    }
    await ends(endless, body, tunnel);
    t.regex(slow.got, /v0 \/slow/);
    t.regex(never.got, mode === 'native' ? /^HTTP\/1\.1 400/ : /^HTTP\/1\.1 503/);
    t.regex(used.got, mode === 'native' ? /v0 \/oneHTTP\/1\.1 400/ : /v0 \/oneHTTP\/1\.1 503/);
    await exits(t, old);
  });
}

inMode('verifyClient that never answers does not keep the old process', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { hook: true, steps: true });
  const never = raw(old.port, upgradeRequest({ line: 'GET /never HTTP/1.1' }));
  const tunnel = raw(old.port, upgradeRequest({ line: 'GET /raw HTTP/1.1' }));
  await until(() => tunnel.got !== '');
  const ws = await open(old.port);
  await version(t, 'v1', old.port, path, { hook: true });
  await until(() => old.output.includes('waits 300000'));
  // After ten seconds, twenty, and five minutes.
  old.process.kill('SIGUSR2');
  await never.ended;
  t.regex(never.got, /^HTTP\/1\.1 503/);
  old.process.kill('SIGUSR2');
  await until(() => tunnel.got === 'rawmore');
  old.process.kill('SIGUSR2');
  await tunnel.ended;
  t.is(await ask(ws, 'x'), 'v1 / 1 x  ');
  await exits(t, old);
});

/** A session of HTTP/2 that answers nothing by itself, with the stream 1: GET /. */
function rawSession(port) {
  const session = net.connect(port, '127.0.0.1').on('error', () => {});
  session.got = '';
  session.on('data', (chunk) => {
    session.got += chunk.toString('hex');
  });
  session.ended = once(session, 'close');
  session.send = (stream, flags, fields) => session.write(`${(fields.length / 2).toString(16).padStart(6, '0')}01${flags}0000000${stream}${fields}`, 'hex');
  session.ask = (stream) => session.send(stream, '05', '828486410178');
  session.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  session.write('000000040000000000', 'hex');
  session.ask(1);
  return session;
}

/** HEADERS of an opening handshake (RFC 8441, 5.1), each name and value by its length. */
const EXTENDED_CONNECT = [':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'http', ':path', '/', ':authority', 'x', 'sec-websocket-version', '13']
  .map((text, index) => `${index % 2 ? '' : '00'}${text.length.toString(16).padStart(2, '0')}${Buffer.from(text).toString('hex')}`)
  .join('');

/** A GOAWAY without an error, as hexadecimal digits. */
const goaway = (last) => `000008070000000000${last}00000000`;
const LARGEST = '7fffffff';

const inModeOfHttp2 = Number.parseInt(process.versions.node, 10) < 22 ? inMode.skip : inMode;

inModeOfHttp2('on the port of an HTTP/2 server: sessions end in the old process, and new ones reach the next', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { mode: 'native', h2: true, steps: true });
  const begin = () => {
    const session = connect(`http://127.0.0.1:${old.port}`);
    session.on('error', () => {});
    session.ended = once(session, 'close');
    return session;
  };
  const request = async (session, url) => {
    let text = '';
    for await (const piece of session.request({ ':path': url })) text += piece;
    return text;
  };
  const [idle, busy, endless] = [begin(), begin(), begin()];
  t.is(await request(idle, '/'), 'v0 /');
  const slow = request(busy, '/slow');
  const never = request(endless, '/endless');
  t.is(await request(endless, '/x'), 'v0 /x');
  const silent = rawSession(old.port);
  await until(() => silent.got.includes(Buffer.from('v0 /').toString('hex')));
  const ws = await open(old.port);
  const within = connect(`http://127.0.0.1:${old.port}`);
  await once(within, 'remoteSettings');
  const stream = within.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/', ':scheme': 'http', ':authority': 'x', 'sec-websocket-version': '13' }, { endStream: false });
  await once(stream, 'response');
  const closing = once(stream, 'data');
  await version(t, 'v1', old.port, path, { mode: 'native', h2: true });
  t.is((await closing)[0].toString('hex'), '880203f4', '1012');
  stream.end(Buffer.from('88820000000003f4', 'hex'));
  const next = begin();
  t.is(await request(next, '/x'), 'v1 /x');
  next.close();
  await until(() => old.output.includes('waits 300000'));
  old.process.kill('SIGUSR2');
  t.is(await slow, 'v0 /slow');
  await Promise.all([idle, busy].map(({ ended }) => ended));
  for (const passed of [1000, 10_000]) {
    await until(() => old.output.includes(`passed ${passed}\n`));
    old.process.kill('SIGUSR2');
  }
  await Promise.all([endless, silent].map(({ ended }) => ended));
  t.true(silent.got.endsWith(goaway('00000001')), silent.got);
  t.is(await never, 'v0');
  t.is(await ask(ws, 'x'), 'v1 / 1 x  ');
  await exits(t, old);
});

inModeOfHttp2('on the port of an HTTP/2 server: streams on the way to the old process are served', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { mode: 'native', h2: true });
  const answers = ({ got }) => got.split(Buffer.from('v0 /').toString('hex')).length - 1;
  const session = rawSession(old.port);
  await until(() => answers(session) === 1);
  await version(t, 'v1', old.port, path, { mode: 'native', h2: true });
  const ping = /000008060000000000(\w{16})/;
  await until(() => session.got.includes(goaway(LARGEST)) && ping.test(session.got));
  session.ask(3);
  await until(() => answers(session) === 2);
  session.send(5, '04', EXTENDED_CONNECT);
  await until(() => session.got.includes('00000403000000000500000007'));
  t.false(session.got.includes(goaway('00000005')));
  session.write(`000008060100000000${ping.exec(session.got)[1]}`, 'hex');
  await session.ended;
  t.true(session.got.endsWith(goaway('00000005')), session.got);
  await exits(t, old);
});

inMode('on the port of an HTTP server: what the program accepts after the move is refused', async (t) => {
  const path = place(t);
  const options = { mode: 'noServer' };
  const old = await version(t, 'v0', 0, path, options);
  const refused = t.throwsAsync(open(old.port, '/late'), { message: /503/ });
  t.is(await old.line(1), 'late');
  await version(t, 'v1', old.port, path, options);
  await refused;
  await exits(t, old);
});

inMode("on the port of an HTTP server: what the program accepts in a listener of 'handover' moves", async (t) => {
  const path = place(t);
  const server = createServer();
  const wss = new WebSocketServer({ noServer: true });
  const asked = [];
  const accept = () => wss.handleUpgrade(...asked.shift(), () => {});
  server.on('upgrade', (...values) => asked.push(values));
  // By this one the port knows the WebSocketServer.
  server.once('upgrade', accept);
  wss.once('handover', accept);
  const listener = listen(server, { host: '127.0.0.1', port: 0, handover: path });
  await once(listener, 'listening');
  const { port } = listener.address();
  const first = await open(port);
  const opening = open(port);
  await until(() => asked.length === 1);
  const next = new Child(t, 'movable-http.mjs', ['v1', port, path, JSON.stringify({ mode: 'noServer' })]);
  t.is(await ask(await opening, 'x'), 'v1 / 1 x  ');
  t.is(await ask(first, 'x'), 'v1 / 1 x  ');
  next.process.kill();
});

inMode("on the port of an HTTP server: a client that ends while the program decides emits 'end' once", async (t) => {
  const path = place(t);
  const options = { mode: 'noServer' };
  const old = await version(t, 'v0', 0, path, options);
  const ws = await open(old.port, '/ended');
  const next = await version(t, 'v1', old.port, path, options);
  ws._socket.end();
  await until(() => next.output.includes('closed 1006'));
  t.is(next.output.split('end\n').length, 2);
});

inMode('on the port of an HTTP server: with a head that reactors do not read, a connection stays', async (t) => {
  const path = place(t);
  const options = { mode: 'noServer' };
  const old = await version(t, 'v0', 0, path, options);
  const headers = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-${n}`, 'y']));
  const all = [await open(old.port, '/', { headers }), await open(old.port)];
  await version(t, 'v1', old.port, path, options);
  t.is(await all[0].closes, 1012);
  t.is(await ask(all[1], 'x'), 'v1 / 1 x  ');
  const { stdout } = await old.ended();
  t.like(JSON.parse(/^closed (\{.*)$/m.exec(stdout)[1]), { moved: 1, stayed: { unknown: 1 } });
});

inMode('on the port of an HTTP server: what the program does not accept again is closed with 1012', async (t) => {
  const path = place(t);
  const options = { mode: 'noServer' };
  const old = await version(t, 'v0', 0, path, options);
  const urls = ['/refused', '/destroyed', '/both', '/socket.io/?EIO=4&transport=websocket', '/'];
  const all = await Promise.all(urls.map((url) => open(old.port, url)));
  const next = await version(t, 'v1', old.port, path, options);
  t.deepEqual(await Promise.all(all.slice(0, 4).map((ws) => ws.closes)), [1012, 1012, 1012, 1012]);
  t.is(await ask(all[4], 'x'), 'v1 / 1 x  ');
  const last = await version(t, 'v2', old.port, path, options);
  const text = await exits(t, next);
  t.like(JSON.parse(text.slice(text.lastIndexOf('closed ') + 7)), { moved: 1, taken: 5, declined: 4, failed: 0 });
  t.is(await ask(all[4], 'x'), 'v2 / 2 x  ');
  t.truthy(last);
});

/** Says the protocol of src/reactor/handover/courier.rs, without descriptors. */
class Fake {
  constructor(socket) {
    this.socket = socket.on('error', () => {});
    this.bytes = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      this.bytes = Buffer.concat([this.bytes, chunk]);
    });
    this.isOver = new Promise((resolve) => {
      socket.on('close', resolve);
    });
  }

  say(kind, body = Buffer.alloc(0)) {
    const head = Buffer.alloc(5);
    head[0] = kind;
    head.writeUInt32LE(body.length, 1);
    this.socket.write(Buffer.concat([head, body]));
  }

  hello(number = VERSION, magic = 'reactor-ws handover') {
    const body = Buffer.alloc(8 + magic.length + 8 + 1);
    body.writeBigUInt64LE(BigInt(magic.length));
    body.write(magic, 8);
    body.writeBigUInt64LE(BigInt(number), 8 + magic.length);
    // It wants to be told ahead.
    body[8 + magic.length + 8] = 1;
    this.say(HELLO, body);
  }

  async hears(...kinds) {
    const isThere = () => this.bytes.length >= 5 && this.bytes.length >= 5 + this.bytes.readUInt32LE(1);
    await until(() => isThere() || this.socket.destroyed);
    if (!isThere()) throw new Error(`it left before ${kinds}`);
    const length = this.bytes.readUInt32LE(1);
    const [heard] = this.bytes;
    this.bytes = this.bytes.subarray(5 + length);
    if (!kinds.includes(heard)) throw new Error(`${heard}, not ${kinds}`);
    return heard;
  }
}

const VERSION = 2;
const [HELLO, REFUSED, PORT, BATCH, HELD, END, MINE, COPY, READY, AHEAD] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** The conversation of a new process, up to a message of the old one. */
async function upTo(fake, last) {
  fake.hello();
  await fake.hears(HELLO);
  // Each reactor sends batches of its own.
  let heard = COPY;
  while (heard !== READY && heard !== last) {
    heard = await fake.hears(COPY, AHEAD, READY);
    if (heard === AHEAD && heard !== last) fake.say(HELD);
  }
  if (heard !== last) {
    fake.say(READY);
    heard = await fake.hears(PORT);
  }
  for (; heard !== last; heard = await fake.hears(BATCH, END)) {
    if (heard === BATCH) fake.say(HELD);
  }
}

/** The last step of a new process before it leaves. */
const STEPS = {
  'says nothing': () => {},
  'says no HELLO': (fake) => void fake.socket.write('GET / HTTP/1.1\r\n\r\n'),
  'has another version': async (fake) => {
    fake.hello(VERSION - 1);
    await fake.hears(REFUSED);
  },
  'is another program': async (fake) => {
    fake.hello(VERSION, 'something else');
    await fake.hears(REFUSED);
  },
  'leaves after HELLO': (fake) => fake.hello(),
  'leaves after AHEAD': (fake) => upTo(fake, AHEAD),
  'answers AHEAD wrongly': async (fake) => {
    await upTo(fake, AHEAD);
    fake.say(MINE);
    await fake.isOver;
  },
  'leaves after READY': (fake) => upTo(fake, READY),
  'leaves after PORT': (fake) => upTo(fake, PORT),
  'leaves after BATCH': (fake) => upTo(fake, BATCH),
  'leaves after END': (fake) => upTo(fake, END),
  'answers BATCH wrongly': async (fake) => {
    await upTo(fake, BATCH);
    fake.say(MINE, Buffer.from('what'));
    await fake.isOver;
  },
};

inMode('a new process that leaves before MINE: the old one goes on with everything', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path);
  const talkers = await crowd(t, old.port, 8);
  for (const [name, step] of Object.entries(STEPS)) {
    const socket = net.connect({ path });
    await once(socket, 'connect');
    const fake = new Fake(socket);
    await step(fake);
    socket.destroy();
    const before = talkers.map((talker) => talker.got);
    await until(() => talkers.every((talker, index) => talker.got > before[index] + 8));
    t.is(await ask(await open(old.port), name), `v0 / 1 ${name}  `, 'the port is served');
  }
  const next = await version(t, 'v1', old.port, path);
  const { code, stdout } = await old.ended();
  t.is(code, 0);
  t.is(JSON.parse(/^closed (.*)$/m.exec(stdout)[1]).failed, Object.keys(STEPS).length);
  const codes = await Promise.all(talkers.map((talker) => talker.end()));
  t.deepEqual(new Set(codes), new Set([1000]));
  t.regex(next.first, /listening/);
});

for (const first of ['', 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n']) {
  inMode(`on the port of an HTTP server: what opens while nothing is read moves, on a ${first ? 'kept' : 'new'} connection`, async (t) => {
    const path = place(t);
    const options = { mode: 'noServer' };
    const old = await version(t, 'v0', 0, path, options);
    const socket = raw(old.port, first);
    await until(() => first === '' || socket.got.includes('v0 /one'));
    socket.write(upgradeRequest({ line: 'GET /frozen HTTP/1.1' }));
    socket.write('818100000000', 'hex');
    await until(() => old.output.includes('asked'));
    await version(t, 'v1', old.port, path, options);
    socket.write('x');
    await until(() => socket.got.includes('v1 /frozen 1 x'));
    socket.destroy();
    await exits(t, old);
  });
}

inMode('on the port of an HTTP server: a kept connection goes on if the new process leaves', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { mode: 'native' });
  const request = 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n';
  const kept = raw(old.port, request);
  for (let answers = 1; answers < 4; answers++) {
    await until(() => kept.got.split('v0 /one').length > answers);
    const socket = net.connect(path);
    await upTo(new Fake(socket), END);
    kept.write(request);
    socket.destroy();
  }
  await until(() => kept.got.split('v0 /one').length > 4);
  t.notRegex(kept.got, /Connection: close/);
  kept.destroy();
});

inMode('with MINE everything belongs to the new process, even if that dies', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { reactors: 1 });
  const all = [await open(old.port), await open(old.port)];
  const socket = net.connect({ path });
  const fake = new Fake(socket);
  await upTo(fake, END);
  fake.say(MINE);
  await once(socket, 'close');
  t.deepEqual(await Promise.all(all.map((ws) => ws.closes)), [1006, 1006]);
  await exits(t, old);
});

inMode('a program that trickles bytes does not hold a deploy', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path);
  const ws = await open(old.port);
  const socket = net.connect({ path });
  socket.on('error', () => {});
  const timer = setInterval(() => socket.write('\x01'), 100);
  t.teardown(() => clearInterval(timer));
  await once(socket, 'connect');
  const next = await version(t, 'v1', old.port, path);
  t.is(await ask(ws, 'x'), 'v1 / 1 x  ');
  t.regex(next.first, /listening/);
});

for (const [name, port, options, message] of [
  ['port', 1, {}, /^error WS_ERR_HANDOVER options\.port is 1, and was \d+/],
  ['host', 0, { host: '0.0.0.0' }, /^error WS_ERR_HANDOVER options\.host is 0\.0\.0\.0, and was 127\.0\.0\.1/],
]) {
  inMode(`a new version with another ${name} takes nothing, and says so`, async (t) => {
    const path = place(t);
    const old = await version(t, 'v0', 0, path);
    const ws = await open(old.port);
    const next = new Child(t, 'movable.mjs', ['v1', port, path, JSON.stringify(options)]);
    t.regex(await next.line(), message);
    t.is(await ask(ws, 'x'), 'v0 / 1 x  ');
    t.is(await ask(await open(old.port), 'x'), 'v0 / 1 x  ');
  });
}

inMode('in the new process, listening comes after the connections', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { late: 300, reactors: 3 });
  for (let n = 0; n < 100; n++) await open(old.port);
  const wss = new WebSocketServer({ host: 'localhost', port: old.port, handover: path });
  t.teardown(() => wss.close());
  let count = 0;
  wss.on('connection', (ws) => {
    t.true(ws.resumed);
    t.is(wss.address().port, old.port);
    count++;
  });
  await once(wss, 'listening');
  t.is(count, 100);
  t.is(wss._handover.courier, null, 'the old process has its end');
  const { bytes, duration, pause, taken } = wss.metrics().handover;
  t.is(taken, 100);
  t.deepEqual(wss._handover.foreseen, [], 'they take no memory twice');
  // Since the old process has not read.
  t.true(bytes > 10_000 && pause > 0.29 && duration >= pause);
  for (const ws of wss.clients) ws.terminate();
});

inMode("a new process that closes in a listener of 'connection': no 'listening', and the other connections get 1012", async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path);
  const all = [];
  for (let n = 0; n < 20; n++) all.push(await open(old.port));
  const wss = new WebSocketServer({ host: '127.0.0.1', port: old.port, handover: path });
  wss.on('listening', () => t.fail());
  wss.on('connection', () => wss.clients.size === 5 && wss.close());
  await exits(t, old);
  await until(() => wss.clients.size === 5);
  // With several reactors, others than the first five can be the first.
  const codes = [];
  for (const { closes } of all) void closes.then((code) => codes.push(code));
  await until(() => codes.length >= 15);
  t.deepEqual(codes, Array(15).fill(1012));
  const closed = once(wss, 'close');
  for (const ws of wss.clients) ws.terminate();
  await closed;
});

inMode('processes that are killed while connections move: each connection is served or closed, and the port is served', async (t) => {
  const path = place(t);
  let current = await version(t, 'v0', 0, path);
  const { port } = current;
  for (let n = 1; n <= 8; n++) {
    const clients = [];
    for (let m = 0; m < 40; m++) clients.push(await open(port));
    const next = new Child(t, 'movable.mjs', [`v${n}`, port, path, '{"late":1}']);
    const victim = n % 2 === 0 ? current : next;
    await Promise.race([next.line().catch(() => {}), new Promise((resolve) => setTimeout(resolve, n * 40))]);
    if (n > 4) await next.line().catch(() => {});
    victim.process.kill('SIGKILL');
    const left = victim === current ? next : current;
    await victim.ended();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const isServed = await open(port).then((ws) => ask(ws, 'x').then(() => ws.terminate() ?? true)).catch(() => false);
    if (victim === current) {
      current = left;
      await current.line();
    } else if (!isServed) {
      // It had given everything.
      await left.ended();
      current = await version(t, `w${n}`, port, path);
    }
    await until(() => clients.every((ws) => ws.readyState === 3 || ws.readyState === 1));
    for (const ws of clients) {
      if (ws.readyState === 1) await Promise.race([ask(ws, 'there?'), ws.closes]);
      ws.terminate();
    }
    t.regex(await ask(await open(port), 'x'), / 1 x/);
  }
});

inMode('two new processes at once: the connections go to the one, then to the other', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { late: 100 });
  const ws = await open(old.port);
  const both = await Promise.all([version(t, 'v1', old.port, path), version(t, 'v2', old.port, path)]);
  await exits(t, old);
  const first = await Promise.race(both.map(async (child) => {
    await child.ended();
    return child;
  }));
  const last = both.find((child) => child !== first);
  t.regex(await ask(ws, 'x'), last === both[0] ? /^v1/ : /^v2/);
});

inMode('handover() resolves with the counts, or fails', async (t) => {
  const path = place(t);
  const wss = new WebSocketServer({ closeTimeout: 600_000, port: 0, host: '127.0.0.1', handover: path });
  await once(wss, 'listening');
  await t.throwsAsync(wss.handover({ timeout: 1 }), { code: 'WS_ERR_HANDOVER', message: /within 1 ms/ });
  await t.throwsAsync(wss.handover({ timeout: -1 }), { instanceOf: RangeError });
  const { port } = wss.address();
  const clients = [await open(port), await open(port), await open(port)];
  // Its client does not answer the close frame.
  clients[2]._socket.pause();
  [...wss.clients].at(-1).close();
  const closed = once(wss, 'close');
  await until(() => statSync(path, { throwIfNoEntry: false }));
  const next = version(t, 'v1', port, path);
  const counts = await wss.handover();
  t.like(counts, { moved: 2, taken: 0, failed: 0 });
  t.deepEqual(Object.entries(counts.stayed).filter(([, count]) => count > 0), [['closing', 1]]);
  t.deepEqual(wss.metrics().handover, counts);
  for (const name of ['handover_total{result="moved"} 2', 'handover_stayed_total{reason="closing"} 1', `handover_bytes_total ${counts.bytes}`]) {
    t.true(prometheus(wss).includes(`reactor_ws_${name}`), name);
  }
  t.is(wss.metrics().connections.open, 1);
  clients[2]._socket.resume();
  await closed;
  t.true(counts.bytes > 200 && counts.pause > 0 && counts.duration >= counts.pause);
  t.deepEqual(await wss.handover(), counts);
  await next;
  for (const ws of clients.slice(0, 2)) t.is(await ask(ws, 'x'), 'v1 / 1 x  ');
  const plain = new WebSocketServer({ noServer: true });
  await t.throwsAsync(plain.handover(), { message: /no option handover/ });
});

inMode('a connection whose first answer waits for the ends of others moves', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { slow: 500 });
  const first = await open(old.port);
  first.close(1000);
  await first.closes;
  const second = open(old.port);
  second.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 50));
  await version(t, 'v1', old.port, path);
  t.is(await ask(await second, 'x'), 'v1 / 1 x  ');
});

inMode('handover() has no part in how long the process lives', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { signal: true });
  await open(old.port);
  old.process.kill('SIGUSR2');
  await version(t, 'v1', old.port, path);
  t.regex(await exits(t, old), /^moved 1$/m);
});

inMode('what a listener of handover sends arrives, Blobs too', async (t) => {
  for (const last of ['text', 'blob']) {
    const path = place(t);
    const old = await version(t, 'v0', 0, path, { late: 100, last });
    const ws = await open(old.port);
    const answer = once(ws, 'message');
    await version(t, 'v1', old.port, path);
    t.is(String((await answer)[0]), 'last');
    t.is(await ask(ws, 'x'), 'v1 / 1 x  ');
    await exits(t, old);
  }
});

inMode('a Blob that is read for long arrives in the old process', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { late: 1, last: 'slow' });
  const ws = await open(old.port);
  const answer = once(ws, 'message');
  await version(t, 'v1', old.port, path);
  t.is(String((await answer)[0]), 'last');
  t.is(await ws.closes, 1012);
  t.regex((await old.ended()).stdout, /"busy":1[,}]/);
});

for (const [name, url, isPaused] of [['that wait for resume()', '/hold', true], ['of which the program has just resumed', '/resume', false]]) {
  inMode(`messages ${name} move, and arrive once`, async (t) => {
    const path = place(t);
    // Messages after the pause come later, as they do from a later read.
    const options = { allowSynchronousEvents: false };
    const old = await version(t, 'v0', 0, path, options);
    const ws = await open(old.port, url);
    const heard = [];
    ws.on('message', (data) => heard.push(String(data)));
    // More than JavaScript holds, in one read.
    ws._socket.cork();
    for (let n = 0; n < 3000; n++) ws.send(String(n));
    ws._socket.uncork();
    await until(() => heard.length === 5);
    await version(t, 'v1', old.port, path, options);
    await exits(t, old);
    await until(() => heard.length >= 3001);
    const at = heard.indexOf(`v1 ${isPaused}`);
    t.is(heard.splice(at, 1).length, 1, 'isPaused');
    if (isPaused) t.is(at, 5);
    t.deepEqual(heard, Array.from({ length: 3000 }, (_, n) => `${n < at ? 'v0' : 'v1'} ${n}`));
    // It is read again.
    ws.send('more');
    await until(() => heard.at(-1) === 'v1 more');
  });
}

inMode('messages that wait for resume() in a connection that stays are delivered, and it ends', async (t) => {
  const path = place(t);
  const wss = new WebSocketServer({ host: '127.0.0.1', port: 0, handover: path, allowSynchronousEvents: false });
  const heard = [];
  const closed = once(wss, 'connection').then(([socket]) => {
    socket.once('message', () => socket.pause());
    socket.on('message', (data) => heard.push(String(data)));
    return once(socket, 'close');
  });
  await once(wss, 'listening');
  const ws = await open(wss.address().port);
  // The reactor reads them together.
  ws._socket.cork();
  for (let n = 0; n < 5; n++) ws.send(String(n));
  ws.close(4001);
  ws._socket.uncork();
  await until(() => heard.length === 1);
  const next = new Child(t, 'movable.mjs', ['v1', wss.address().port, path]);
  t.is((await wss.handover()).stayed.closing, 1);
  t.is((await closed)[0], 4001);
  t.deepEqual(heard, ['0', '1', '2', '3', '4']);
  next.process.kill();
});

inMode('bufferedAmount moves', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path);
  const ws = await open(old.port, '/queue');
  ws.send('');
  ws._socket.pause();
  await until(() => old.output.includes('queued true'));
  const next = await version(t, 'v1', old.port, path);
  await exits(t, old);
  await until(() => next.output.includes('queued true'));
  ws._socket.resume();
  await until(() => next.output.includes('queued false'));
  t.is(ws.readyState, 1);
});

inMode('a compressed connection without a message before its first move moves again', async (t) => {
  const path = place(t);
  const options = { perMessageDeflate: { threshold: 0 } };
  let current = await version(t, 'v0', 0, path, options);
  const ws = await open(current.port);
  for (const name of ['v1', 'v2']) {
    const next = await version(t, name, current.port, path, options);
    await exits(t, current);
    current = next;
    t.regex(await ask(ws, 'a message that is compressed, compressed'), new RegExp(`^${name} / \\d a message`));
    t.is(await ask(ws, 'extensions'), ws.extensions);
  }
});

inMode('a request that verifyClient is deciding about stays', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { hook: true });
  const answered = open(old.port, '/late').then((ws) => ws.closes, ({ message }) => message);
  await until(() => old.output.includes('asked'));
  await version(t, 'v1', old.port, path);
  t.regex(String(await answered), /503/);
  t.regex((await old.ended()).stdout, /"asked":1[,}]/);
});

inMode('a listener of handover that fails is told, and connections move', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { late: 1, last: 'error' });
  const ws = await open(old.port);
  await version(t, 'v1', old.port, path);
  t.is(await ask(ws, 'x'), 'v1 / 1 x  ');
  t.regex((await old.ended()).stdout, /^warning .* a listener of 'handover' has failed: Error: not this one$/m);
});

inMode('a server that closes removes its own socket, and no other', async (t) => {
  const path = place(t);
  const files = () => readdirSync(dirname(path));
  for (const isEarly of [true, false]) {
    const wss = new WebSocketServer({ port: 0, handover: path });
    const closed = once(wss, 'close');
    if (isEarly) wss.once('listening', () => wss.close());
    else void until(() => files().join() === 'h.sock').then(() => wss.close());
    await closed;
    await until(() => files().length === 0);
  }
  const wss = new WebSocketServer({ port: 0, handover: path });
  await until(() => files().join() === 'h.sock');
  unlinkSync(path);
  const other = net.createServer().listen(path);
  await once(other, 'listening');
  wss.close();
  await once(wss, 'close');
  t.deepEqual(files(), ['h.sock']);
  other.close();
});

inMode('a listener of handover that never ends is not waited for', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { late: 100_000 });
  const ws = await open(old.port);
  const next = await version(t, 'v1', old.port, path);
  t.is(await ask(ws, 'x'), 'v1 / 1 x  ');
  t.regex(next.first, /listening/);
});

inMode('a new process without descriptors takes nothing', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path);
  const all = [];
  for (let n = 0; n < 200; n++) all.push(await open(old.port));
  const next = new Child(t, 'movable.mjs', ['v1', old.port, path], { under: ['sh', '-c', 'ulimit -n 160; exec "$@"', 'sh'] });
  t.regex(await old.line(1), /warning .*did not take the connections/);
  t.regex(await next.line(), /^error WS_ERR_HANDOVER/);
  for (const ws of all) t.is(await ask(ws, 'x'), 'v0 / 1 x  ');
  t.is(await ask(await open(old.port), 'x'), 'v0 / 1 x  ', 'the port is served');
});

inMode('a file that is left over, and one that is something else', async (t) => {
  const path = place(t);
  const left = await version(t, 'v0', 0, path);
  left.process.kill('SIGKILL');
  await left.ended();
  t.truthy(statSync(path));
  const next = await version(t, 'v1', left.port, path);
  t.is(await ask(await open(next.port), 'x'), 'v1 / 1 x  ');
  const other = place(t);
  writeFileSync(other, 'mine');
  t.throws(() => new WebSocketServer({ port: 0, handover: other }), { message: /options\.handover: something else is there/ });
});

inMode('a folder that a killed process has left is removed after a day', async (t) => {
  const path = place(t);
  const folder = dirname(path);
  const days = (name, count) => utimesSync(join(folder, name), new Date(), new Date(Date.now() - count * 24 * 60 * 60 * 1000));
  for (const name of ['.hOldOne', '.hNewOne', '.hOthers', '.hidden-1']) mkdirSync(join(folder, name));
  const socket = net.createServer().listen(path);
  await once(socket, 'listening');
  renameSync(path, join(folder, '.hOldOne', 's'));
  socket.close();
  writeFileSync(join(folder, '.hOthers', 's'), 'a file');
  for (const name of ['.hOldOne', '.hOthers', '.hidden-1']) days(name, 1.1);
  days('.hNewOne', 0.9);
  const wss = new WebSocketServer({ port: 0, handover: path });
  await until(() => statSync(path, { throwIfNoEntry: false }));
  t.deepEqual(readdirSync(folder).sort(), ['.hNewOne', '.hOthers', '.hidden-1', 'h.sock']);
  wss.close();
});

inMode('a process before that ends without a word: the port is bound', async (t) => {
  const path = place(t);
  const before = net.createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {});
    before.close();
    // The greeting is unread by then, so that the socket is reset.
    setTimeout(() => socket.destroy(), 100);
  });
  before.listen(path);
  await once(before, 'listening');
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', handover: path });
  t.teardown(() => wss.close());
  await once(wss, 'listening');
  t.truthy(wss.address().port);
});

inMode('a new process that closes before it takes: the old one goes on', async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path, { late: 5000 });
  const all = [];
  for (let n = 0; n < 100; n++) all.push(await open(old.port));
  const wss = new WebSocketServer({ port: old.port, host: '127.0.0.1', handover: path });
  const closed = once(wss, 'close');
  const waits = t.throwsAsync(wss.handover(), { code: 'WS_ERR_HANDOVER', message: /has closed/ });
  setTimeout(() => wss.close(), 100);
  await waits;
  await closed;
  for (const ws of all) t.is(await ask(ws, 'x'), 'v0 / 1 x  ');
  await t.throwsAsync(wss.handover(), { message: /has closed/ });
});

inMode('a process before that ends while the new one connects: the port is bound', async (t) => {
  const path = place(t);
  const before = net.createServer().listen(path);
  await once(before, 'listening');
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', handover: path });
  t.teardown(() => wss.close());
  before.close();
  await once(wss, 'listening');
  t.truthy(wss.address().port);
});

/** Null: it is not open. */
function inode(fd) {
  try {
    return fstatSync(fd).ino;
  } catch {
    return null;
  }
}

for (const kind of ['ahead', 'port', 'whole']) {
  inMode(`a new process that closes before '${kind}' uses nothing of that`, async (t) => {
    const path = place(t);
    const old = await version(t, 'v0', 0, path);
    const ws = await open(old.port);
    const wss = new WebSocketServer({ port: old.port, host: '127.0.0.1', handover: path });
    const closed = once(wss, 'close');
    const { _handover: handover } = wss;
    const { onTaking } = Object.getPrototypeOf(handover);
    handover.onTaking = (report, bind) => {
      if (report.kind === kind) {
        wss.close();
        for (const name of ['foresee', 'takePort', 'take']) handover[name] = () => t.fail(name);
      }
      // Another file can have its number.
      const opened = inode(report.fd);
      Reflect.apply(onTaking, handover, [report, bind]);
      if (opened !== null) t.not(inode(report.fd), opened);
    };
    await closed;
    await until(() => old.output.includes('did not take the connections') && readdirSync(dirname(path)).join() === 'h.sock');
    t.is(await ask(ws, 'x'), 'v0 / 1 x  ');
  });
}

inMode('a new process that closes at once: the old one does not begin', async (t) => {
  const path = place(t);
  const old = new WebSocketServer({ port: 0, host: '127.0.0.1', handover: path });
  t.teardown(() => old.close());
  old.on('handover', () => t.fail());
  await until(() => statSync(path, { throwIfNoEntry: false }));
  const wss = new WebSocketServer({ port: old.address().port, host: '127.0.0.1', handover: path });
  wss.close();
  await until(() => old.metrics().handover.failed === 1);
  t.pass();
});

inMode('a try that fails late has no part in the next one, nor in a server that has closed', async (t) => {
  for (const closes of [false, true]) {
    const path = place(t);
    const old = await version(t, 'v0', 0, path);
    const wss = new WebSocketServer({ port: old.port, host: '127.0.0.1', handover: path });
    t.teardown(() => wss.close());
    wss.on('error', t.fail);
    const { _handover: handover } = wss;
    const begun = new Promise((resolve) => {
      handover.importInto = () => new Promise((_, fail) => resolve(fail));
    });
    const fail = await begun;
    const ended = once(wss, closes ? 'close' : 'listening');
    if (closes) wss.close();
    else old.process.kill('SIGKILL');
    await ended;
    fail(new Error('late'));
    await new Promise(setImmediate);
    t.is(handover.refused, 0);
  }
});

inMode("a new process with a descriptor that is not open emits 'error', and the old one goes on", async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path);
  const ws = await open(old.port);
  const wss = new WebSocketServer({ port: { fd: 999_999 }, handover: path });
  const [error] = await once(wss, 'error');
  t.is(error.code, 'EBADF');
  t.is(await ask(ws, 'x'), 'v0 / 1 x  ');
  wss.close();
  await once(wss, 'close');
});

inMode("a new process that fails to make a WebSocket ahead emits 'error', and the old one goes on", async (t) => {
  const path = place(t);
  const old = await version(t, 'v0', 0, path);
  const ws = await open(old.port);
  const wss = new WebSocketServer({ port: old.port, host: '127.0.0.1', handover: path });
  Object.defineProperty(wss.options, 'allowSynchronousEvents', {
    get() {
      throw new Error('no');
    },
  });
  const [error] = await once(wss, 'error');
  t.is(error.message, 'options.handover: no');
  t.is(await ask(ws, 'x'), 'v0 / 1 x  ');
  wss.close();
  await once(wss, 'close');
});

inMode('a foreign program at the path gives nothing', async (t) => {
  const path = place(t);
  // What ends can be followed by another program.
  for (const [answer, tries] of [[(socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), 1], [(socket) => socket.destroy(), 11]]) {
    let count = 0;
    const foreign = net.createServer((socket) => {
      count++;
      socket.on('error', () => {});
      answer(socket);
    });
    foreign.listen(path);
    await once(foreign, 'listening');
    const wss = new WebSocketServer({ port: 0, handover: path });
    const [error] = await once(wss, 'error');
    t.regex(error.message, /^options\.handover: the process at .* gives no connections: /);
    t.deepEqual([wss.metrics().handover.failed, count], [1, tries]);
    foreign.close();
    wss.close();
  }
});

inMode('options that cannot work name themselves', (t) => {
  const path = place(t);
  const bad = [
    [{ handover: 7 }, /options\.handover must be a string/],
    [{ handover: 'relative.sock' }, /options\.handover must be an absolute path/],
    [{ handover: join(path, 'x'.repeat(110)) }, /options\.handover: longer than/],
    [{ handover: join(path, 'missing', 'h.sock') }, /options\.handover: the folder cannot be used/],
    [{ handover: '/h.sock\0' }, /options\.handover: has a null character: \/h\.sock\\0$/],
    [{ handover: path, tls: { cert: '', key: '' } }, /options\.handover cannot be used with options\.tls/],
    [{ handover: path, port: undefined, noServer: true }, /options\.handover belongs to a port of the reactors: listen\(server, \{ port, handover \}\)/],
    [{ handover: path, port: undefined, server: createServer() }, /options\.handover belongs to a port of the reactors/],
    [{ handover: path, port: '/tmp/other.sock' }, /options\.handover needs a TCP port/],
    [{ handover: path, reusePort: true }, /options\.handover cannot be used with options\.reusePort/],
  ];
  for (const [options, message] of bad) t.throws(() => new WebSocketServer({ port: 0, ...options }), { message });
  const folder = join(path, '..', 'open');
  mkdirSync(folder);
  for (const mode of [0o720, 0o702]) {
    chmodSync(folder, mode);
    t.throws(() => new WebSocketServer({ port: 0, handover: join(folder, 'h.sock') }), { message: /the folder must belong to the user/ });
  }
  const { checkPath } = createRequire(import.meta.url)('../../lib/handover/place.js');
  writeFileSync(join(path, '..', 'file'), '');
  t.throws(() => checkPath(join(path, '..', 'file', 'h.sock')), { message: /not in a folder/ });
  const most = process.platform === 'linux' ? 107 : 103;
  const long = (count, character) => join(dirname(path), character.repeat((count - dirname(path).length - 1) / Buffer.byteLength(character)));
  t.notThrows(() => checkPath(long(most, 'x')));
  for (const [count, character] of [[most + 1, 'x'], [most + 3, 'ü']]) t.throws(() => checkPath(long(count, character)), { message: /longer than/ });
  // The folder beside it has a longer name.
  const beside = long(most - 4, 'y');
  mkdirSync(beside);
  t.throws(() => checkPath(join(beside, 'h')), { message: /longer than/ });
});

inMode('topics: members, histories, positions and presence move', async (t) => {
  const path = place(t);
  let current = await version(t, 'v0', 0, path, { history: 100 });
  const { port } = current;
  const [one, other] = [await open(port, '/topic'), await open(port, '/topic')];
  const heard = [one, other].map((ws) => {
    const texts = [];
    ws.on('message', (data) => texts.push(String(data)));
    return texts;
  });
  const expected = [];
  const publish = async (count) => {
    for (let n = 0; n < count; n++) {
      expected.push(`message ${expected.length}`);
      one.send(JSON.stringify({ publish: expected.at(-1) }));
    }
    await until(() => heard.every((texts) => texts.filter((text) => text.startsWith('message')).length === expected.length));
  };
  other.send(JSON.stringify({ enter: 'me' }));
  one.send(JSON.stringify({ bytes: 'bytes' }));
  await publish(7);
  const ask = async (ws, command) => {
    const answer = new Promise((resolve) => {
      ws.on('message', (data) => data[0] === 0x7b && resolve(JSON.parse(data)));
    });
    ws.send(JSON.stringify(command));
    return answer;
  };
  const { position } = await ask(one, { who: true });
  t.is(position.offset, 8);
  for (const name of ['v1', 'v2']) {
    one.send(JSON.stringify({ publish: `message ${expected.length}` }));
    expected.push(`message ${expected.length}`);
    const next = await version(t, name, port, path, { history: 100 });
    await exits(t, current);
    current = next;
    await publish(3);
  }
  for (const texts of heard) t.deepEqual(texts.filter((text) => text.startsWith('message')), expected);
  const { who, position: last, subscriptions } = await ask(other, { who: true });
  t.deepEqual([who, last, subscriptions], [['me me'], { epoch: position.epoch, offset: expected.length + 1 }, ['/topic']]);
  // A client that was away since before both moves.
  const late = await open(port, '/topic');
  const texts = [];
  late.on('message', (data, isBinary) => texts.push(isBinary ? data : String(data)));
  late.send(JSON.stringify({ since: { ...position, offset: 0 } }));
  await until(() => texts.length === expected.length + 2);
  t.deepEqual(texts.slice(0, -1), [Buffer.from('bytes'), ...expected]);
  t.true(JSON.parse(texts.at(-1)).recovered);
});

for (const topics of [{ slow: 'catch-up', history: 100 }, { slow: 'latest' }]) {
  for (const perMessageDeflate of [false, true]) {
    inMode(`members that do not read, and are behind, move: ${topics.slow}, ${perMessageDeflate ? 'compressed' : 'plain'}`, async (t) => {
      const path = place(t);
      const options = { perMessageDeflate, topics: { ...topics, limit: 16_384 } };
      let current = await version(t, 'v0', 0, path, options);
      const { port } = current;
      const [reader, slow] = [await open(port, '/topic'), await open(port, '/topic')];
      slow._socket.pause();
      const [waits, got] = [[], []];
      reader.on('message', (data) => data.length < 100 && waits.push(Number(data)));
      slow.on('message', (data) => got.push(String(data)));
      const sent = [];
      const publish = async () => {
        sent.push(`${sent.length} ${randomBytes(50_000).toString('hex')}`);
        reader.send(JSON.stringify({ publish: sent.at(-1), key: `${sent.length}` }));
        reader.send(JSON.stringify({ waits: true }));
        await until(() => waits.length === sent.length);
      };
      do await publish();
      while (waits.at(-1) <= options.topics.limit);
      for (const name of ['v1', 'v2']) {
        await publish();
        await publish();
        // They are not queued.
        t.true(waits.at(-1) <= waits.at(-2));
        const next = await version(t, name, port, path, options);
        t.regex(await exits(t, current), /"moved":2,.*"behind":0/);
        current = next;
      }
      await publish();
      slow._socket.resume();
      await until(() => got.length >= sent.length);
      t.true(got.every((text, n) => text === sent[n]));
      t.is(got.length, sent.length);
      for (const ws of [reader, slow]) ws.close(1000);
    });
  }
}

inMode('messages of a history keep what is left of their ttl', async (t) => {
  const { exportServer, importServer } = createRequire(import.meta.url)('../../lib/handover/topics.js');
  const ttl = 60_000;
  const [from, to] = [1, 2].map(() => new WebSocketServer({ port: 0, topicOptions: () => ({ history: 10, ttl }) }));
  await Promise.all([from, to].map((wss) => once(wss, 'listening')));
  from.publish('topic', 'old');
  // The reactors have it.
  await from.history('topic');
  await new Promise((resolve) => setTimeout(resolve, 50));
  from.publish('topic', 'new');
  const moved = await exportServer(from);
  const [{ messages: [old, fresh] }] = moved.topics;
  t.true(old.age - fresh.age > 30);
  old.age += ttl;
  moved.topics[0].earlier = [{ epoch: 'earlier', offset: 1 }];
  importServer(to, moved);
  for (const since of ['oldest', { epoch: 'earlier', offset: 1 }]) {
    const { messages, position, recovered } = await to.history('topic', { since });
    t.deepEqual([messages.map(({ data }) => String(data)), position.offset, recovered], [['new'], 2, true]);
  }
  for (const wss of [from, to]) wss.close();
});

inMode('presence: entries that were leaving have their time in the new process, and those that do not come leave', async (t) => {
  const { exportServer, importServer } = createRequire(import.meta.url)('../../lib/handover/topics.js');
  const [from, to] = [1, 2].map(() => new WebSocketServer({ port: 0, presenceGrace: 600_000 }));
  t.teardown(() => [from, to].forEach((wss) => wss.close()));
  await Promise.all([from, to].map((wss) => once(wss, 'listening')));
  for (const key of ['gone', 'here']) {
    const connection = once(from, 'connection');
    const ws = await open(from.address().port);
    const [socket] = await connection;
    socket.enter('topic', { key });
    if (key !== 'gone') continue;
    ws.terminate();
    await once(socket, 'close');
  }
  const moved = structuredClone(await exportServer(from));
  const { setTimeout } = globalThis;
  let allAreHere = null;
  globalThis.setTimeout = (act, after) => {
    if (after === 15_000) allAreHere = act;
    return setTimeout(act, after);
  };
  importServer(to, moved);
  globalThis.setTimeout = setTimeout;
  const [room] = to._topics.presence.rooms.values();
  const keys = () => [...room.own.values()].map(({ key }) => key);
  t.deepEqual([to.presence('topic').count, keys()], [2, ['here']]);
  allAreHere();
  t.deepEqual([to.presence('topic').count, keys()], [2, []]);
  for (const socket of from.clients) socket.terminate();
});

inMode('clients of the protocol of topics go on', async (t) => {
  const path = place(t);
  let current = await version(t, 'v0', 0, path, { history: 100, protocol: true });
  const { port } = current;
  const ws = await open(port, '/', { protocols: ['topics.reactor-ws.v1'] });
  const heard = [];
  ws.on('message', (data) => heard.push(String(data)));
  ws.send(JSON.stringify({ subscribe: 'room' }));
  await until(() => heard.length === 1);
  for (let n = 1; n <= 3; n++) {
    const next = await version(t, `v${n}`, port, path, { history: 100, protocol: true });
    await exits(t, current);
    current = next;
    ws.send(JSON.stringify({ publish: 'room', data: `text ${n}`, client: 'me', number: n }));
    await until(() => heard.length === 1 + 2 * n);
    t.truthy(heard.find((text) => text.endsWith(`\ntext ${n}`)));
  }
  const positions = heard.filter((text) => text.startsWith('{"published"')).map((text) => JSON.parse(text).position);
  t.deepEqual(positions.map(({ offset }) => offset), [1, 2, 3]);
  t.is(new Set(positions.map(({ epoch }) => epoch)).size, 1);
});

/** A WebSocket of a server, and its client. */
async function connected(t, options) {
  const wss = new WebSocketServer({ port: 0, ...options });
  t.teardown(() => wss.close());
  await once(wss, 'listening');
  const connection = once(wss, 'connection');
  const ws = await open(wss.address().port);
  t.teardown(() => ws.terminate());
  const [socket] = await connection;
  return socket;
}

ownOnPosix('without the option, attachment and resumed are properties as any', async (t) => {
  const socket = await connected(t);
  const value = { call: () => {} };
  Object.assign(socket, { attachment: value, resumed: 'mine' });
  t.is(socket.attachment, value);
  t.is(socket.resumed, 'mine');
});

inMode('attachment: a copy of what can be cloned, up to 64 KiB', async (t) => {
  const socket = await connected(t, { handover: place(t) });
  t.is(socket.attachment, undefined);
  t.false(socket.resumed);
  const value = { map: new Map([[1, new Date(0)]]), bytes: Buffer.from('x') };
  socket.attachment = value;
  value.map.clear();
  t.is(socket.attachment.map.size, 1);
  for (const bad of [() => {}, Symbol('x'), { f() {} }, new WeakMap(), new SharedArrayBuffer(1)]) {
    t.is(t.throws(() => (socket.attachment = bad), { any: true }).name, 'DataCloneError');
  }
  t.throws(() => (socket.attachment = 'x'.repeat(70_000)), { instanceOf: RangeError });
  t.is(socket.attachment.map.size, 1, 'unchanged');
  for (const value of [0, -0, 1.5, NaN, -Infinity, 1e300, '', 'x', '\ud800', '\uffff\u{1f642}', 'x'.repeat(1000), true, null, 5n]) {
    socket.attachment = value;
    t.is(socket.attachment, value);
  }
  socket.attachment = undefined;
  t.is(socket.attachment, undefined);
});
