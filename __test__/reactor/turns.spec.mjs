// Work for many clients, a share in each turn of the event loop: the order of service, as a model.
import { createRequire } from 'node:module';
import { AsyncLocalStorage } from 'node:async_hooks';

import test from 'ava';

const require = createRequire(import.meta.url);
const { Stint, Turns } = require('../../lib/duplex/turns.js');

const turn = () => new Promise(setImmediate);

/**
 * A client with `bytes` to be worked on in steps; logs its name for each run, and `done` behind the
 * last one.
 */
class Someone {
  constructor(log, name, bytes, step = 10) {
    Object.assign(this, { log, name, left: bytes, step, stint: new Stint() });
  }

  work(room) {
    const before = this.left;
    do this.left -= Math.min(this.step, this.left);
    while (this.left > 0 && before - this.left < room);
    this.stint.done = before - this.left;
    this.stint.isMore = this.left > 0;
    this.log.push(this.name, ...(this.left === 0 ? [`${this.name} done`] : []));
  }
}

const until = async (isTrue) => {
  while (!isTrue()) await turn();
};

test('what there is room for is done at once', (t) => {
  const log = [];
  const turns = new Turns({ bytes: 100, slice: 50, alternates: true });
  t.true(turns.enter(new Someone(log, 'a', 30)));
  t.true(turns.enter(new Someone(log, 'b', 40)));
  t.deepEqual(log, ['a', 'a done', 'b', 'b done']);
});

test('a turn does so much for all together, and one step more', async (t) => {
  for (const alternates of [true, false]) {
    const turns = new Turns({ bytes: 1000, slice: 100, alternates });
    const all = Array.from({ length: 100 }, (_, n) => new Someone([], n, 1000, 30));
    const left = () => all.reduce((sum, one) => sum + one.left, 0);
    const amounts = [];
    turns.onTurn = () => amounts.push(left());
    for (const one of all) turns.enter(one);
    amounts.unshift(100_000);
    await until(() => left() === 0);
    const done = amounts.map((amount, index) => amount - (amounts[index + 1] ?? 0));
    t.true(Math.max(...done) <= 1000 + 30, `${Math.max(...done)}`);
    t.true(amounts.length <= 110, `${amounts.length} turns`);
  }
});

test('a worker with little to do waits for none that has had more', async (t) => {
  for (const alternates of [true, false]) {
    const log = [];
    const turns = new Turns({ bytes: 1000, slice: 100, alternates });
    const all = Array.from({ length: 300 }, (_, n) => new Someone(log, n, 100_000, 50));
    for (const one of all) turns.enter(one);
    // Every client has had a slice by now.
    for (let n = 0; n < 100; n++) await turn();
    for (let n = 0; n < 20; n++) {
      log.length = 0;
      t.false(turns.enter(new Someone(log, 'little', 10)));
      await until(() => log.includes('little done'));
      t.true(log.indexOf('little') <= 1, log.join());
    }
    // As often as the client likes, as long as the sum is small.
    const often = new Someone(log, 'often', 10);
    for (let n = 0; n < 20; n++) {
      log.length = 0;
      often.left = 10;
      turns.enter(often);
      await until(() => log.includes('often done'));
      t.true(log.indexOf('often') <= 3, log.join());
    }
  }
});

test('those that are long are done one after the other, or alternately', async (t) => {
  for (const alternates of [true, false]) {
    const log = [];
    const turns = new Turns({ bytes: 100, slice: 100, alternates });
    const all = Array.from({ length: 10 }, (_, n) => new Someone(log, n, 2000));
    for (const one of all) turns.enter(one);
    await until(() => all.every((one) => one.left === 0));
    const begun = (name) => log.findIndex((entry, index) => entry === name && log.slice(0, index).includes(name));
    const ended = (name) => log.indexOf(`${name} done`);
    const overlapping = all.filter((_, n) => n > 0 && begun(n) < ended(n - 1)).length;
    t.is(overlapping, alternates ? 9 : 0, log.join());
  }
});

test('many that are short do not starve one that is long', async (t) => {
  const log = [];
  const turns = new Turns({ bytes: 1000, slice: 100, alternates: false });
  const long = new Someone(log, 'long', 50_000);
  turns.enter(long);
  let count = 0;
  while (long.left !== 0 && count++ < 300) {
    for (let n = 0; n < 30; n++) turns.enter(new Someone(log, `short${count}`, 90));
    await turn();
  }
  t.is(long.left, 0);
});

test('what one throws is no matter of the others, and nothing is lost', async (t) => {
  const log = [];
  const turns = new Turns({ bytes: 100, slice: 50, alternates: true });
  const failure = new Error('of one');
  const thrown = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  t.teardown(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  class Bad extends Someone {
    work(room) {
      super.work(room);
      throw failure;
    }
  }
  const bad = new Bad(log, 'bad', 300);
  const good = [1, 2, 3].map((n) => new Someone(log, n, 300));
  t.throws(() => turns.enter(bad), { is: failure });
  for (const one of good) turns.enter(one);
  await until(() => [...good, bad].every((one) => one.left === 0));
  t.true(thrown.length >= 2 && thrown.every((error) => error === failure));
});

test('each runs in the context in which it came', async (t) => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  class Asking extends Someone {
    work(room) {
      seen.push([this.name, storage.getStore()]);
      super.work(room);
    }
  }
  const turns = new Turns({ bytes: 100, slice: 50, alternates: true });
  const all = [1, 2, 3].map((n) => new Asking([], n, 200));
  for (const one of all) storage.run(one.name, () => turns.enter(one));
  const none = new Asking([], 'none', 200);
  turns.enter(none);
  await until(() => [...all, none].every((one) => one.left === 0));
  t.true(seen.every(([name, store]) => (name === 'none' ? store === undefined : store === name)), JSON.stringify(seen));
});

test('with many at once the first is the one that has had least', async (t) => {
  const log = [];
  const turns = new Turns({ bytes: 1, slice: 1000, alternates: true });
  turns.enter(new Someone(log, 'first', 1));
  const all = Array.from({ length: 500 }, (_, n) => {
    const one = new Someone(log, n, 1);
    one.stint.finish = (n * 7919) % 1009;
    return one;
  });
  for (const one of all) turns.enter(one);
  await until(() => all.every((one) => one.left === 0));
  const order = log.filter(Number.isInteger).map((n) => Math.max((n * 7919) % 1009, 0));
  const after = order.filter((finish) => finish > 65);
  t.deepEqual(after, [...after].sort((a, b) => a - b));
});
