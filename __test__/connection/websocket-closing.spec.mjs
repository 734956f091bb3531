// Ends of a connection by either side, and faults that break it. Run with WS_IMPL=ws, the same
// holds for ws.
import { once } from 'node:events';

import test from 'ava';

import { WebSocket, frame, frames, nextEvents, openPair, openRaw } from '../helpers/clients.mjs';
import { isReference } from '../helpers/impl.mjs';

const ownOnly = isReference ? test.skip : test;

// J12.
test('close: checks its arguments before it closes anything', async (t) => {
  const { ws } = await openPair(t);
  const badCode = { instanceOf: TypeError, message: 'First argument must be a valid error code number' };
  for (const code of [999, 1004, 1005, 1006, 1015, 2999, 5000, '1000', null, 1e9]) t.throws(() => ws.close(code), badCode);
  t.throws(() => ws.close(1000, 'é'.repeat(62)), {
    instanceOf: RangeError,
    message: 'The message must not be greater than 123 bytes',
  });
  t.throws(() => ws.close(1000, [1]), { instanceOf: TypeError });
  t.is(ws.readyState, WebSocket.OPEN);
});

for (const [title, args, expected, local] of [
  ['no code', [], '8800', 1005],
  ['a code', [1001], '880203e9', 1001],
  ['a code and an empty reason', [1000, ''], '880203e8', 1000],
  ['a code and a reason', [4999, 'é'], '88041387c3a9', 4999],
  ['a reason of bytes', [3000, Buffer.from('ab')], '88040bb86162', 3000],
]) {
  test(`close: ${title}`, async (t) => {
    const { ws, raw } = await openRaw(t);
    const closed = once(ws, 'close');
    ws.close(...args);
    t.is(ws.readyState, WebSocket.CLOSING);
    ws.close(1000);
    const answer = await frames(raw, expected.length / 2);
    t.is(answer, expected);
    const payload = Buffer.from(expected.slice(4), 'hex');
    raw.send(Buffer.concat([Buffer.from([0x88, 0x80 | payload.length, 0, 0, 0, 0]), payload]));
    const [code, reason] = await closed;
    t.is(code, local);
    t.deepEqual(reason, payload.subarray(2));
    t.is(ws.readyState, WebSocket.CLOSED);
    ws.close();
    ws.terminate();
  });
}

test('the peer closes: the same code and reason go back, and the event has them', async (t) => {
  const { ws, client } = await openPair(t);
  const [own, others] = [once(ws, 'close'), once(client, 'close')];
  client.close(4001, 'bye');
  t.deepEqual(await own, [4001, Buffer.from('bye')]);
  t.deepEqual(await others, [4001, Buffer.from('bye')]);
  t.true(ws._closeFrameReceived && ws._closeFrameSent);
});

test('the peer closes with an empty frame: 1005 and an empty frame back', async (t) => {
  const { ws, raw } = await openRaw(t);
  const closed = once(ws, 'close');
  raw.send(frame(8));
  t.is(await frames(raw, 2), '8800');
  const [code, reason] = await closed;
  t.is(code, 1005);
  t.is(reason.length, 0);
});

// J05.
test('messages are received until the close frame comes, also after close()', async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => events.push(String(data)));
  const closed = once(ws, 'close');
  ws.close();
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(8), frame(1, 'c')]));
  await closed;
  t.deepEqual(events, ['a', 'b']);
});

// O03.
test('the connection ends without a close frame: 1006 and no error', async (t) => {
  const { ws, raw } = await openRaw(t);
  ws.on('error', () => t.fail());
  const closed = once(ws, 'close');
  raw.end();
  const [code, reason] = await closed;
  t.is(code, 1006);
  t.is(reason.length, 0);
});

const violations = [
  ['RSV1', 'c180 00000000', RangeError, 'WS_ERR_UNEXPECTED_RSV_1', 'Invalid WebSocket frame: RSV1 must be clear', '03ea'],
  ['an opcode', '8380 00000000', RangeError, 'WS_ERR_INVALID_OPCODE', 'Invalid WebSocket frame: invalid opcode 3', '03ea'],
  ['no mask', '8100', RangeError, 'WS_ERR_EXPECTED_MASK', 'Invalid WebSocket frame: MASK must be set', '03ea'],
  ['a close code', '8882 00000000 03ed', RangeError, 'WS_ERR_INVALID_CLOSE_CODE', 'Invalid WebSocket frame: invalid status code 1005', '03ea'],
  ['UTF-8', '8181 00000000 ff', Error, 'WS_ERR_INVALID_UTF8', 'Invalid WebSocket frame: invalid UTF-8 sequence', '03ef'],
];

for (const [title, hex, type, code, message, sent] of violations) {
  // F02, F03, F04, F11, F19.
  test(`a broken rule (${title}): earlier messages, close frame, 'error', 'close' 1006`, async (t) => {
    const { ws, raw } = await openRaw(t);
    const events = [];
    ws.on('message', (data) => events.push(String(data)));
    ws.on('error', (error) => {
      events.push('error');
      t.is(ws.readyState, WebSocket.CLOSING);
      t.is(Object.getPrototypeOf(error), type.prototype);
      t.is(error.code, code);
      t.is(error.message, message);
    });
    const closed = nextEvents(ws, 'close', 1);
    raw.send(Buffer.concat([frame(1, 'a'), Buffer.from(hex.replaceAll(' ', ''), 'hex'), frame(1, 'b')]));
    t.is(await frames(raw, 4), `8802${sent}`);
    raw.end();
    const [[closeCode, reason]] = await closed;
    t.is(closeCode, 1006);
    t.is(reason.length, 0);
    t.deepEqual(events, ['a', 'error']);
  });
}

// F20.
test('maxPayload: 1009', async (t) => {
  const { ws, client } = await openPair(t, { maxPayload: 10 });
  const [failed, closed] = [once(ws, 'error'), once(client, 'close')];
  client.send(Buffer.alloc(11));
  const [error] = await failed;
  t.is(error.code, 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH');
  t.is(error.message, 'Max payload size exceeded');
  t.is((await closed)[0], 1009);
});

test("terminate: 'close' 1006 later, no message any more", async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => {
    events.push(String(data));
    ws.terminate();
    t.is(ws.readyState, WebSocket.CLOSING);
  });
  const closed = once(ws, 'close');
  raw.send(frame(1, 'a'));
  t.is((await closed)[0], 1006);
  t.deepEqual(events, ['a']);
  t.is(ws.readyState, WebSocket.CLOSED);
  t.is(ws._socket.remoteAddress, undefined);
  t.is(ws._socket.destroyed, true);
  await raw.closed();
});

// J05.
ownOnly('terminate: what was received with it is dropped', async (t) => {
  const { ws, raw } = await openRaw(t);
  const events = [];
  ws.on('message', (data) => {
    events.push(String(data));
    ws.terminate();
  });
  const closed = once(ws, 'close');
  raw.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(9, 'c'), frame(8)]));
  t.is((await closed)[0], 1006);
  t.deepEqual(events, ['a']);
});

// F19.
test('closeTimeout ends a connection whose peer does not answer', async (t) => {
  const { ws } = await openRaw(t, { closeTimeout: 20 });
  const closed = once(ws, 'close');
  ws.close(1000);
  t.is((await closed)[0], 1006);
});
