// The programs of examples/ that need no other package: each runs as its readers run it, and gets
// messages. Those with packages are in ecosystem/examples.test.mjs, and those in Rust in
// tests/examples.rs.
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Child, cert, key, openVisitor, otherCert, otherKey, startServer, test, visitor, wsClient } from '../helpers/index.mjs';
import { open as openStream } from '../helpers/http2.mjs';
import { authority, pair } from '../helpers/secure.mjs';
import { openClient } from '../helpers/topics-clients.mjs';

const SECRET = 'a secret';
const hasSignals = process.platform !== 'win32';

/** Programs that run in the tests of their subjects. */
const ELSEWHERE = ['ai-chat.mjs', 'drain.mjs'];

/** The check of each program that is just started. */
const STARTED = {
  async 'echo.mjs'(t, { port }) {
    const client = await open(t, port);
    t.is(await ask(client, 'hello'), 'hello');
    t.deepEqual(await ask(client, Buffer.from([0, 255])), Buffer.from([0, 255]));
  },
  async 'with-http.mjs'(t, { port }) {
    t.is(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello\n');
    t.is(await greeting(t, port, {}, '/live'), 'welcome');
    t.is(await refusal(t, port, {}, '/'), 400);
  },
  async 'one-port.mjs'(t, { port }) {
    t.is(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello\n');
    t.is(await greeting(t, port, {}, '/live'), 'welcome');
    t.is((await fetch(`http://127.0.0.1:${port}/live`)).status, 200);
  },
  async 'auth-session.mjs'(t, { port }) {
    const answer = await fetch(`http://127.0.0.1:${port}/login?name=ada`, { method: 'POST' });
    const cookie = answer.headers.get('set-cookie').split(';')[0];
    const client = await open(t, port, { headers: { cookie: `other=1; ${cookie}` } });
    t.is(await ask(client, 'hello'), 'ada: hello');
    await open(t, port, { headers: { cookie, origin: `http://127.0.0.1:${port}` } });
    t.is(await refusal(t, port), 401);
    t.is(await refusal(t, port, { headers: { cookie: 'session=guessed' } }), 401);
    for (const origin of ['http://elsewhere.example', 'null', '']) {
      t.is(await refusal(t, port, { headers: { cookie, origin } }), 401, origin);
    }
  },
  async 'rooms.mjs'(t, { port }) {
    const [first, second, outsider] = await Promise.all([1, 2, 3].map(() => open(t, port)));
    outsider.on('message', () => t.fail('the outsider got a message'));
    const message = { room: 'a', text: 'hello' };
    first.send(JSON.stringify({ join: 'a' }));
    // Messages of one connection come in order: a client that hears itself has joined.
    t.deepEqual(JSON.parse(await ask(first, JSON.stringify(message))), message);
    second.send(JSON.stringify({ join: 'a' }));
    const both = Promise.all([once(first, 'message'), once(second, 'message')]);
    second.send(JSON.stringify(message));
    for (const [data] of await both) t.deepEqual(JSON.parse(data), message);
    second.send(JSON.stringify({ leave: 'a' }));
    second.send(JSON.stringify(message));
    t.is((await once(second, 'close'))[0], 1008);
    outsider.send('no JSON');
    t.is((await once(outsider, 'close'))[0], 1008);
    t.deepEqual(JSON.parse(await ask(first, JSON.stringify(message))), message);
  },
  async 'resume.mjs'(t, { port }) {
    t.regex(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /import { TopicsClient } from '.\/client.mjs'/);
    t.regex(await (await fetch(`http://127.0.0.1:${port}/client.mjs`)).text(), /export class TopicsClient/);
    const visit = (since) => {
      const client = openClient(t, `ws://127.0.0.1:${port}`);
      const heard = [];
      client.addEventListener('gap', () => heard.push('gap'));
      client.subscribe('chat', (text) => heard.push(text), { since });
      return { client, heard };
    };
    const [one, other] = [visit(), visit()];
    for (const { client } of [one, other]) await once(client, 'subscribed');
    const hears = async ({ client, heard }, text) => {
      while (!heard.includes(text)) await client.publish('chat', 'again');
      return heard.filter((line) => line !== 'again');
    };
    for (const text of ['m1', 'm2']) await other.client.publish('chat', text);
    t.deepEqual(await hears(one, 'm2'), ['m1', 'm2']);
    const since = one.client.position('chat');
    one.client.close();
    for (const text of ['m3', 'm4']) await other.client.publish('chat', text);
    t.deepEqual(await hears(visit(since), 'm4'), ['m3', 'm4']);
    t.deepEqual(await hears(visit({ epoch: 'another', offset: 2 }), 'gap'), ['gap']);
    await t.throwsAsync(one.client.publish('chat', 'x'), { message: 'The client is closed' });
    await t.throwsAsync(other.client.publish('elsewhere', 'x'), { message: 'Refused: forbidden' });
  },
  async 'paths.mjs'(t, { port }) {
    const client = await open(t, port, {}, '/echo?x=1');
    t.is(await ask(client, 'hello'), 'hello');
    t.regex(await greeting(t, port, {}, '/time'), /^\d{4}-\d\d-\d\dT/);
    t.is(await refusal(t, port, {}, '/'), 404);
    t.is(await refusal(t, port, {}, '/constructor'), 404);
  },
  async 'behind-a-proxy.mjs'(t, { port }) {
    const seen = {
      '1.2.3.4': '1.2.3.4',
      '6.6.6.6, 1.2.3.4': '1.2.3.4',
      '1.2.3.4, 10.0.0.7': '1.2.3.4',
      '2001:db8::1': '2001:db8::1',
      'no address, <b>': '127.0.0.1',
      '': '127.0.0.1',
    };
    for (const [header, address] of Object.entries(seen)) {
      t.is(await greeting(t, port, { headers: { 'x-forwarded-for': header } }), `you are ${address}`);
    }
    t.is(await greeting(t, port), 'you are 127.0.0.1');
  },
};

/** The check of each other program. */
const CONVERSATIONS = {
  'client.mjs': async (t) => {
    const server = await startServer(t);
    server.on('connection', (socket) => socket.on('message', (data) => socket.send(`${data}, client`)));
    const child = run(t, 'client.mjs', [`ws://127.0.0.1:${server.address().port}`]);
    t.like(await child.ended(), { code: 0, stdout: 'hello, client\n', stderr: '' });
  },
  'auth-jwt.mjs': async (t) => {
    const { port } = await start(t, 'auth-jwt.mjs', { JWT_SECRET: SECRET });
    const exp = Date.now() / 1000 + 600;
    const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });
    t.is(await greeting(t, port, bearer(token({ sub: 'ada', exp }))), 'hello ada');
    const offered = visitor(t, `ws://127.0.0.1:${port}`, ['token', token({ sub: 'bob', exp })]);
    t.is((await once(offered, 'message'))[0].toString(), 'hello bob');
    t.is(offered.protocol, 'token');
    const bad = [token({ sub: 'eve', exp }, 'guessed'), token({ sub: 'eve', exp: 1 }), token({ sub: 'eve' }), 'nonsense', ''];
    for (const each of bad) t.is(await refusal(t, port, bearer(each)), 401, each);
    t.is(await refusal(t, port, bearer(token({ sub: 'eve', exp }, SECRET, { alg: 'none' }))), 401);
    t.is(await refusal(t, port), 401);
    await closesWith(t, port, 4001, () => bearer(token({ sub: 'ada', exp: Date.now() / 1000 + 0.5 })));
  },
  'heartbeat.mjs': async (t) => {
    const { child, port } = await start(t, 'heartbeat.mjs', { PING_INTERVAL: '100' });
    // An answer may be too late on a busy machine: the client then tries again.
    for (let line = 1, heard = ''; heard !== 'alive'; line++) {
      const client = await open(t, port);
      client.pong();
      heard = await child.line(line);
    }
    const silent = await open(t, port, { autoPong: false });
    t.is((await once(silent, 'close'))[0], 1006);
  },
  'shutdown.mjs': async (t) => {
    const { child, port } = await start(t, 'shutdown.mjs', { PATIENCE_MS: '200' });
    const [polite, deaf] = await Promise.all([open(t, port), open(t, port)]);
    const page = await fetch(`http://127.0.0.1:${port}/`);
    t.is(await page.text(), 'hello\n');
    // A client that is answered is one of the server's clients, which the server closes.
    for (const client of [polite, deaf]) t.is(await ask(client, 'hello'), 'hello');
    deaf.pause();
    const goodbye = once(polite, 'close');
    child.process.kill('SIGTERM');
    const [code, reason] = await goodbye;
    t.deepEqual([code, reason.toString()], [1001, 'restart']);
    t.like(await child.ended(), { code: 0, signal: null, stderr: '' });
  },
  'reconnect.mjs': async (t) => {
    const server = await startServer(t);
    const child = run(t, 'reconnect.mjs', [`ws://127.0.0.1:${server.address().port}`]);
    for (const end of [(socket) => socket.terminate(), (socket) => socket.close(1012), (socket) => socket.close(4000)]) {
      const [socket] = await once(server, 'connection');
      t.is((await once(socket, 'message'))[0].toString(), 'hello');
      socket.send('welcome');
      end(socket);
    }
    const { code, stdout, stderr } = await child.ended();
    t.deepEqual([code, stderr], [0, '']);
    t.is(stdout.match(/^connected$/gm).length, 3);
    t.regex(stdout, /message: welcome\nclosed: 4000\n$/);
  },
  'tls.mjs': async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const files = ['certificate.pem', 'key.pem'].map((name) => join(folder, name));
    const install = (pair) => pair.forEach((text, index) => writeFileSync(files[index], text));
    install([cert, key]);
    const { child, port } = await start(t, 'tls.mjs', {}, files);
    const first = await openSecure(t, port);
    const before = await fingerprint(port);
    if (hasSignals) {
      install([otherCert, otherKey]);
      child.process.kill('SIGHUP');
      t.is(await child.line(1), 'certificate loaded');
      t.not(await fingerprint(port), before);
      install(['nonsense', 'nonsense']);
      child.process.kill('SIGHUP');
      t.regex(await child.line(2), /^the old certificate stays: /);
    }
    t.is(await ask(first, 'hello'), 'hello');
    t.is(await ask(await openSecure(t, port), 'hello'), 'hello');
  },
  'http2.mjs': async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const files = [['certificate.pem', cert], ['key.pem', key]].map(([name, text]) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    });
    const { port } = await start(t, 'http2.mjs', {}, files);
    const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    t.teardown(() => session.destroy());
    await once(session, 'remoteSettings');
    t.is(Buffer.concat(await session.request({ ':path': '/' }).toArray()).toString(), 'hello over HTTP/2.0\n');
    const client = await openStream(session, { path: '/live' });
    t.is(String((await once(client, 'message'))[0]), 'welcome over HTTP/2.0');
    const older = new wsClient(`wss://127.0.0.1:${port}/live`, { rejectUnauthorized: false });
    t.teardown(() => older.terminate());
    t.is(String((await once(older, 'message'))[0]), 'welcome over HTTP/1.1');
  },
  'mutual-tls.mjs': async (t) => {
    const files = ['server-ecdsa.crt', 'server-ecdsa.key', 'authority.crt'].map((name) => fileURLToPath(new URL(`../fixtures/certificates/${name}`, import.meta.url)));
    const { port } = await start(t, 'mutual-tls.mjs', {}, files);
    const client = new wsClient(`wss://localhost:${port}`, { ca: authority, ...pair('client') });
    t.teardown(() => client.terminate());
    await once(client, 'open');
    t.is(await ask(client, 'hello'), 'client: hello');
    const stranger = new wsClient(`wss://localhost:${port}`, { ca: authority, ...pair('client-other') });
    await once(stranger, 'error');
  },
  'cluster.mjs': async (t) => {
    const child = run(t, 'cluster.mjs', [], { PORT: '0', WORKERS: '2' });
    const [port, other] = (await Promise.all([child.line(0), child.line(1)])).map((line) => Number(/\d+$/.exec(line)[0]));
    t.is(port, other);
    // The workers get connections in turn, if both are free.
    const clients = await Promise.all(Array.from({ length: 6 }, () => open(t, port)));
    const hears = (client, text) =>
      new Promise((resolve) => client.on('message', (data) => data.toString().endsWith(`: ${text}`) && resolve()));
    // A client that hears itself is known to its worker.
    for (const [index, client] of clients.entries()) {
      const own = hears(client, `I am ${index}`);
      client.send(`I am ${index}`);
      await own;
    }
    const all = Promise.all(clients.map((client) => hears(client, 'hello')));
    clients[0].send('hello');
    await t.notThrowsAsync(all);
    child.process.kill('SIGTERM');
    await child.ended();
  },
};

for (const [name, talk] of Object.entries(STARTED)) test(name, async (t) => talk(t, await start(t, name)));
for (const [name, talk] of Object.entries(CONVERSATIONS)) test(name, talk);

test('typescript.ts', async (t) => {
  const examples = fileURLToPath(new URL('../../examples/', import.meta.url));
  // The folder is inside of the package, so that the program finds it.
  const folder = mkdtempSync(join(examples, '.compiled-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
  const kind = ['--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--strict', '--ignoreConfig'];
  const places = ['--rootDir', examples, '--outDir', folder, join(examples, 'typescript.ts')];
  await promisify(execFile)(process.execPath, [compiler, ...kind, ...places]);
  const { port } = await start(t, `${basename(folder)}/typescript.js`);
  const client = await open(t, port, {}, '/?name=ada');
  t.is(await ask(client, 'hello'), 'ada 1: hello');
  t.is(await ask(client, 'hello'), 'ada 2: hello');
});

test('every program is spoken to', (t) => {
  const programs = readdirSync(new URL('../../examples/', import.meta.url)).filter((name) => name.endsWith('.mjs'));
  t.deepEqual(programs.sort(), [...ELSEWHERE, ...Object.keys(STARTED), ...Object.keys(CONVERSATIONS)].sort());
});

function run(t, program, args = [], env = {}) {
  return new Child(t, `../../examples/${program}`, args, { env });
}

/** A program that listens, and its port. */
async function start(t, program, env = {}, args = []) {
  const child = run(t, program, args, { PORT: '0', ...env });
  return { child, port: Number(/^listening on .*port:? (\d+)/.exec(await child.line(0))[1]) };
}

async function open(t, port, options = {}, path = '/') {
  const client = await openVisitor(t, `ws://127.0.0.1:${port}${path}`, options);
  client.on('error', () => {});
  return client;
}

function openSecure(t, port) {
  return openVisitor(t, `wss://127.0.0.1:${port}`, { rejectUnauthorized: false });
}

async function ask(client, message) {
  const answer = once(client, 'message');
  client.send(message);
  const [data, isBinary] = await answer;
  return isBinary ? data : data.toString();
}

/** The first message of a new connection. */
async function greeting(t, port, options = {}, path = '/') {
  const client = visitor(t, `ws://127.0.0.1:${port}${path}`, options);
  const [data] = await once(client, 'message');
  return data.toString();
}

/** The status of an upgrade that is refused. */
async function refusal(t, port, options = {}, path = '/') {
  const client = new wsClient(`ws://127.0.0.1:${port}${path}`, options);
  const [request, response] = await once(client, 'unexpected-response');
  client.on('error', () => {});
  request.destroy();
  return response.statusCode;
}

/** Until a connection opens in time and is closed with a code: a token may have run out when it arrives. */
async function closesWith(t, port, expected, options) {
  for (let code = 0; code !== expected; ) {
    const client = new wsClient(`ws://127.0.0.1:${port}`, options());
    client.on('error', () => {});
    // Not by `once`, which throws for the 'error' of a handshake that is refused.
    code = await new Promise((resolve) => client.on('close', resolve));
  }
  t.pass();
}

function token(claims, secret = SECRET, header = { alg: 'HS256', typ: 'JWT' }) {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${parts}.${createHmac('sha256', secret).update(parts).digest('base64url')}`;
}

async function fingerprint(port) {
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}
