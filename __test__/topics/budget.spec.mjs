// The budget of all histories: the first server with one decides it for the process.
import { openRoom, test } from '../helpers/index.mjs';

const REACTORS = Number(process.env.REACTOR_WS_REACTORS) || 1;
/** The budget of each reactor, which has all histories. */
const SHARE = 1024 * 1024;
const SIZE = 16 * 1024;

test('above historyBudget the topic with the oldest last message gives way, its oldest messages first', async (t) => {
  const { server, all } = await openRoom(t, 'port', 1, { historyBudget: REACTORS * SHARE, topicOptions: () => ({ history: 1000 }) });
  const publish = (topic, count) => {
    for (let n = 0; n < count; n++) server.publish(topic, Buffer.alloc(SIZE));
  };
  const offsets = async (topic) => (await server.history(topic)).messages.map(({ position }) => position.offset);
  const isWhole = (list, top) => list.every((offset, n) => offset === top - list.length + 1 + n);

  // As many as there is room for.
  publish('old', 100);
  const most = await offsets('old');
  t.true(isWhole(most, 100));
  t.true(most.length * SIZE <= SHARE && (most.length + 3) * SIZE > SHARE, `${most.length}`);

  // Messages of other topics take room from this history, and from no other.
  publish('new', 10);
  const left = await offsets('old');
  t.true(isWhole(left, 100));
  t.true(left.length >= most.length - 11 && left.length <= most.length - 9, `${left.length}`);
  t.is((await offsets('new')).length, 10);
  publish('old', 1);
  t.is((await offsets('old')).at(-1), 101);
  t.true((await offsets('new')).length < 10, 'the other one has the oldest last message now');

  // A topic that has lost all its messages still has its position.
  publish('new', 100);
  t.deepEqual(await offsets('old'), []);
  const { position } = await server.history('old', { since: 'oldest' });
  t.is(position.offset, 101);
  const subscribe = (since) => new Promise((resolve) => all[0].ws.subscribe('old', { since }, resolve));
  t.deepEqual(await subscribe(position), { recovered: true, position, replayed: 0 });
  all[0].ws.unsubscribe('old');
  t.false((await subscribe({ ...position, offset: 100 })).recovered);
});
