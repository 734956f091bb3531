// The same program over HTTP/1.1 and over HTTP/2, and over HTTP/1.1 with ws: every hook with every
// offer has the same outcome for the client.
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';

import test from 'ava';

import { answered, ask, connect, startHttp2 } from '../helpers/http2.mjs';
import { startHttp } from '../helpers/http.mjs';
import { implementation, isReference } from '../helpers/impl.mjs';
import { KEY } from '../helpers/raw-client.mjs';

const reference = createRequire(import.meta.url)('ws');
const own = isReference ? test.skip : test;

const UNAUTHORIZED = 'HTTP/1.1 401 Unauthorized\r\nX-By: guard\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno';

/** Programs, by name: options of the server, and what is done with it. */
const PROGRAMS = {
  'no hook': [{}],
  'a path': [{ path: '/' }],
  'another path': [{ path: '/other' }],
  'verifyClient accepts': [{ verifyClient: () => true }],
  'verifyClient refuses': [{ verifyClient: () => false }],
  'verifyClient reads the request': [
    { verifyClient: ({ origin, req, secure }) => origin === 'https://page.example' && !secure && req.url === '/' && req.headers.host === 'example.com' && req.method === 'GET' },
  ],
  'verifyClient accepts later': [{ verifyClient: (_info, callback) => setImmediate(callback, true) }],
  'verifyClient refuses later': [{ verifyClient: (_info, callback) => setImmediate(callback, false, 403, 'not you: ü', { 'X-Why': 'because', 'Set-Cookie': 'a=b' }) }],
  'handleProtocols takes the last': [{ handleProtocols: (protocols) => [...protocols].at(-1) }],
  'handleProtocols takes none': [{ handleProtocols: () => false }],
  'a listener of headers': [
    {},
    (wss) => wss.on('headers', (lines, { url }) => lines.push(`X-Url: ${url}`, 'Set-Cookie: a=b; Path=/', 'Set-Cookie: c=d')),
  ],
  'a listener of wsClientError': [
    {},
    (wss) => wss.on('wsClientError', (error, socket) => socket.end(`HTTP/1.1 422 Unprocessable Entity\r\nX-Error: ${error.message}\r\nConnection: close\r\n\r\n`)),
  ],
  'shouldHandle refuses': [{}, (wss) => (wss.shouldHandle = () => false)],
  'handleUpgrade refuses': [{}, (wss) => (wss.handleUpgrade = (_request, socket) => socket.end(UNAUTHORIZED))],
  'completeUpgrade refuses': [{}, (wss) => (wss.completeUpgrade = (_a, _b, _c, _d, socket) => socket.end(UNAUTHORIZED))],
  'closed, and still asked': [{ noServer: true }, (wss) => wss.close()],
};

const PROTOCOLS = [undefined, 'a', 'a, b', 'a,,b', 'a, a'];
const EXTENSIONS = [undefined, 'permessage-deflate', 'permessage-deflate; client_max_window_bits; server_max_window_bits=10', 'permessage-deflate; nonsense', 'permessage-deflate;;', 'x-other'];
const VERSIONS = ['13', '8', '7', 'x', undefined];

/** Every offer of a client that is compared. */
function* offers() {
  for (const protocols of PROTOCOLS) for (const extensions of EXTENSIONS) yield { protocols, extensions, 'sec-websocket-version': '13' };
  for (const version of VERSIONS) yield { 'sec-websocket-version': version };
}

/** Fields that only one of the versions has, or that differ by time. */
const NOT_COMPARED = new Set(['connection', 'date', 'sec-websocket-accept', 'upgrade', ':status']);

function comparable(status, headers, body) {
  const fields = Object.entries(headers).filter(([name]) => !NOT_COMPARED.has(name));
  return { status: status === 101 ? 200 : status, fields: Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))), body };
}

/** Makes the server of a program; `emitter` is the server whose upgrades it takes. */
function serve({ WebSocketServer }, emitter, [options, prepare = () => {}], perMessageDeflate) {
  const isPassed = options.noServer;
  const wss = new WebSocketServer({ perMessageDeflate, ...(isPassed ? {} : { server: emitter }), ...options });
  if (isPassed) emitter.on('upgrade', (request, socket, head) => wss.handleUpgrade(request, socket, head, () => {}));
  wss.on('connection', (ws) => ws.send(`protocol '${ws.protocol}', extensions '${ws.extensions}'`));
  prepare(wss);
}

/** A function that tells the outcome of an offer, for each version of HTTP. */
const VERSIONS_OF_HTTP = {
  async 1(t, program, perMessageDeflate, tested) {
    const server = await startHttp(t);
    serve(tested, server, program, perMessageDeflate);
    return async ({ extensions, protocols, ...fields }) => {
      const headers = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        host: 'example.com',
        origin: 'https://page.example',
        'sec-websocket-key': KEY,
        'sec-websocket-protocol': protocols,
        'sec-websocket-extensions': extensions,
        ...fields,
      };
      const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
      const request = http.request({ host: '127.0.0.1', port: server.address().port, headers: given, agent: false }).end();
      const opened = once(request, 'upgrade').then(async ([response, socket, head]) => {
        const first = head.length > 0 ? head : (await once(socket, 'data'))[0];
        socket.destroy();
        return comparable(101, response.headers, first.subarray(2).toString());
      });
      const refused = once(request, 'response').then(async ([response]) => {
        return comparable(response.statusCode, response.headers, Buffer.concat(await response.toArray()).toString());
      });
      opened.catch(() => {});
      refused.catch(() => {});
      return Promise.any([opened, refused]);
    };
  },

  async 2(t, program, perMessageDeflate, tested) {
    const server = await startHttp2(t);
    // For a program that hands upgrades over itself.
    tested.emitUpgrades(server);
    serve(tested, server, program, perMessageDeflate);
    const session = await connect(t, server);
    return async (fields) => {
      const stream = ask(session, { origin: 'https://page.example', ...fields });
      const answer = await answered(stream);
      if (answer[':status'] !== 200) return comparable(answer[':status'], answer, Buffer.concat(await stream.toArray()).toString());
      const [first] = await once(stream, 'data');
      stream.close(8);
      return comparable(200, answer, first.subarray(2).toString());
    };
  },
};

for (const [name, program] of Object.entries(PROGRAMS)) {
  for (const perMessageDeflate of [false, true]) {
    own(`${name}, perMessageDeflate: ${perMessageDeflate}`, async (t) => {
      const theirs = await VERSIONS_OF_HTTP[1](t, program, perMessageDeflate, reference);
      const older = await VERSIONS_OF_HTTP[1](t, program, perMessageDeflate, implementation);
      const newer = await VERSIONS_OF_HTTP[2](t, program, perMessageDeflate, implementation);
      let count = 0;
      for (const offer of offers()) {
        const [a, b, c] = await Promise.all([theirs(offer), older(offer), newer(offer)]);
        const shown = JSON.stringify(offer);
        t.deepEqual(b, a, `ws and HTTP/1.1: ${shown}`);
        t.deepEqual(c, b, `HTTP/1.1 and HTTP/2: ${shown}`);
        count++;
      }
      t.log(`${count} offers`);
    });
  }
}
