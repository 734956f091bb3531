// Payloads of 0 B to 4 MiB, JSON and random, through Chromium's compression and ours.
import assert from 'node:assert/strict';
import test from 'node:test';

import { SIZES, hash, json } from '../helpers/payloads.mjs';
import { launch, openPage } from './helpers/page.mjs';
import { WAYS_IN, startOrigin } from './helpers/ways-in.mjs';

const MODES = {
  'no compression': false,
  'context takeover': { threshold: 0 },
  'no context takeover': { threshold: 0, serverNoContextTakeover: true, clientNoContextTakeover: true },
};

/**
 * Sends JSON and random bytes of each size, one after the other, and digests the sent and the
 * received bytes; runs in the page.
 */
async function echoAll({ url, sizes, longest }) {
  const digest = async (data) => {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    const hex = (byte) => byte.toString(16).padStart(2, '0');
    return Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)), hex).join('');
  };
  const random = (size) => {
    const bytes = new Uint8Array(size);
    // More at once is refused.
    for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
    return bytes;
  };
  const socket = await window.openSocket(url);
  const seen = [];
  for (const size of sizes) {
    for (const payload of [longest.slice(0, size), random(size)]) {
      const [answer] = await window.exchange(socket, [payload]);
      seen.push({
        size: answer.length ?? answer.byteLength,
        isText: typeof answer === 'string',
        sent: await digest(payload),
        received: await digest(answer),
      });
    }
  }
  socket.close(1000, 'done');
  return { seen, extensions: socket.extensions, closed: await socket.closed };
}

/** An echo that also keeps the digest of the received bytes. */
function echo(wss, digests) {
  wss.on('connection', (ws) => {
    ws.on('message', (data, isBinary) => {
      digests.push(hash(data));
      ws.send(data, { binary: isBinary });
    });
  });
}

test('browser: all sizes', async (t) => {
  const browser = await launch(t);
  const origin = await startOrigin(t);
  const longest = json(SIZES.at(-1));
  for (const [way, start] of Object.entries(WAYS_IN)) {
    for (const [mode, perMessageDeflate] of Object.entries(MODES)) {
      await t.test(`browser: 0 B to 4 MiB, ${way}, ${mode}`, async (inner) => {
        const page = await openPage(inner, browser, origin);
        const { url, wss } = await start(inner, { perMessageDeflate });
        const digests = [];
        echo(wss, digests);
        const { seen, extensions, closed } = await page.evaluate(echoAll, { url, sizes: SIZES, longest });
        const expected = SIZES.flatMap((size) => [true, false].map((isText) => ({ size, isText })));
        assert.deepEqual(seen.map(({ size, isText }) => ({ size, isText })), expected);
        assert.deepEqual(seen.map(({ sent }) => sent), digests);
        assert.deepEqual(seen.map(({ received }) => received), digests);
        assert.equal(extensions.split(';')[0], perMessageDeflate ? 'permessage-deflate' : '');
        assert.equal(extensions.includes('no_context_takeover'), mode === 'no context takeover');
        assert.deepEqual(closed, { code: 1000, reason: 'done', wasClean: true, failed: false });
      });
    }
  }
});
