// Messages to a member that does not read, which must not affect the others.
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';

import { heardBy, openRoom, test } from '../helpers/index.mjs';

const WAYS = ['port', 'server', 'stream'];
const SIZE = 64 * 1024;
const LIMIT = 256 * 1024;
const COUNT = 220;

/** A server with a topic, a member that reads, and one that waits for `client._socket.resume()`. */
async function openStalled(t, way, settings) {
  // Each reactor has its share of the budget, and several of these tests run at once.
  const topicOptions = () => ({ limit: LIMIT, ...settings });
  // A client that is closed for being slow reads that at the end of the test, however long it takes.
  const { server, all } = await openRoom(t, way, 2, { historyBudget: 0, closeTimeout: 600_000, topicOptions });
  const [live, stalled] = all;
  for (const { ws } of all) ws.subscribe('room');
  stalled.client._socket.pause();
  const dropped = [];
  const gaps = [];
  stalled.ws.on('dropped', (topic, count) => dropped.push(count));
  stalled.ws.on('gap', (topic, from, to) => gaps.push([from.offset, to.offset]));
  live.ws.on('dropped', () => t.fail('nothing of the live one is dropped'));
  return { server, live, stalled, dropped, gaps };
}

/** Publishes numbers, more than the kernel takes, as fast as `live` reads. */
async function publishMany(server, live, { count = COUNT, options = () => ({}), from = 0 } = {}) {
  for (let n = from; n < from + count; n++) {
    server.publish('room', `${n} `.padEnd(SIZE, 'x'), options(n));
    await heardOf(live, n);
  }
}

/** Resolves when the client has got this number, or a later one. */
async function heardOf({ client, heard }, n) {
  while (heard.length === 0 || !(Number.parseInt(heard.at(-1), 10) >= n)) await once(client, 'message');
}

const numbers = (heard) => heard.map((text) => Number.parseInt(text, 10));
const upTo = (count) => Array.from({ length: count }, (_, n) => n);

const numbersOf = async (member) => numbers((await heardBy(member))[0]);

/** Lets a stalled client read, until nothing more comes for it. */
async function readAll(member) {
  member.client._socket.resume();
  while (member.ws.bufferedAmount !== 0) await turn();
  return numbersOf(member);
}

for (const way of WAYS) {
  test(`${way}: 'drop' drops what does not fit, and says so; sends are not dropped`, async (t) => {
    const { server, live, stalled, dropped } = await openStalled(t, way, { slow: 'drop' });
    await publishMany(server, live);
    t.deepEqual(await numbersOf(live), upTo(COUNT));
    const { bufferedAmount } = stalled.ws;
    t.true(bufferedAmount > LIMIT - SIZE && bufferedAmount <= LIMIT + 3 * SIZE, `${bufferedAmount}`);
    stalled.ws.send('-1');
    const controls = [once(stalled.client, 'ping'), once(stalled.client, 'pong')];
    stalled.ws.ping();
    stalled.ws.pong();
    const heard = await readAll(stalled);
    await Promise.all(controls);
    t.is(heard.pop(), -1);
    t.deepEqual(heard, [...heard].sort((a, b) => a - b));
    const sum = dropped.reduce((a, b) => a + b, 0);
    t.true(sum > 0);
    t.is(heard.length + sum, COUNT);
    t.deepEqual(server.metrics().dropped, { room: sum });
    // Then the member is like the others.
    await publishMany(server, live, { count: 1, from: COUNT });
    t.deepEqual(await numbersOf(stalled), [COUNT]);
  });

  test(`${way}: 'latest' keeps the last of each key, which it tells apart, in order`, async (t) => {
    const { server, live, stalled, dropped } = await openStalled(t, way, { slow: 'latest' });
    await publishMany(server, live, { options: (n) => ({ key: String(n % 3) }) });
    t.deepEqual(await numbersOf(live), upTo(COUNT));
    t.true(stalled.ws.bufferedAmount <= LIMIT + 3 * SIZE, `${stalled.ws.bufferedAmount}`);
    const keys = ['\u{d800}', '\u{d801}', '\u{fffd}', ''];
    for (const [n, key] of keys.entries()) server.publish('room', String(COUNT + n), { key });
    const count = COUNT + keys.length;
    stalled.client._socket.resume();
    await heardOf(stalled, count - 1);
    const heard = await numbersOf(stalled);
    t.deepEqual(heard.slice(-7), upTo(count).slice(-7));
    t.deepEqual(heard, [...heard].sort((a, b) => a - b));
    t.is(heard.length + dropped.reduce((a, b) => a + b, 0), count);
  });

  test(`${way}: 'catch-up' serves it from the history`, async (t) => {
    const { server, live, stalled, gaps } = await openStalled(t, way, { slow: 'catch-up', history: COUNT });
    await publishMany(server, live);
    t.deepEqual(await numbersOf(live), upTo(COUNT));
    t.true(stalled.ws.bufferedAmount <= LIMIT + 3 * SIZE, `${stalled.ws.bufferedAmount}`);
    stalled.client._socket.resume();
    while (stalled.heard.length < COUNT) await once(stalled.client, 'message');
    await publishMany(server, live, { count: 1, from: COUNT });
    t.deepEqual(await numbersOf(stalled), upTo(COUNT + 1));
    t.deepEqual(gaps, []);
  });

  for (const slow of ['latest', 'catch-up']) {
    test(`${way}: '${slow}' keeps the order when a Blob is read meanwhile`, async (t) => {
      const { server, live, stalled } = await openStalled(t, way, { slow, history: 2 * COUNT });
      await publishMany(server, live, { options: (n) => ({ key: String(n) }) });
      stalled.ws.send(new Blob(['-1']));
      for (const n of [COUNT, COUNT + 1]) t.is(server.publish('room', String(n), { key: String(n) }), 2);
      await heardOf(live, COUNT + 1);
      while (stalled.ws._extra.lateBytes !== 0) await turn();
      server.publish('room', String(COUNT + 2), { key: 'last' });
      stalled.client._socket.resume();
      await heardOf(stalled, COUNT + 2);
      const heard = (await numbersOf(stalled)).filter((n) => n !== -1);
      t.deepEqual(heard, upTo(COUNT + 3));
    });
  }

  for (const slow of ['drop', 'latest']) {
    test(`${way}: '${slow}' reports what the last member did not get, although the topic ends with it`, async (t) => {
      const { server, live, stalled, dropped } = await openStalled(t, way, { slow });
      await publishMany(server, live);
      live.ws.unsubscribe('room');
      for (let n = 0; n < 50; n++) server.publish('room', '0', { key: String(n % 2) });
      stalled.ws.unsubscribe('room');
      t.deepEqual([...server.topics()], []);
      const heard = await readAll(stalled);
      const sum = () => heard.length + dropped.reduce((a, b) => a + b, 0);
      while (sum() < COUNT + 50) await once(stalled.ws, 'dropped');
      t.is(sum(), COUNT + 50);
    });
  }

  test(`${way}: 'catch-up' bounds what waits for one that has come back and does not read`, async (t) => {
    const { server, live, stalled, gaps } = await openStalled(t, way, { slow: 'catch-up', history: COUNT });
    stalled.ws.unsubscribe('room');
    await publishMany(server, live);
    const { replayed } = await new Promise((resolve) => stalled.ws.subscribe('room', { since: 'oldest' }, resolve));
    t.is(replayed, COUNT);
    t.true(stalled.ws.bufferedAmount <= LIMIT + 3 * SIZE, `${stalled.ws.bufferedAmount}`);
    stalled.client._socket.resume();
    while (stalled.heard.length < COUNT) await once(stalled.client, 'message');
    await publishMany(server, live, { count: 1, from: COUNT });
    t.deepEqual([await numbersOf(stalled), gaps], [upTo(COUNT + 1), []]);
  });

  test(`${way}: 'close' closes it with 1013`, async (t) => {
    const { server, live, stalled } = await openStalled(t, way, { slow: 'close' });
    const closed = once(stalled.client, 'close');
    await publishMany(server, live);
    t.deepEqual(await numbersOf(live), upTo(COUNT));
    t.is(stalled.ws.readyState, stalled.ws.CLOSING);
    t.is(server.subscriberCount('room'), 1);
    stalled.client._socket.resume();
    const [code] = await closed;
    t.is(code, 1013);
    const heard = numbers(stalled.heard);
    t.deepEqual(heard, upTo(heard.length));
    if (stalled.ws.readyState !== stalled.ws.CLOSED) await once(stalled.ws, 'close');
    t.is(server.subscriberCount('room'), 1);
    t.is(stalled.ws.closeCause, 'slow');
  });
}

test('what is dropped is reported once in 10 ms, not with each message', async (t) => {
  const { server, live, dropped } = await openStalled(t, 'port', { slow: 'drop' });
  await publishMany(server, live);
  const [before, begun, count] = [dropped.length, performance.now(), 300];
  for (let n = 0; n < count; n++) {
    server.publish('room', String(n));
    await turn();
  }
  const most = (performance.now() - begun) / 10 + 3;
  const reports = dropped.length - before;
  t.true(reports <= most, `${reports} reports`);
  const sum = () => dropped.reduce((all, one) => all + one, 0);
  while (sum() !== server.metrics().dropped.room || sum() < count) await turn();
  t.pass();
});
