// A page's view of a server, for each way in, with and without compression.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { launch, openPage } from './helpers/page.mjs';
import { WAYS_IN, startOrigin } from './helpers/ways-in.mjs';

const MAX_PAYLOAD = 1 << 20;
const DEFLATE = {
  off: false,
  on: { threshold: 0 },
  'on, without contexts': { threshold: 0, serverNoContextTakeover: true, clientNoContextTakeover: true },
};

/** The messages of the page; runs in the page. */
async function sendEverything(url) {
  const socket = await window.openSocket(url);
  const long = 'Ärger mit 🙂 und \u0000. '.repeat(50_000).slice(0, 500_000);
  // maxPayload is also a limit of frames, and incompressible data becomes a little longer.
  const noise = new Uint8Array((1 << 20) - 4096);
  for (let at = 0; at < noise.length; at += 4096) crypto.getRandomValues(noise.subarray(at, at + 4096));
  const text = ['', 'a', 'grüße 🙂', 'x'.repeat(125), 'x'.repeat(126), 'x'.repeat(65_536), 'x'.repeat(1 << 20), long];
  const binary = [new ArrayBuffer(0), new Uint8Array([0, 255]), new Blob(['a blob']), new Uint8Array(1 << 20), noise];
  const many = Array.from({ length: 2000 }, (_, index) => `message ${index}`);
  const whole = {};
  for (const [name, messages] of Object.entries({ text, binary, many })) {
    whole[name] = (await window.echoes(socket, messages)).every(Boolean);
  }
  return { whole, extensions: socket.extensions };
}

/** Ways in which the server ends a connection, and the expected event of the page. */
const CLOSED_BY_SERVER = [
  [(ws) => ws.close(), { code: 1005, reason: '', wasClean: true }],
  [(ws) => ws.close(1000, 'done'), { code: 1000, reason: 'done', wasClean: true }],
  [(ws) => ws.close(1001), { code: 1001, reason: '', wasClean: true }],
  [(ws) => ws.close(1011, 'grüße 🙂'), { code: 1011, reason: 'grüße 🙂', wasClean: true }],
  [(ws) => ws.close(3000, 'r'.repeat(123)), { code: 3000, reason: 'r'.repeat(123), wasClean: true }],
  [(ws) => ws.close(4999), { code: 4999, reason: '', wasClean: true }],
  [(ws) => ws.terminate(), { code: 1006, reason: '', wasClean: false }],
];

/** Ways in which the page ends a connection, and the expected event of the server. */
const CLOSED_BY_PAGE = [
  [[], [1005, '']],
  [[1000, 'bye'], [1000, 'bye']],
  [[3000, 'grüße'], [3000, 'grüße']],
  [[4999], [4999, '']],
];

async function exerciseEcho(t, page, { wss, url }, perMessageDeflate) {
  await t.test('messages of all kinds and sizes', async () => {
    const connected = once(wss, 'connection');
    const result = page.evaluate(sendEverything, url);
    const [ws] = await connected;
    ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
    const { whole, extensions } = await result;
    assert.deepEqual(whole, { text: true, binary: true, many: true });
    assert.equal(extensions.split(';')[0], ws.extensions);
    assert.equal(ws.extensions, perMessageDeflate ? 'permessage-deflate' : '');
    assert.equal(extensions.includes('no_context_takeover'), perMessageDeflate.serverNoContextTakeover === true);
    const pong = once(ws, 'pong');
    ws.ping('anybody?');
    assert.equal((await pong)[0].toString(), 'anybody?');
    ws.terminate();
  });
}

async function exerciseClosing(t, page, { wss, url }) {
  /** Connects the page, hands its socket to `serve`; returns the fields of the page's 'close'. */
  const run = async (serve, steps = async (address) => (await window.openSocket(address)).closed) => {
    const connected = once(wss, 'connection');
    const closed = page.evaluate(steps, url);
    const [ws] = await connected;
    serve(ws);
    return closed;
  };

  await t.test('the page sees how the server closed', async () => {
    for (const [close, expected] of CLOSED_BY_SERVER) {
      const { failed, ...seen } = await run(close);
      assert.deepEqual(seen, expected);
      assert.equal(failed, false);
    }
  });

  await t.test('the server sees how the page closed', async () => {
    for (const [args, expected] of CLOSED_BY_PAGE) {
      const connected = once(wss, 'connection');
      const socket = await page.evaluateHandle((address) => window.openSocket(address), url);
      const [ws] = await connected;
      const closed = once(ws, 'close');
      await socket.evaluate((one, list) => one.close(...list), args);
      const [code, reason] = await closed;
      assert.deepEqual([code, reason.toString()], expected);
      assert.equal((await socket.evaluate((one) => one.closed)).code, expected[0]);
    }
  });

  await t.test('a message above maxPayload: 1009', async () => {
    const errors = [];
    const seen = await run(
      (ws) => ws.on('error', (error) => errors.push(error.code)),
      async (address) => {
        const socket = await window.openSocket(address);
        socket.send(new Uint8Array((1 << 20) + 1));
        return socket.closed;
      },
    );
    assert.equal(seen.code, 1009);
    assert.deepEqual(errors, ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH']);
  });
}

test('browser', async (t) => {
  const browser = await launch(t);
  const origin = await startOrigin(t);
  for (const [name, start] of Object.entries(WAYS_IN)) {
    for (const [mode, perMessageDeflate] of Object.entries(DEFLATE)) {
      await t.test(`browser: ${name}, permessage-deflate ${mode}`, async (inner) => {
        const page = await openPage(inner, browser, origin);
        const server = await start(inner, { maxPayload: MAX_PAYLOAD, perMessageDeflate });
        await exerciseEcho(inner, page, server, perMessageDeflate);
        await exerciseClosing(inner, page, server);
      });
    }
  }

  await t.test('browser: a page that goes away says 1001', async (inner) => {
    const page = await openPage(inner, browser, origin);
    const { url, wss } = await WAYS_IN.server(inner, {});
    const connected = once(wss, 'connection');
    await page.evaluate(async (address) => void (window.kept = await window.openSocket(address)), url);
    const closed = once((await connected)[0], 'close');
    await page.goto('about:blank');
    assert.equal((await closed)[0], 1001);
  });

  await t.test('browser: subprotocols are agreed on, refusals seen as 1006', async (inner) => {
    const page = await openPage(inner, browser, origin);
    const { url, wss } = await WAYS_IN.server(inner, {
      handleProtocols: (protocols) => [...protocols].at(-1),
      verifyClient: ({ origin: from, req }) => from === new URL(origin).origin && req.url !== '/no',
    });
    wss.on('connection', (ws) => ws.close(1000, ws.protocol));
    const step = async ([address, protocols]) => (await window.openSocket(address, protocols)).closed;
    const agreed = await page.evaluate(step, [url, ['first', 'last']]);
    assert.deepEqual(agreed, { code: 1000, reason: 'last', wasClean: true, failed: false });
    const refused = await page.evaluate(step, [`${url}no`, []]);
    assert.deepEqual(refused, { code: 1006, reason: '', wasClean: false, failed: true });
  });
});
