// Every length on both sides of a threshold, in every form of a message, times every way in: the
// messages that the server gets, and those that it sends back.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { deflateRawSync, constants as zlib } from 'node:zlib';

import { COMPRESSION, Messages, WAYS_IN, World, named, payloadOf } from '../helpers/bytes-world.mjs';
import { implementation, test, upgradeRequest } from '../helpers/index.mjs';
import { AT_ONCE, COMPRESSED, FEW_SIZES, SIZES } from '../helpers/thresholds.mjs';

const { Sender } = createRequire(import.meta.url)('ws');
const { createWebSocketStream } = implementation;

const [TEXT, BINARY, CLOSE, PING, PONG] = [1, 2, 8, 9, 10];
const CONTROL_BYTES = 125;
const REASON_BYTES = 123;
const RANDOM = randomBytes(SIZES.at(-1) + 1000);

/** Text that compresses, or bytes that do not. */
function messageOf(size, index) {
  return index % 2 === 0 ? { opcode: TEXT, payload: payloadOf(size, index) } : { opcode: BINARY, payload: RANDOM.subarray(index, index + size) };
}

/** Frames as a client makes them. */
class Frames {
  #deflates;
  #keepsContext;
  #before = Buffer.alloc(0);

  constructor(compression) {
    this.#deflates = compression !== 'plain';
    this.#keepsContext = compression === 'context';
  }

  one(opcode, payload, { fin = true, rsv1 = false } = {}) {
    const options = { fin, rsv1, opcode, mask: true, readOnly: true, generateMask: (key) => key.writeUInt32BE(0x9a3c5e71) };
    return Buffer.concat(Sender.frame(payload, options));
  }

  /** The payload as it is sent. */
  #compress(payload) {
    if (!this.#deflates) return payload;
    const dictionary = this.#keepsContext && this.#before.length > 0 ? this.#before : undefined;
    const all = deflateRawSync(payload, { finishFlush: zlib.Z_SYNC_FLUSH, dictionary, level: 1 });
    this.#before = Buffer.concat([this.#before, payload.subarray(-32_768)]).subarray(-32_768);
    // RFC 7692, 7.2.1.
    return all.subarray(0, -4);
  }

  message({ opcode, payload }) {
    return this.one(opcode, this.#compress(payload), { rsv1: this.#deflates });
  }

  /** With an empty fragment, and the given frame between the last two. */
  fragments({ opcode, payload }, between = Buffer.alloc(0)) {
    const body = this.#compress(payload);
    const [first, second] = [Math.floor(body.length / 3), Math.floor((body.length * 2) / 3)];
    return Buffer.concat([
      this.one(opcode, body.subarray(0, first), { fin: false, rsv1: this.#deflates }),
      this.one(0, body.subarray(first, first), { fin: false }),
      this.one(0, body.subarray(first, second), { fin: false }),
      between,
      this.one(0, body.subarray(second)),
    ]);
  }
}

/** Hands bytes over in pieces that leave one by one. */
async function writePieces(socket, bytes) {
  const cuts = [1, 3, 9, bytes.length / 2, bytes.length - 1].map(Math.floor).filter((cut) => cut < bytes.length);
  const ends = [...new Set([...cuts, bytes.length])].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    const piece = bytes.subarray(start, end);
    await new Promise((resolve) => socket.write(piece, resolve));
    start = end;
  }
}

const withPing = (frames, message) => frames.fragments(message, frames.one(PING, Buffer.from('between')));

/** Forms in which a message comes. */
const FORMS = {
  'one frame': ({ peer, frames }, message) => peer.socket.write(frames.message(message)),
  fragments: ({ peer, frames }, message) => peer.socket.write(withPing(frames, message)),
  'one frame in pieces': ({ peer, frames }, message) => writePieces(peer.socket, frames.message(message)),
  'fragments in pieces': ({ peer, frames }, message) => writePieces(peer.socket, withPing(frames, message)),
};

/** The next message that is not a pong. */
async function nextMessage({ messages }) {
  for (;;) {
    const got = await messages.next();
    if (got.opcode !== PONG || got.payload.toString() !== 'between') return got;
  }
}

async function expect(t, pair, { opcode, payload }, title) {
  const got = await named(title, nextMessage(pair));
  if (got.opcode === opcode && got.payload.equals(payload)) return;
  t.fail(`${title}: ${got.payload.length} bytes of opcode ${got.opcode} instead of ${payload.length} of ${opcode}`);
}

/** Makes a connection echo; returns the messages that it gets. */
function echo(ws) {
  const kept = [];
  ws.on('message', (data, isBinary) => {
    kept.push(data);
    ws.send(data, { binary: isBinary, compress: false });
  });
  return kept;
}

/** A connection that echoes, and keeps its messages. */
async function openEcho(world, compression) {
  const pair = await world.open();
  return { ...pair, kept: echo(pair.ws), frames: new Frames(compression) };
}

async function testForms(t, world, compression, sizes) {
  const pair = await openEcho(world, compression);
  for (const [form, write] of Object.entries(FORMS)) {
    for (const [index, size] of sizes.entries()) {
      const message = messageOf(size, index);
      const behind = { opcode: TEXT, payload: Buffer.from(`behind ${size}`) };
      await write(pair, message);
      pair.peer.socket.write(pair.frames.message(behind));
      await expect(t, pair, message, `${form}, ${size}`);
      await expect(t, pair, behind, `${form}, behind ${size}`);
      // A message that a handler keeps does not change, whatever came since.
      const [first, second] = pair.kept.slice(-2);
      t.true(first.equals(message.payload) && second.equals(behind.payload));
      if (size > 70_000) pair.kept.length = 0;
    }
  }
}

/** In one write with the request. */
async function testEarly(t, world, compression, sizes) {
  for (const [index, size] of sizes.entries()) {
    const peer = await world.peer();
    const [frames, messages] = [new Frames(compression), new Messages(peer)];
    const message = messageOf(size, index);
    const behind = { opcode: TEXT, payload: Buffer.from(`behind ${size}`) };
    const opened = new Promise((resolve) => world.server.once('connection', (ws) => resolve(echo(ws))));
    const request = Buffer.from(upgradeRequest(world.request()), 'latin1');
    peer.socket.write(Buffer.concat([request, frames.message(message), frames.message(behind)]));
    await peer.readHead();
    await expect(t, { messages }, message, `with the request, ${size}`);
    await expect(t, { messages }, behind, `with the request, behind ${size}`);
    const kept = await opened;
    t.true(kept.length === 2 && kept[0].equals(message.payload) && kept[1].equals(behind.payload));
    peer.socket.destroy();
  }
}

async function testAtOnce(t, world, compression) {
  for (const form of ['message', 'fragments']) {
    const pair = await openEcho(world, compression);
    const sent = AT_ONCE.map(messageOf);
    const bytes = Buffer.concat(sent.map((message) => pair.frames[form](message)));
    pair.peer.socket.write(bytes);
    for (const message of sent) await expect(t, pair, message, `${form}, all at once`);
    for (const [index, { payload }] of sent.entries()) t.true(pair.kept[index].equals(payload), `${form}: kept`);
  }
}

/** The content of the other types of messages. */
const TYPES = {
  arraybuffer: (data) => Buffer.from(data),
  fragments: (data) => Buffer.concat(data),
  blob: async (data) => Buffer.from(await data.arrayBuffer()),
};

async function testTypes(t, world, compression, sizes) {
  const { ws, peer, frames } = await world.open().then((pair) => ({ ...pair, frames: new Frames(compression) }));
  for (const [type, toBuffer] of Object.entries(TYPES)) {
    ws.binaryType = type;
    for (const size of sizes) {
      const { payload } = messageOf(size, 1);
      const got = once(ws, 'message');
      peer.socket.write(frames.fragments({ opcode: BINARY, payload }));
      const [data] = await got;
      t.true((await toBuffer(data)).equals(payload), `${type}, ${size}`);
    }
  }
}

/** Through `createWebSocketStream`, which pauses and cuts at any place. */
async function testStream(t, world, compression, sizes) {
  const { ws, peer } = await world.open();
  const stream = createWebSocketStream(ws);
  const frames = new Frames(compression);
  const sent = sizes.map((size) => messageOf(size, 1).payload);
  peer.socket.write(Buffer.concat(sent.map((payload) => frames.message({ opcode: BINARY, payload }))));
  const expected = Buffer.concat(sent);
  const got = [];
  let length = 0;
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    got.push(chunk);
    length += chunk.length;
    if (length >= expected.length) break;
  }
  t.true(Buffer.concat(got).equals(expected));
}

async function testControls(t, world) {
  const pair = await world.open();
  const frames = new Frames('plain');
  for (const size of SIZES.filter((length) => length <= CONTROL_BYTES)) {
    for (const [opcode, event] of [
      [PING, 'ping'],
      [PONG, 'pong'],
    ]) {
      const payload = payloadOf(size);
      const got = once(pair.ws, event);
      await writePieces(pair.peer.socket, frames.one(opcode, payload));
      t.true((await got)[0].equals(payload), `${event}, ${size}`);
      if (opcode === PING) await expect(t, pair, { opcode: PONG, payload }, `pong, ${size}`);
    }
  }
  for (const size of SIZES.filter((length) => length <= REASON_BYTES)) {
    const { ws, peer, messages } = await world.open();
    const body = Buffer.concat([Buffer.from([0x0b, 0xb8]), payloadOf(size)]);
    const closed = once(ws, 'close');
    peer.socket.write(frames.one(CLOSE, body));
    await expect(t, { messages }, { opcode: CLOSE, payload: body }, `close, ${size}`);
    peer.socket.end();
    const [code, reason] = await closed;
    t.true(code === 3000 && reason.equals(payloadOf(size)), `close, ${size}`);
  }
}

for (const way of WAYS_IN) {
  for (const [compression, perMessageDeflate] of Object.entries(COMPRESSION)) {
    test.serial(`${way}, ${compression}: every form, every length`, async (t) => {
      const world = await World.start(t, way, { perMessageDeflate });
      const sizes = perMessageDeflate ? COMPRESSED : SIZES;
      await testForms(t, world, compression, sizes);
      await testAtOnce(t, world, compression);
      await testEarly(t, world, compression, FEW_SIZES.filter((size) => sizes.includes(size)));
      await testTypes(t, world, compression, sizes);
      await testStream(t, world, compression, AT_ONCE);
      if (!perMessageDeflate) await testControls(t, world);
    });
  }
}
