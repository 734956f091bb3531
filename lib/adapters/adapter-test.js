'use strict';

// The contract of adapters, as cases for any test runner. An adapter that passes them works with a server.

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');

/** @import { Adapter, HistorySettings } from '../../types/adapter' */
/** @import { AdapterCase, AdapterTestOptions } from '../../types/adapter-test' */
/** @import { Position } from '../../types/topics' */

/** Milliseconds within which a message must arrive. */
const TIMEOUT = 10_000;

/** Every adapter must keep all of these distinct. */
const NAMES = ['', ' ', 'a b', 'a\nb', 'a\r\nb', '\0', '*', '>', 'a.>', 'a.b', '.', '{a}', '}{', '{}', '}', '\ud800', '\udc00', '\udc00\ud800', '\ufffd', '\ufffdd800', '\ufffd\ufffd', '\u{1f600}', '~', '%', 'a/b', '..', 'x'.repeat(65_536), `${'x'.repeat(65_535)}y`, 'Ä', 'A\u0308', 'ä'];

const LENGTHS = [1, 14, 125, 126, 1000, 16_383, 65_535, 65_536, 300_000];

/** @type {HistorySettings} */
const KEPT = { size: 10, ttl: 60_000, positionTtl: 60_000 };

/** A node without a server. */
class Probe {
  /** @param {Adapter} adapter */
  constructor(adapter) {
    this.adapter = adapter;
    /** @type {Array<{ topic: string, bytes: Buffer, position: Position | undefined }>} */
    this.received = [];
    this.losses = 0;
  }

  start() {
    return this.adapter.start({
      id: randomBytes(6).toString('hex'),
      // Not copied: the adapter must not use the memory again.
      deliver: (topic, bytes, position) => void this.received.push({ topic, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), position }),
      lost: () => void this.losses++,
      report() {},
    });
  }

  /** Waits for a message with this text. @param {string} text */
  async until(text) {
    let end = Date.now() + TIMEOUT;
    for (let seen = 0; ; ) {
      // A slow machine has until none comes any more.
      if (seen < this.received.length) end = Date.now() + TIMEOUT;
      while (seen < this.received.length) if (this.received[seen++].bytes.toString() === text) return;
      if (Date.now() > end) assert.fail(`${JSON.stringify(text)} has not come; ${this.received.length} messages have`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** @param {string} [topic] */
  texts(topic) {
    return this.received.filter((one) => topic === undefined || one.topic === topic).map(({ bytes }) => bytes.toString());
  }

  /** @type {(topic: string, text: string, history?: HistorySettings) => Promise<Position | undefined>} */
  async publish(topic, text, history) {
    const position = await this.adapter.publish(topic, Buffer.from(text), history === undefined ? {} : { history });
    return position ?? undefined;
  }
}

/** A topic for one case: nodes of other cases can still exist. @param {string} name */
const own = (name) => `${name}:${randomBytes(6).toString('hex')}`;

/** @typedef {(open: () => Promise<Probe>) => Promise<void>} Run */

/** @type {Array<[string, Run]>} */
const CASES = [
  ['a message gets to each node that has subscribed, once', async (open) => {
    const [a, b, c, d] = [await open(), await open(), await open(), await open()];
    const topic = own('topic');
    await Promise.all([a, b, c].map(({ adapter }) => adapter.subscribe([topic])));
    await a.publish(topic, 'one');
    await a.publish(topic, 'end');
    for (const node of [b, c]) {
      await node.until('end');
      assert.deepEqual(node.texts(topic), ['one', 'end']);
    }
    assert.deepEqual(d.texts(), []);
    assert.equal(a.losses + b.losses + c.losses + d.losses, 0);
  }],
  ['a node that has unsubscribed gets no more messages, and may subscribe again', async (open) => {
    const [a, b] = [await open(), await open()];
    const [topic, mark] = [own('topic'), own('mark')];
    await b.adapter.subscribe([topic, mark]);
    await a.publish(topic, 'before');
    await b.until('before');
    await b.adapter.unsubscribe([topic]);
    await b.adapter.subscribe([own('other')]);
    await a.publish(topic, 'between');
    await a.publish(mark, 'mark');
    await b.until('mark');
    assert.deepEqual(b.texts(topic), ['before']);
    await b.adapter.subscribe([topic]);
    await a.publish(topic, 'after');
    await b.until('after');
    assert.deepEqual(b.texts(topic), ['before', 'after']);
  }],
  ['the last of several calls at once decides', async (open) => {
    const [a, b] = [await open(), await open()];
    const [on, off, mark] = [own('on'), own('off'), own('mark')];
    await Promise.all([
      b.adapter.subscribe([on, off]),
      b.adapter.unsubscribe([on, off]),
      b.adapter.subscribe([on]),
      b.adapter.subscribe([off, mark]),
      b.adapter.unsubscribe([off]),
      b.adapter.subscribe([own('other')]),
    ]);
    await a.publish(off, 'off');
    await a.publish(on, 'on');
    await a.publish(mark, 'mark');
    await b.until('on');
    await b.until('mark');
    assert.deepEqual([b.texts(on), b.texts(off)], [['on'], []]);
  }],
  ['any string is a topic of its own', async (open) => {
    const [a, b] = [await open(), await open()];
    const [before, after] = [own('before'), own('after')];
    const topics = [...NAMES.map((name) => before + name), ...NAMES.map((name) => name + after)];
    await b.adapter.subscribe(topics);
    for (const [index, topic] of topics.entries()) await a.publish(topic, String(index));
    await Promise.all(topics.map((_, index) => b.until(String(index))));
    for (const [index, topic] of topics.entries()) assert.deepEqual(b.texts(topic), [String(index)], JSON.stringify(topic.slice(0, 100)));
    assert.equal(b.received.length, topics.length);
  }],
  ['bytes come as they were', async (open) => {
    const [a, b] = [await open(), await open()];
    const topic = own('topic');
    await b.adapter.subscribe([topic]);
    const messages = [Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), ...LENGTHS.map((length) => randomBytes(length))];
    for (const bytes of messages) await a.adapter.publish(topic, bytes, {});
    await a.publish(topic, 'end');
    await b.until('end');
    for (const [index, bytes] of messages.entries()) assert(b.received[index].bytes.equals(bytes), `message ${index}`);
  }],
  ['the messages of a node in a topic stay in order', async (open) => {
    const nodes = [await open(), await open(), await open()];
    const topics = [own('one'), own('two')];
    await Promise.all(nodes.map(({ adapter }) => adapter.subscribe(topics)));
    const textsOf = (/** @type {number} */ index, /** @type {string} */ topic) => [...Array.from({ length: 500 }, (_, n) => `${index} ${n}`), `${index} ${topic}`];
    await Promise.all(nodes.flatMap((node, index) => topics.flatMap((topic) => textsOf(index, topic).map((text) => node.publish(topic, text)))));
    for (const [index, node] of nodes.entries()) {
      for (const other of nodes.keys()) {
        if (other === index) continue;
        for (const topic of topics) {
          await node.until(`${other} ${topic}`);
          assert.deepEqual(node.texts(topic).filter((text) => text.startsWith(`${other} `)), textsOf(other, topic));
        }
      }
    }
  }],
  ['a node may be in many topics', async (open) => {
    const [a, b] = [await open(), await open()];
    const topics = Array.from({ length: 2000 }, (_, index) => own(String(index)));
    await b.adapter.subscribe(topics);
    await Promise.all(topics.map((topic, index) => a.publish(topic, String(index))));
    for (const index of topics.keys()) await b.until(String(index));
    assert.equal(b.received.length, topics.length);
    await b.adapter.unsubscribe(topics);
  }],
  ['after close() nothing comes, and others go on', async (open) => {
    const [a, b, c] = [await open(), await open(), await open()];
    const topic = own('topic');
    await b.adapter.subscribe([topic]);
    await c.adapter.subscribe([topic]);
    await b.adapter.close();
    await b.adapter.close();
    await a.publish(topic, 'after');
    await c.until('after');
    assert.deepEqual(b.texts(), []);
    assert.equal(c.losses, 0);
  }],
  ['an adapter belongs to one node', async (open) => {
    const node = await open();
    await assert.rejects(async () => node.start());
  }],
];

/** @type {Array<[string, Run]>} */
const OF_HISTORY = [
  ['all nodes see the same positions, the publisher included', async (open) => {
    const [a, b] = [await open(), await open()];
    const topic = own('topic');
    await Promise.all([a, b].map(({ adapter }) => adapter.subscribe([topic])));
    const given = await Promise.all(Array.from({ length: 100 }, (_, n) => a.publish(topic, String(n), KEPT)));
    await a.until('99');
    await b.until('99');
    const epoch = given[0]?.epoch;
    const wanted = given.map((_, n) => [String(n), { epoch, offset: n + 1 }]);
    assert.equal(typeof epoch, 'string');
    assert.deepEqual(given, wanted.map(([, position]) => position));
    for (const node of [a, b]) assert.deepEqual(node.received.map(({ bytes, position }) => [bytes.toString(), position]), wanted);
  }],
  ['several publishers have one order', async (open) => {
    const nodes = [await open(), await open(), await open()];
    const topic = own('topic');
    await Promise.all(nodes.map(({ adapter }) => adapter.subscribe([topic])));
    await Promise.all(nodes.flatMap((node, index) => Array.from({ length: 200 }, (_, n) => node.publish(topic, `${index} ${n}`, KEPT))));
    await nodes[0].publish(topic, 'end', KEPT);
    const [first, ...others] = await Promise.all(nodes.map(async (node) => {
      await node.until('end');
      return node.texts(topic);
    }));
    assert.equal(first.length, 601);
    for (const other of others) assert.deepEqual(other, first);
    for (const node of nodes) assert.deepEqual(node.received.map(({ position }) => position?.offset), first.map((_, index) => index + 1));
    for (const index of nodes.keys()) {
      assert.deepEqual(first.filter((text) => text.startsWith(`${index} `)), Array.from({ length: 200 }, (_, n) => `${index} ${n}`));
    }
  }],
  ['a history is read from a position on, in pages, and says when something is missing', async (open) => {
    const [a, b] = [await open(), await open()];
    const topic = own('topic');
    const read = async (/** @type {Position | 'oldest' | 'latest'} */ since, /** @type {number} */ limit) => {
      const page = await /** @type {Required<Adapter>} */ (b.adapter).history(topic, since, limit, KEPT);
      return { recovered: page.recovered, offset: page.position.offset, epoch: page.position.epoch, texts: page.messages.map(({ bytes, position }) => `${bytes}@${position.offset}`) };
    };
    const before = await read('oldest', 100);
    assert.deepEqual([before.recovered, before.offset, before.texts], [true, 0, []]);
    for (let n = 1; n <= 15; n++) await a.publish(topic, String(n), KEPT);
    const { epoch } = before;
    const all = Array.from({ length: 10 }, (_, index) => `${index + 6}@${index + 6}`);
    const rest = { epoch, offset: 15 };
    assert.deepEqual(await read('oldest', 100), { recovered: true, ...rest, texts: all });
    assert.deepEqual(await read('oldest', 3), { recovered: true, ...rest, texts: all.slice(0, 3) });
    assert.deepEqual(await read('latest', 100), { recovered: true, ...rest, texts: [] });
    assert.deepEqual(await read({ epoch, offset: 15 }, 100), { recovered: true, ...rest, texts: [] });
    assert.deepEqual(await read({ epoch, offset: 12 }, 2), { recovered: true, ...rest, texts: ['13@13', '14@14'] });
    assert.deepEqual(await read({ epoch, offset: 5 }, 100), { recovered: true, ...rest, texts: all });
    assert.deepEqual(await read({ epoch, offset: 4 }, 100), { recovered: false, ...rest, texts: [] });
    assert.deepEqual(await read({ epoch: 'another', offset: 12 }, 100), { recovered: false, ...rest, texts: [] });
    // The broker has lost a message that a subscriber has.
    const lost = await read({ epoch, offset: 16 }, 100);
    assert.deepEqual([lost.recovered, lost.texts], [false, []]);
    assert.notEqual(lost.epoch, epoch);
    const next = await a.publish(topic, 'next', KEPT);
    assert.equal(next?.epoch, lost.epoch);
    assert.equal((await read({ epoch, offset: 15 }, 100)).recovered, false);
  }],
  ['any string has a history of its own', async (open) => {
    const [a] = [await open()];
    const suffix = own('');
    const topics = NAMES.map((name) => name + suffix);
    for (const [index, topic] of topics.entries()) assert.equal((await a.publish(topic, String(index), KEPT))?.offset, 1, JSON.stringify(topic.slice(0, 100)));
    for (const [index, topic] of topics.entries()) {
      const page = await /** @type {Required<Adapter>} */ (a.adapter).history(topic, 'oldest', 10, KEPT);
      assert.deepEqual(page.messages.map(({ bytes }) => bytes.toString()), [String(index)]);
    }
  }],
];

/** @type {(make: () => Adapter | Promise<Adapter>, options?: AdapterTestOptions) => AdapterCase[]} */
function adapterTests(make, { history } = {}) {
  const wanted = history === true ? [...CASES, ...OF_HISTORY] : CASES;
  return wanted.map(([name, run]) => ({
    name,
    async run() {
      /** @type {Adapter[]} */
      const opened = [];
      // An adapter need not keep the process alive.
      const alive = setInterval(() => {}, TIMEOUT);
      try {
        await run(async () => {
          const probe = new Probe(await make());
          opened.push(probe.adapter);
          await probe.start();
          return probe;
        });
      } finally {
        await Promise.all(opened.map((adapter) => adapter.close()));
        clearInterval(alive);
      }
    },
  }));
}

module.exports = { adapterTests };
