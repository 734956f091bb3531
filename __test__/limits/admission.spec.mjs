// Admission: limits that hold before JavaScript decides, on every way in.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

import { ALL_WAYS as WAYS, WebSocket, WebSocketServer, askRaw, connect, allWays as everyWay, isReference, startServer, test } from '../helpers/index.mjs';
import { httpServer, listenGiven } from '../helpers/handoff.mjs';
import { startHttp } from '../helpers/http.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

const OPEN = 'HTTP/1.1 101 Switching Protocols';

/** The head of the answer to an upgrade request with `fields`. */
async function ask(t, server, fields) {
  const raw = await askRaw(t, server.address().port, upgradeRequest(fields));
  return { raw, head: (await raw.untilClosedOr((text) => text.includes('\r\n\r\n'))).split('\r\n\r\n')[0] };
}

/** The status line, and the value of Retry-After. */
function statusOf(head) {
  return [head.split('\r\n')[0], /\r\nRetry-After: (\d+)/.exec(head)?.[1]];
}

/** The number of denials of each kind. */
const denied = (server) => server._admission.native.denied();

for (const [way, start] of Object.entries(WAYS)) {
  for (const [option, status, index] of [
    ['maxConnections', 'HTTP/1.1 503 Service Unavailable', 0],
    ['maxConnectionsPerAddress', 'HTTP/1.1 429 Too Many Requests', 1],
  ]) {
    test(`by way of ${way}: ${option}`, async (t) => {
      const server = await start(t, { [option]: 2 });
      const first = await connect(t, server);
      await connect(t, server);
      for (let i = 0; i < 3; i++) {
        const { head, raw } = await ask(t, server);
        // Before the handshake of TLS, no client could read an answer.
        t.deepEqual(statusOf(head), way === 'tls' ? ['', undefined] : [status, '10']);
        await raw.closed();
      }
      t.is(denied(server)[index], 3);
      // A client that leaves makes room, also for a client that had been refused.
      first.client.terminate();
      let answer;
      do answer = (await ask(t, server)).head;
      while (answer.startsWith(status) || answer === '');
      t.true(answer.startsWith(OPEN), answer);
    });

    test(`by way of ${way}: ${option}: a refused handshake counts no more when it is gone`, async (t) => {
      const server = await start(t, { [option]: 1, verifyClient: () => false });
      let refused = 0;
      while (refused < 5) {
        const { head, raw } = await ask(t, server);
        if (head.startsWith('HTTP/1.1 401 ')) refused++;
        else t.true(head.startsWith(status) || (way === 'tls' && head === ''), head);
        await raw.closed();
      }
      t.pass();
    });
  }

  // A Duplex that is not read does not report its end.
  for (const how of way === 'stream' ? ['reset'] : ['end', 'reset']) {
    test(`by way of ${way}: a handshake that is never decided gives its place back when its client is gone: ${how}`, async (t) => {
      let asked = 0;
      const server = await start(t, { maxConnections: 1, closeTimeout: 50, verifyClient: (_info, _decide) => asked++ });
      const raw = await askRaw(t, server.address().port);
      while (asked === 0) await new Promise(setImmediate);
      raw[how]();
      while (asked === 1) {
        const next = await askRaw(t, server.address().port);
        const isAsked = () => asked > 1;
        await Promise.race([next.closed(), (async () => {
          while (!isAsked() && next.text === '') await new Promise(setImmediate);
        })()]);
      }
      t.is(asked, 2);
    });
  }

  test(`by way of ${way}: handshakesPerSecond`, async (t) => {
    // One handshake in 1,000 s: no machine is so slow that another one would be due.
    const server = await start(t, { handshakesPerSecond: 1 });
    const answers = [];
    const begun = performance.now();
    while (answers.length < 8) answers.push(statusOf((await ask(t, server)).head));
    const seconds = Math.ceil((performance.now() - begun) / 1000);
    const opened = answers.filter(([status]) => status === OPEN).length;
    t.true(opened >= 1 && opened <= 1 + seconds, `${opened}`);
    for (const [status, retryAfter] of answers) {
      if (status !== OPEN) t.deepEqual([status, retryAfter], ['HTTP/1.1 503 Service Unavailable', '1']);
    }
    t.is(denied(server)[2], 8 - opened);
  });

  test(`by way of ${way}: maxHeaderBytes and maxHeaders`, async (t) => {
    const server = await start(t, { maxHeaderBytes: 1024, maxHeaders: 12 });
    const cookie = (bytes) => ({ Cookie: 'x'.repeat(bytes) });
    const fields = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-${i}`, '1']));
    const status = async (of) => statusOf((await ask(t, server, of)).head)[0];
    t.is(await status(cookie(700)), OPEN);
    t.is(await status(cookie(1024)), 'HTTP/1.1 431 Request Header Fields Too Large');
    t.is(await status(fields(7)), OPEN);
    t.is(await status(fields(8)), 'HTTP/1.1 431 Request Header Fields Too Large');
    t.is(denied(server)[3], 2);
  });

  test(`by way of ${way}: allowedOrigins`, async (t) => {
    const rules = {
      patterns: ['https://example.com', 'https://*.example.com'],
      expressions: ['https://example.com', /^https:\/\/\w+\.example\.com$/g],
      function: (origin) => origin === undefined || /^https:\/\/(\w+\.)?example\.com$/.test(origin),
    };
    for (const [name, allowedOrigins] of Object.entries(rules)) {
      const server = await start(t, { allowedOrigins });
      const status = async (fields) => statusOf((await ask(t, server, fields)).head)[0];
      for (let i = 0; i < 2; i++) {
        t.is(await status({ Origin: 'https://example.com' }), OPEN, name);
        t.is(await status({ Origin: 'https://a.example.com' }), OPEN, name);
      }
      t.is(await status({}), OPEN, name);
      const refused = [{ Origin: 'https://evil.net' }, { Origin: 'null' }, { Origin: 'https://example.com.evil.net' }];
      for (const fields of refused) t.is(await status(fields), 'HTTP/1.1 403 Forbidden', name);
      t.is(await status({ 'Sec-WebSocket-Version': '8', 'Sec-WebSocket-Origin': 'https://evil.net' }), 'HTTP/1.1 403 Forbidden', name);
      t.is(denied(server)[4], 4, name);
    }
  });
}

/** Ways in that the others do not cover. */
const MORE_WAYS = {
  ...WAYS,
  async noServer(t, options) {
    const server = await startHttp(t);
    const wss = new WebSocketServer({ noServer: true, ...options });
    server.on('upgrade', (request, socket, head) => wss.handleUpgrade(request, socket, head, () => {}));
    return Object.assign(wss, { address: () => server.address() });
  },
  async 'listen()'(t, options) {
    const server = httpServer(t);
    const wss = new WebSocketServer({ server, ...options });
    const { listener } = await listenGiven(t, 'socket', server);
    return Object.assign(wss, { address: () => listener.address() });
  },
};

// RFC 6454, section 7.3: a page has one origin, and its browser sends one field.
test('several origins are one value, which is no origin, on every way in', async (t) => {
  const [good, other] = ['https://a.com', 'https://b.com'];
  const named = [
    [good, true],
    [[good, good], false],
    [[good, other], false],
    [[other, good], false],
    [[good, ''], false],
    ['', false],
    [undefined, true],
    ['https://\xe4.com', false],
  ];
  const versions = [['13', 'Origin', 'Sec-WebSocket-Origin'], ['8', 'Sec-WebSocket-Origin', 'Origin']];
  const rules = { patterns: ['https://a.com', 'https://\u00e4.com'], expression: /^https:\/\/a\.com$/, everything: '*' };
  for (const [way, start] of Object.entries(MORE_WAYS)) {
    for (const [rule, allowedOrigins] of Object.entries(rules)) {
      const server = await start(t, { allowedOrigins });
      for (const [version, field, ignored] of versions) {
        for (const [origin, isAllowed] of named) {
          const fields = { 'Sec-WebSocket-Version': version, [ignored]: 'https://evil.net', ...(origin === undefined ? {} : { [field]: origin }) };
          const { head } = await ask(t, server, fields);
          t.is(statusOf(head)[0], isAllowed || rule === 'everything' ? OPEN : 'HTTP/1.1 403 Forbidden', `${way}, ${rule}, ${version}: ${origin}`);
        }
      }
    }
    const origins = [];
    const server = await start(t, { verifyClient: ({ origin }) => origins.push(origin) });
    for (const [version, field] of versions) await ask(t, server, { 'Sec-WebSocket-Version': version, [field]: [good, other] });
    t.deepEqual(origins, ['https://a.com, https://b.com', 'https://a.com, https://b.com'], way);
  }
});

everyWay(test, 'allowedOrigins: without an origin only functions decide, and only true lets in', async (t, start) => {
  const page = 'https://a.com';
  for (const [name, allowedOrigins, anonymous, named] of [
    ['an expression before a function that refuses', [/^https:\/\/a\.com$/, () => false], false, true],
    ['and after it', [() => false, /^https:\/\/a\.com$/], false, true],
    ['a string beside a function that refuses', ['*', () => false], false, true],
    ['a function that allows after one that refuses', [() => false, () => true], true, true],
    ['a function that allows', [/^https:\/\/b\.com$/, () => true], true, true],
    ['an expression that matches nothing', [/^https:\/\/a\.com$/], true, true],
    ['an async function', async () => true, false, false],
    ['a function that says nothing', () => undefined, false, false],
  ]) {
    const server = await start(t, { allowedOrigins });
    const isOpen = async (fields) => statusOf((await ask(t, server, fields)).head)[0] === OPEN;
    t.is(await isOpen({}), anonymous, name);
    t.is(await isOpen({ Origin: page }), named, name);
  }
});

test.serial('a refused origin is warned of once, with what to do; none is advised for pages without one', async (t) => {
  const warnings = [];
  const listener = (warning) => warning.code === 'REACTOR_WS_ORIGIN' && warnings.push(warning.message);
  process.on('warning', listener);
  t.teardown(() => process.removeListener('warning', listener));
  const server = await startServer(t, { allowedOrigins: [() => false] });
  for (const fields of [{}, { Origin: 'null' }, ...Array.from({ length: 15 }, () => ({ Origin: 'https://example.org' }))]) {
    t.is(statusOf((await ask(t, server, fields)).head)[0], 'HTTP/1.1 403 Forbidden');
  }
  await new Promise(setImmediate);
  t.deepEqual(
    warnings.filter((text) => /undefined|null|no origin|example\.org/.test(text)),
    [
      'A WebSocket of a file, or of a sandboxed page, was refused: such pages have no origin',
      "A WebSocket of a page of https://example.org was refused. To allow it, add 'https://example.org' to allowedOrigins",
    ],
  );
});

test('on a port, a connection too many is refused while JavaScript is busy, and before it has asked', async (t) => {
  const server = await startServer(t, { maxConnections: 1 });
  await connect(t, server);
  const raw = await RawClient.connect(t, server.address().port);
  t.true((await raw.closed()).startsWith('HTTP/1.1 503 Service Unavailable\r\n'));
});

// `remoteAddress` of Node has the interface too.
test('a link-local address counts as an address', (t) => {
  const { native } = new WebSocketServer({ noServer: true, maxConnectionsPerAddress: 1 })._admission;
  t.is(native.enter('fe80::1%eth0'), 0);
  t.not(native.enter('fe80::1%eth0'), 0);
  native.leave('fe80::1%eth0');
  t.is(native.enter('fe80::1'), 0);
  t.not(native.enter('fe80::1%eth0'), 0);
  t.is(native.enter('no address'), 0);
});

test('a handshake that comes too soon takes no place', (t) => {
  const { native } = new WebSocketServer({ noServer: true, handshakesPerSecond: 1, maxConnectionsPerAddress: 1 })._admission;
  t.is(native.enter('::1'), 0);
  native.leave('::1');
  const tooSoon = native.enter('::1');
  t.not(tooSoon, 0);
  t.is(native.enter('::1'), tooSoon);
});

test('what a server behind an HTTP server does not limit costs nothing', async (t) => {
  const server = await WAYS.server(t);
  t.is(server._admission, null);
  const { ws } = await connect(t, server);
  t.is(ws.readyState, WebSocket.OPEN);
});

for (const [option, wrong, instanceOf, message] of [
  ['maxConnections', '1', TypeError, "options.maxConnections must be a number. Received '1'"],
  ['maxConnections', -1, RangeError, 'options.maxConnections must be an integer from 0 to 2147483647. Received -1'],
  ['maxConnectionsPerAddress', 1.5, RangeError],
  ['handshakesPerSecond', 1e7, RangeError],
  ['maxHeaderBytes', 255, RangeError],
  ['maxHeaders', 257, RangeError],
  ['allowedOrigins', 1, TypeError, 'options.allowedOrigins must be a string, a RegExp, a function or an array of them. Received 1'],
  ['allowedOrigins', ['a', {}], TypeError],
]) {
  test(`${option}: ${String(wrong)} throws`, (t) => {
    const error = t.throws(() => new WebSocketServer({ noServer: true, [option]: wrong }), { instanceOf });
    if (message !== undefined) t.is(error.message, message);
  });
}

test('null and undefined are the default', async (t) => {
  const server = await startServer(t, { maxConnections: null, allowedOrigins: null, maxHeaders: undefined });
  t.like(server._admission, { isForAll: true, maxHeaderBytes: 16_384, maxHeaders: 256 });
  const { client } = await connect(t, server);
  client.close();
  await once(client, 'close');
});

for (const [option, value, status, index] of [
  ['maxConnections', 2, 'HTTP/1.1 503 Service Unavailable', 0],
  ['maxConnectionsPerAddress', 2, 'HTTP/1.1 429 Too Many Requests', 1],
  ['handshakesPerSecond', 1, 'HTTP/1.1 503 Service Unavailable', 2],
  ['maxHeaders', 8, 'HTTP/1.1 431 Request Header Fields Too Large', 3],
]) {
  test(`the limits of a server hold for what another one hands on: ${option}`, async (t) => {
    const limited = new WebSocketServer({ noServer: true, [option]: value });
    class Listening extends WebSocketServer {
      handleUpgrade(...args) {
        limited.handleUpgrade(...args);
      }
    }
    const listening = await startServer(t, {}, Listening);
    const fields = option === 'maxHeaders' ? { a: '1', b: '2', c: '3', d: '4' } : {};
    const answers = [];
    const raws = [];
    // One in a second is not too many: on a slow machine it takes more of them.
    const most = option === 'handshakesPerSecond' ? 100 : 3;
    while (answers.length < most && !answers.includes(status)) {
      const { head, raw } = await ask(t, listening, fields);
      answers.push(statusOf(head)[0]);
      raws.push(raw);
    }
    t.is(answers.at(-1), status);
    t.is(denied(limited)[index], 1);
    if (index > 1) return;
    t.deepEqual(answers, [OPEN, OPEN, status]);
    raws[0].reset();
    let answer;
    do answer = (await ask(t, listening)).head;
    while (answer.startsWith(status));
    t.true(answer.startsWith(OPEN), answer);
  });
}

test('a head that is too long counts, also without an option', async (t) => {
  const server = await startServer(t);
  const fields = (count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'x']));
  for (const [index, more] of [{ 'x-long': 'x'.repeat(20_000) }, fields(300)].entries()) {
    const { head } = await ask(t, server, more);
    t.true(head.startsWith('HTTP/1.1 431 '));
    t.is(server.metrics().handshakes.denied.head, index + 1);
  }
  t.is(statusOf((await ask(t, server, fields(200))).head)[0], OPEN);
  t.is(server.metrics().handshakes.denied.head, 2);
});

test('maxHeaderBytes is by default what the process allows servers of Node', async (t) => {
  const program = `
    const { WebSocketServer } = require(${JSON.stringify(createRequire(import.meta.url).resolve(isReference ? 'ws' : '../../lib/index.js'))});
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
      const client = require('net').connect(server.address().port, '127.0.0.1');
      client.write(${JSON.stringify(upgradeRequest())}.replace('\\r\\n\\r\\n', '\\r\\nCookie: ' + 'a'.repeat(Number(process.argv[1])) + '\\r\\n\\r\\n'));
      client.once('data', (data) => { console.log(String(data).split(' ')[1]); process.exit(); });
    });`;
  for (const [flag, length, status] of [[16_384, 9000, '101'], [65_536, 20_000, '101'], [8192, 9000, '431']]) {
    const { stdout } = await promisify(execFile)(process.execPath, [`--max-http-header-size=${flag}`, '-e', program, String(length)]);
    t.is(stdout.trim(), status, `${flag}`);
  }
});
