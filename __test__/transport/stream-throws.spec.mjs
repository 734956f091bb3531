// A handler that throws while a stream begins to flow again: Node leaves the bytes that it has read there.
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { TOPIC_WAYS, catchUncaught, connectTo, implementation, ownSerial, startServer, urlOf } from '../helpers/index.mjs';

/** Both ends of a connection whose receiver has a stream. */
const RECEIVERS = {
  async https(t) {
    const { ws, client } = await connectTo(t, await TOPIC_WAYS.https(t));
    return { receiver: ws, sender: client };
  },
  async client(t) {
    const server = await startServer(t);
    const receiver = new implementation.WebSocket(urlOf(server));
    t.teardown(() => receiver.terminate());
    const [[sender]] = await Promise.all([once(server, 'connection'), once(receiver, 'open')]);
    return { receiver, sender };
  },
};

// A Receiver of ws takes nothing more after a listener that throws.
for (const [way, open] of Object.entries(RECEIVERS)) {
  ownSerial(`${way}: messages behind it come, also if the peer waits for them`, async (t) => {
    catchUncaught(t);
    const { receiver, sender } = await open(t);
    for (const thrower of [0, 1, 2]) {
      const seen = [];
      const thrown = once(process, 'uncaughtException');
      const all = new Promise((resolve) => {
        receiver.removeAllListeners('message').on('message', (data) => {
          if (seen.push(`${data}`) === 4) resolve();
          if (seen.length === thrower + 1) throw new Error('of a handler');
        });
      });
      receiver.pause();
      for (const text of ['a', 'b', 'c', 'd']) {
        // Each in a chunk of its own.
        const { bytesRead } = receiver._socket;
        sender.send(text);
        while (receiver._socket.bytesRead === bytesRead) await nextTurn();
      }
      receiver.resume();
      t.is((await thrown)[0].message, 'of a handler');
      await all;
      t.deepEqual(seen, ['a', 'b', 'c', 'd']);
    }
  });
}

ownSerial('a stream whose own pause() throws: the program gets that where it calls it, and nowhere else', async (t) => {
  const uncaught = catchUncaught(t);
  const { receiver, sender } = await RECEIVERS.client(t);
  const { _socket: socket } = receiver;
  socket.pause = () => {
    throw new Error('of pause');
  };
  t.throws(() => receiver.pause(), { message: 'of pause' });
  const { bytesRead } = socket;
  sender.send('a');
  while (socket.bytesRead === bytesRead) await nextTurn();
  await nextTurn();
  receiver.resume();
  const thrown = once(process, 'uncaughtException');
  receiver.on('message', () => {
    throw new Error('of a handler');
  });
  t.is((await thrown)[0].message, 'of a handler');
  t.is(uncaught.length, 1);
});
