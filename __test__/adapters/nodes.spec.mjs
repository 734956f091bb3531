// Topics of several servers, over each broker: a message published on one gets to the subscribers of all.
import { once } from 'node:events';

import test from 'ava';

import { BRIEF, BROKERS, hears, openNode, subscribe } from '../helpers/nodes.mjs';

const KEPT = { topicOptions: () => ({ history: 100 }) };

for (const [way, make] of Object.entries({ ...BROKERS, ...BRIEF })) {
  test(`${way}: all subscribers get all that is published, whatever it is`, async (t) => {
    const adapter = await make(t);
    const [a, b] = [await openNode(t, adapter(), 2), await openNode(t, adapter(), 2)];
    for (const { ws } of [...a.members, ...b.members]) await subscribe(ws, 'topic');
    const long = 'x'.repeat(100_000);
    const all = ['text', Buffer.from([1, 2]), '', Buffer.alloc(0), long, 'ready', 'ä', 12];
    const wanted = ['text', Buffer.from([1, 2]), '', Buffer.alloc(0), long, 'ready', 'ä', '12'];
    for (const data of all) t.is(a.server.publish('topic', data), 2);
    a.server.publish('topic', 'asBytes', { binary: true });
    a.server.publish('topic', 'end');
    for (const member of [...a.members, ...b.members]) {
      await hears(member, 'end');
      t.deepEqual(member.heard, [...wanted, Buffer.from('asBytes'), 'end']);
    }
    const { received, sent, failed, gaps } = b.server.metrics().adapter;
    t.deepEqual([received, sent, failed, gaps], [10, 0, 0, 0]);
  });

  test(`${way}: the publisher and those that are excepted do not get it, others do`, async (t) => {
    const adapter = await make(t);
    const [a, b] = [await openNode(t, adapter(), 3, KEPT), await openNode(t, adapter(), 1, KEPT)];
    const everyone = [...a.members, ...b.members];
    for (const { ws } of everyone) await subscribe(ws, 'topic');
    const [one, two, three] = a.members;
    t.is(one.ws.publish('topic', 'not one', { except: two.ws }), 1);
    t.is(a.server.publish('topic', 'not three', { except: three.ws }), 2);
    a.server.publish('topic', 'end');
    for (const member of everyone) await hears(member, 'end');
    t.deepEqual(everyone.map(({ heard }) => heard), [['not three', 'end'], ['not three', 'end'], ['not one', 'end'], ['not one', 'not three', 'end']]);
  });

  test(`${way}: a subscriber gets what is published after it in the same tick`, async (t) => {
    const adapter = await make(t);
    for (const options of [{}, KEPT]) {
      const a = await openNode(t, adapter(), 1, options);
      const topic = JSON.stringify(options);
      const [member] = a.members;
      a.server.publish(topic, 'before');
      member.ws.subscribe(topic);
      a.server.publish(topic, 'one');
      a.server.publish(topic, 'two');
      await hears(member, 'two');
      t.deepEqual(member.heard.filter((text) => text !== 'before'), ['one', 'two']);
    }
  });

  test(`${way}: a node that has nobody in a topic hears nothing of it`, async (t) => {
    const adapter = await make(t);
    const [a, b] = [await openNode(t, adapter()), await openNode(t, adapter())];
    await subscribe(b.members[0].ws, 'other');
    for (let n = 0; n < 10; n++) a.server.publish('topic', 'no');
    a.server.publish('other', 'yes');
    await hears(b.members[0], 'yes');
    t.is(b.server.metrics().adapter.received, 1);
    t.is(b.server.metrics().adapter.topics, 1);
  });
}

for (const [way, make] of Object.entries(BROKERS)) {
  test(`${way}: positions are the same on all nodes, and a subscriber may go on elsewhere`, async (t) => {
    const adapter = await make(t);
    const [a, b, c] = [await openNode(t, adapter(), 1, KEPT), await openNode(t, adapter(), 1, KEPT), await openNode(t, adapter(), 1, KEPT)];
    const results = [];
    for (const { members: [{ ws }] } of [a, b]) results.push(await subscribe(ws, 'topic'));
    t.deepEqual(results[0], results[1]);
    t.is(results[0].position.offset, 0);
    const { epoch } = results[0].position;
    for (let n = 1; n <= 20; n++) (n % 2 ? a : b).server.publish('topic', String(n));
    const texts = Array.from({ length: 20 }, (_, n) => String(n + 1));
    for (const text of texts) for (const { members: [member] } of [a, b]) await hears(member, text);
    t.deepEqual(a.members[0].heard, b.members[0].heard, 'one order');
    const order = [...a.members[0].heard];
    const [member] = c.members;
    const since = { epoch, offset: 12 };
    t.deepEqual(await subscribe(member.ws, 'topic', { since }), { recovered: true, position: { epoch, offset: 20 }, replayed: 8 });
    c.server.publish('topic', 'live');
    await hears(member, 'live');
    t.deepEqual(member.heard, [...order.slice(12), 'live']);
    const cases = [
      [{ epoch, offset: 22 }, false, 0],
      [{ epoch: 'another', offset: 2 }, false, 0],
      ['oldest', true, 21],
      [{ epoch, offset: 21 }, true, 0],
    ];
    for (const [from, recovered, replayed] of cases) {
      member.ws.unsubscribe('topic');
      t.deepEqual(await subscribe(member.ws, 'topic', { since: from }), { recovered, position: { epoch, offset: 21 }, replayed });
    }
    const history = await c.server.history('topic', { since, limit: 3 });
    t.deepEqual(history.messages.map(({ data, position }) => [data.toString(), position.offset]), order.slice(12, 15).map((text, index) => [text, 13 + index]));
    const d = await openNode(t, adapter(), 0, KEPT);
    t.deepEqual(await d.server.history('topic', { since, limit: 3 }), history, 'nobody subscribes there');
    t.is((await d.server.history('topic', { since: { epoch: 'x', offset: 1 } })).recovered, false);
    t.deepEqual((await d.server.history('nothing')).messages, []);
  });

  test(`${way}: a replay and what is published meanwhile make one row`, async (t) => {
    const adapter = await make(t);
    const options = { topicOptions: () => ({ history: 10_000 }) };
    const [a, b] = [await openNode(t, adapter(), 1, options), await openNode(t, adapter(), 8, options)];
    const { position } = await subscribe(a.members[0].ws, 'topic');
    const count = 3000;
    let n = 0;
    const publish = () => {
      for (let left = 50; left > 0 && n < count; left--) a.server.publish('topic', String(n++));
      if (n < count) setImmediate(publish);
    };
    publish();
    const joining = b.members.map(async (member, index) => {
      while (a.members[0].heard.length < index) await once(a.members[0].client, 'message');
      t.true((await subscribe(member.ws, 'topic', { since: position })).recovered);
    });
    await Promise.all(joining);
    const wanted = Array.from({ length: count }, (_, index) => String(index));
    for (const member of [...a.members, ...b.members]) {
      await hears(member, String(count - 1));
      t.deepEqual(member.heard, wanted);
    }
    t.is(b.server.metrics().adapter.gaps, 0);
  });

  test(`${way}: a key travels`, async (t) => {
    const adapter = await make(t);
    for (const history of [0, 10]) {
      const options = { topicOptions: () => ({ history, slow: 'latest', limit: 0 }) };
      const [a, b] = [await openNode(t, adapter(), 0, options), await openNode(t, adapter(), 1, options)];
      const topic = `keys ${history}`;
      const [{ client, heard, ws }] = b.members;
      await subscribe(ws, topic);
      client.pause();
      const filler = 'x'.repeat(8 * 2 ** 20);
      ws.send(filler);
      for (const [key, text] of [['a', 'a1'], ['\ud800', 'b1'], ['\ud801', 'c1'], ['a', 'a2'], ['\ud800', 'b2']]) a.server.publish(topic, text, { key });
      while (b.server.metrics().adapter.received < 5) await new Promise(setImmediate);
      while (b.server._topics.all.get(topic).offset < (history && 5)) await new Promise(setImmediate);
      client.resume();
      await hears({ client, heard }, 'b2');
      t.deepEqual(heard.filter((text) => text !== filler), ['c1', 'a2', 'b2']);
    }
  });
}
