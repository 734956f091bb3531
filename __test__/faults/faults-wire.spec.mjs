// Faults of a peer, row by row, on every way in: the bytes that it sends, those that it gets, and
// whether another client is served meanwhile. The rows are those of docs/faults.md.
import { once } from 'node:events';
import { constants, deflateRawSync } from 'node:zlib';

import { KEY, RawClient, WAYS, askRaw, frame, isReference, test, upgradeRequest, visitor } from '../helpers/index.mjs';
import { attacked, onEveryWay, opened } from '../helpers/under-attack.mjs';

const KIB = 1024;
const MIB = KIB * KIB;
const GIB = 1024 * MIB;
const NODE = ['server', 'stream'];

/** The status of the answer; 'closed' if there is none. */
async function statusOf(t, port, bytes) {
  const raw = await askRaw(t, port, bytes);
  const text = await raw.untilClosedOr((seen) => seen.includes('\r\n\r\n'));
  return /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 'closed';
}

const NULLS = Buffer.alloc(64 * KIB);
const CLIENT_HELLO = Buffer.from('1603010200010001fc0303', 'hex');
const spaces = ' '.repeat(8 * KIB);
const REFUSED = /^(4\d\d|505|closed)$/;
const ANY = /^(101|4\d\d|505|closed)$/;

/**
 * `[row, what, requests, answer of ours, answer behind a server of Node]`: where Node reads the
 * request, Node decides on its faults, as for ws. null: the request waits for a handler of the
 * program.
 */
const REQUESTS = [
  ['H03', 'a long header byte by byte', ['slow'], /^101$/],
  ['H04', 'a header of 1 MiB', [upgradeRequest({ X: 'a'.repeat(MIB) })], /^431$/],
  ['H04', 'a request line of 64 KiB', [upgradeRequest({ line: `GET /${'a'.repeat(64 * KIB)} HTTP/1.1` })], /^431$/],
  ['H05', 'wrong keys', [null, `${KEY}x`, 'AAAAAAAAAAAAAAAAAAAA', '!'.repeat(24), [KEY, KEY]].map((key) => upgradeRequest({ 'Sec-WebSocket-Key': key })), /^400$/],
  ['H06', 'another upgrade', [upgradeRequest({ Upgrade: 'h2c' })], /^400$/],
  ['H06', 'no upgrade', [upgradeRequest({ Upgrade: null }), upgradeRequest({ Connection: 'keep-alive' })], /^426$/, null],
  ['H06', 'upgrades in lists and in any case', [upgradeRequest({ Connection: 'keep-alive, Upgrade' }), upgradeRequest({ Upgrade: 'WebSocket', Connection: 'uPGRADE' })], /^101$/],
  ['H07', 'wrong versions', [null, '7', '12', '13, 8', '\x80'].map((version) => upgradeRequest({ 'Sec-WebSocket-Version': version })), /^400$/],
  ['H07', 'versions 8 and 13', ['8', '13', ' 13'].map((version) => upgradeRequest({ 'Sec-WebSocket-Version': version })), /^101$/],
  ['H08', 'POST', [upgradeRequest({ line: 'POST / HTTP/1.1' })], /^405$/],
  ['H08', 'no HTTP/1.1', [upgradeRequest({ line: 'GET / HTTP/9.9' }), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', CLIENT_HELLO, NULLS], REFUSED],
  ['H09', '2000 headers', [upgradeRequest(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`x${i}`, i])))], /^431$/, ANY],
  ['H10', '100,000 empty headers', [upgradeRequest({ extra: 'a:\r\n'.repeat(100_000) })], /^431$/],
  ['H11', 'a version twice', [upgradeRequest({ 'Sec-WebSocket-Version': ['13', '13'] })], /^400$/],
  ['H11', 'a host twice, which Node takes', [upgradeRequest({ Host: ['a', 'b'] })], /^101$/, ANY],
  ['H11', 'folds, bare LF, spaces and NUL', [' folded\r\n', 'a: b\n', 'a : b\r\n', 'a: b\0c\r\n', 'a: b\rc\r\n'].map((extra) => upgradeRequest({ extra })), /^400$/, ANY],
  ['H13', 'bytes from 0x80 on in a list', ['Protocol', 'Extensions'].map((name) => upgradeRequest({ [`Sec-WebSocket-${name}`]: 'a\x80\xff' })), /^400$/],
  ['H13', 'bytes from 0x80 on elsewhere', ['Cookie', 'Origin', 'Host'].map((name) => upgradeRequest({ [name]: 'a\x80\xff' })), /^101$/],
  ['H14', 'offers of nothing', ['constructor', '__proto__', 'a,b', Array(1000).fill('x').join()].map((offer) => upgradeRequest({ 'Sec-WebSocket-Extensions': offer })), /^101$/],
  ['H14', 'offers that are none', [';;;', 'a,,b', 'a;b="', 'a;b=c d'].map((offer) => upgradeRequest({ 'Sec-WebSocket-Extensions': offer })), ANY],
  ['H15', 'what regular expressions are slow with', [`a${spaces}b`, `a${' ,'.repeat(4 * KIB)}`].map((value) => upgradeRequest({ 'Sec-WebSocket-Protocol': value })).concat(upgradeRequest({ 'Sec-WebSocket-Extensions': `a;b="${'\\c'.repeat(4 * KIB)}` })), ANY],
  ['H18', 'requests with a body', [upgradeRequest({ 'Content-Length': '5' }), upgradeRequest({ 'Transfer-Encoding': 'chunked' }), upgradeRequest({ 'Content-Length': '5', 'Transfer-Encoding': 'chunked' })], /^400$/, ANY],
  ['H18', 'two lengths', [upgradeRequest({ 'Content-Length': ['0', '5'] })], /^400$/],
];

async function slowly(t, port) {
  const raw = await RawClient.connect(t, port);
  for (const byte of Buffer.from(upgradeRequest({ X: 'a'.repeat(8 * KIB) }))) raw.send(Buffer.from([byte]));
  return /^HTTP\/1\.1 (\d{3})/.exec(await raw.untilClosedOr((seen) => seen.includes('\r\n\r\n')))[1];
}

for (const way of Object.keys(WAYS)) {
  for (const [row, name, requests, ours, nodes = ours] of REQUESTS) {
    const wanted = NODE.includes(way) ? nodes : ours;
    // For ws, only a sign of life was recorded: Node reads its requests on every way in.
    (wanted === null || (isReference && way === 'port') ? test.skip : test.serial)(`${row} ${way}: ${name}`, async (t) => {
      await attacked(t, way, { perMessageDeflate: true }, async ({ port }) => {
        for (const request of requests) {
          t.regex(request === 'slow' ? await slowly(t, port) : await statusOf(t, port, request), wanted, String(request).slice(0, 300));
        }
      });
    });
  }
}

onEveryWay(test.serial, {
  async 'H12: targets come as they are'(t, { server, port }) {
    for (const target of ['http://169.254.169.254/', '//x', `/${'%00'.repeat(2 * KIB)}`, '/\xe9\xff', '*']) {
      const seen = new Promise((resolve) => server.once('connection', (_, { url }) => resolve(url)));
      const status = await statusOf(t, port, upgradeRequest({ line: `GET ${target} HTTP/1.1` }));
      if (status === '101') t.is(await seen, target);
      else t.is(status, '400');
    }
  },

  async 'H17: a handshake with a frame behind it, cut everywhere'(t, { port }) {
    const bytes = Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'hello')]);
    const isAnswered = (text) => text.endsWith('\x81\x05hello');
    for (let begin = 0; begin < bytes.length; begin += 20) {
      const cut = async (at) => {
        const raw = await askRaw(t, port, bytes.subarray(0, at));
        await raw.send(bytes.subarray(at));
        const text = await raw.until(isAnswered);
        t.is(text.match(/HTTP\/1\.1 101/g).length, 1);
        raw.reset();
      };
      await Promise.all(Array.from({ length: Math.min(20, bytes.length - begin) }, (_, i) => cut(begin + i)));
    }
  },

  async 'H17: 1000 frames behind the request'(t, { port }) {
    const raw = await RawClient.connect(t, port);
    const numbers = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'));
    await raw.send(Buffer.concat([Buffer.from(upgradeRequest()), ...numbers.map((number) => frame(1, number))]));
    const echo = numbers.map((number) => `\x81\x03${number}`).join('');
    t.true((await raw.until((text) => text.length >= echo.length + 100 && text.endsWith('999'))).endsWith(echo));
  },

  async 'H19 O03: the end and a reset at every byte'(t, { server, port }) {
    const bytes = Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'hello'), frame(8, Buffer.from([3, 232]))]);
    let [opened, closed] = [0, 0];
    server.on('connection', (ws) => {
      opened++;
      ws.on('close', () => closed++);
    });
    for (let at = 0; at <= bytes.length; at += 3) {
      const raws = await Promise.all([0, 1].map(() => RawClient.connect(t, port)));
      await Promise.all(raws.map((raw) => raw.send(bytes.subarray(0, at))));
      raws[0].end();
      raws[1].reset();
      await Promise.all(raws.map((raw) => raw.closed()));
    }
    while (server.clients.size > 1) await new Promise((resolve) => setTimeout(resolve, 5));
    t.is(closed, opened);
  },
});

const header = (first, ...rest) => Buffer.from([first, ...rest, 0, 0, 0, 0]);
const long = (length) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(length);
  return header(0x82, 0xff, ...bytes);
};
const utf8 = (...bytes) => frame(1, Buffer.from(bytes));
const closing = (code) => frame(8, Buffer.from([code >> 8, code & 0xff]));
/** RSV1 is set. */
const marked = (payload) => frame(0x42, payload);
const compressed = (data) => marked(deflateRawSync(data, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4));
const BOMB = compressed(Buffer.alloc(16 * MIB));
const DEFLATED = { 'Sec-WebSocket-Extensions': 'permessage-deflate' };
const DEFLATE = { perMessageDeflate: true, maxPayload: MIB };

/** `[row, what, options, what is sent, the close code]`; without a code an echo of `ok` comes. */
const FRAMES = [
  ['F02', 'RSV1', {}, [0xc1, 0xc2].map((first) => header(first, 0x80)), 1002],
  ['F02', 'RSV2 and RSV3', {}, [0xa1, 0x91, 0xb2].map((first) => header(first, 0x80)), 1002],
  ['F03', 'no mask', {}, [Buffer.from([0x81, 1, 0x61])], 1002],
  ['F04', 'reserved opcodes', {}, [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => header(0x80 | opcode, 0x80)), 1002],
  ['F06', 'long and fragmented control frames', {}, [header(0x89, 0xfe, 0, 126), frame(9, 'x', false), frame(8, '', false)], 1002],
  ['F06', 'a ping between fragments', {}, [Buffer.concat([frame(2, '', false), frame(9, ''), frame(0, '')])]],
  ['F08', 'lengths beyond what a message may have', {}, [2n ** 63n - 1n, 2n ** 53n, 2n ** 32n, 2n ** 31n].map(long), 1009],
  ['F08', 'a length with the highest bit', {}, [long(2n ** 63n)], /^(1002|1009)$/],
  ['F09', 'lengths that are longer than needed', {}, [header(0x82, 0xfe, 0, 0), header(0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0)]],
  ['F10', 'fragments of nothing, and a message within one', {}, [frame(0, 'x'), Buffer.concat([frame(1, 'x', false), frame(1, 'x')])], 1002],
  ['F11', 'what is no UTF-8', {}, [utf8(0xed, 0xa0, 0x80), utf8(0xc0, 0x80), utf8(0xf4, 0x90, 0x80, 0x80), utf8(0xff), frame(8, Buffer.from([3, 232, 0xff]))], 1007],
  ['F11', 'UTF-8 that is cut off, over fragments', {}, [Buffer.concat([frame(1, Buffer.from([0xe2, 0x82]), false), frame(0, 'x')])], 1007],
  ['F12', 'fragments of a byte that never end', { maxFragments: 100 }, [Buffer.concat([frame(1, 'x', false), ...Array(200).fill(frame(0, 'x', false))])], 1008],
  ['F14', 'fragments of nothing that never end', { maxFragments: 100 }, [Buffer.concat([frame(1, '', false), ...Array(200).fill(frame(0, '', false))])], 1008],
  ['F16', 'many pings, whose answers are read', { maxPendingAutoPongs: 0 }, [Buffer.concat(Array(20_000).fill(frame(9, 'p')))]],
  ['F18', 'many pongs that nobody asked for', {}, [Buffer.concat(Array(50_000).fill(frame(10, 'p'.repeat(125))))]],
  ['F19', 'status codes that nobody may send', {}, [0, 999, 1004, 1005, 1006, 1015, 2999, 5000].map(closing).concat(frame(8, Buffer.from([3]))), 1002],
  ['F19', 'status codes that one may send', {}, [1000, 1003, 1012, 1014, 3000, 4999].map(closing), /^(1000|1003|1012|1014|3000|4999)$/],
  ['F20', 'a byte more than a message may have', { maxPayload: 1000 }, [frame(2, 'x'.repeat(1001)), Buffer.concat([frame(2, 'x'.repeat(500), false), frame(0, 'x'.repeat(501))])], 1009],
  ['F20', 'as much as a message may have', { maxPayload: 1000 }, [frame(2, 'x'.repeat(1000))]],
  ['F22', 'many messages of one byte', {}, [Buffer.concat(Array(100_000).fill(frame(1, 'x')))]],
  ['Z01', 'compression that was not negotiated', {}, [compressed('x')], 1002],
  ['Z02', '16 KiB that become 16 MiB', DEFLATE, [BOMB], 1009],
  ['Z03', 'the same in fragments', DEFLATE, [Buffer.concat([marked(''), BOMB].map((one, i) => { const copy = Buffer.from(one); if (i === 0) copy[0] &= 0x7f; else copy[0] = 0x80; return copy; }))], 1009],
  ['Z06', 'what is no DEFLATE', DEFLATE, [marked(Buffer.alloc(100, 0xff)), marked(Buffer.from([6, 0, 1]))], 1007],
  ['Z06', 'an empty message', DEFLATE, [marked(Buffer.from([0]))]],
];

/** The status code of the close frame at the end of the received bytes. */
const codeIn = (text) => {
  const at = text.lastIndexOf('\x88');
  return at === -1 || text.length < at + 4 ? 'none' : String(Buffer.from(text.slice(at + 2, at + 4), 'latin1').readUInt16BE());
};

for (const way of Object.keys(WAYS)) {
  for (const [row, name, options, inputs, code] of FRAMES) {
    test.serial(`${row} ${way}: ${name}`, async (t) => {
      await attacked(t, way, options, async ({ port }) => {
        for (const input of inputs) {
          const raw = await opened(t, port, options.perMessageDeflate ? DEFLATED : {});
          raw.send(input);
          if (code === undefined) {
            raw.send(frame(9, 'ok'));
            await raw.until((text) => text.endsWith('\x8a\x02ok'));
            raw.reset();
          } else {
            const text = await raw.untilClosedOr((seen) => codeIn(seen) !== 'none');
            t.regex(codeIn(text), code instanceof RegExp ? code : new RegExp(`^${code}$`), input.subarray(0, 20).toString('hex'));
            raw.reset();
          }
        }
      });
    });
  }
}

onEveryWay(test.serial, {
  async 'F07: lengths of 99 MiB, of which a byte comes'(t, { port }) {
    const before = process.memoryUsage.rss();
    const raws = await Promise.all(Array.from({ length: 100 }, () => opened(t, port)));
    for (const raw of raws) await raw.send(Buffer.concat([long(99n * 2n ** 20n), Buffer.from('x')]));
    for (const raw of raws) raw.reset();
    // The declared lengths would be 9.9 GB.
    t.true(process.memoryUsage.rss() - before < GIB);
  },

  async 'F17: many pings of one that never reads'(t, { server, port }) {
    const client = visitor(t, `ws://127.0.0.1:${port}/sink`, { perMessageDeflate: false });
    const [ws] = await once(server, 'connection');
    await once(client, 'open');
    client._socket.pause();
    const pings = Buffer.concat(Array(10_000).fill(frame(9, 'p'.repeat(125))));
    for (let i = 0; i < 5; i++) client._socket.write(pings);
    // Either the connection is ended, or the bytes that are kept for it have a bound.
    await new Promise((resolve) => setTimeout(resolve, 100));
    t.true(ws.bufferedAmount < 16 * MIB);
  },
});
