// A check of two clients of one Yjs document.
import assert from 'node:assert/strict';

const LONG = 'a longer paragraph. '.repeat(20_000);

/** Both documents write at the same time; afterwards they are the same, and have everything. */
export async function converge(first, second) {
  for (let index = 0; index < 200; index++) {
    first.getText('text').insert(0, 'a');
    second.getText('text').insert(0, 'b');
    first.getMap('map').set(`first ${index}`, index);
    second.getMap('map').set(`second ${index}`, index);
  }
  first.getArray('list').push([new Uint8Array([1, 2, 3])]);
  second.getText('long').insert(0, LONG);
  const done = (doc) => doc.getText('text').length === 400 && doc.getText('long').length === LONG.length;
  const whole = (doc) => done(doc) && doc.getMap('map').size === 400 && doc.getArray('list').length === 1;
  await Promise.all([first, second].map((doc) => until(doc, 'update', () => whole(doc))));
  assert.equal(first.getText('text').toString(), second.getText('text').toString());
  assert.deepEqual(first.getMap('map').toJSON(), second.getMap('map').toJSON());
  assert.deepEqual(second.getArray('list').get(0), new Uint8Array([1, 2, 3]));
  assert.equal(first.getText('long').toString(), LONG);
}

/** The event that makes a condition true, if it is not yet. */
export function until(emitter, event, isTrue) {
  if (isTrue()) return undefined;
  return new Promise((resolve) => {
    emitter.on(event, function check() {
      if (!isTrue()) return;
      emitter.off(event, check);
      resolve();
    });
  });
}
