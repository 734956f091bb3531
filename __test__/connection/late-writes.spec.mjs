// Writes when the connection takes nothing any more: no callback reports that they have left.
import { once } from 'node:events';

import { BytePeer, allWays as everyWay, frame, implementation, test } from '../helpers/index.mjs';

const { Sender } = implementation;

const WRITES = {
  'sendFrame()': (ws, payload, done) => {
    ws._sender.sendFrame(Sender.frame(payload, { fin: true, rsv1: false, opcode: 2, mask: false, readOnly: true }), done);
  },
  '_socket.write()': (ws, payload, done) => ws._socket.write(payload, done),
};

for (const [name, write] of Object.entries(WRITES)) {
  everyWay(test, `${name} after the closing handshake fails`, async (t, start) => {
    const server = await start(t);
    const connected = once(server, 'connection');
    const peer = await BytePeer.connect(t, server.address());
    await peer.upgrade();
    const [ws] = await connected;
    ws._socket.on('error', () => {});
    peer.socket.write(frame(8));
    // It is answered, and the server's side is ended; ours is not, so the connection is there.
    t.is((await peer.readToEnd()).toString('hex'), '8800');
    const called = [10, 70_000].map((size) => new Promise((resolve) => write(ws, Buffer.alloc(size), resolve)));
    // The write may be reported with the end of the connection.
    peer.socket.end();
    for (const error of await Promise.all(called)) t.true(error instanceof Error, `${error}`);
  });
}
