// Faults that concern no other file: a text that is too long, a network that fails.
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { freemem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { openPair, ownOnLinuxSerial, ownSerial } from '../helpers/index.mjs';

const MIB = 2 ** 20;

// F21.
ownSerial('a text that is longer than a string can be is a Buffer like any other', async (t) => {
  const length = 600 * MIB;
  if (freemem() < 4 * length) return t.pass('too little memory for it');
  const { ws, client } = await openPair(t, { maxPayload: 0 });
  const message = once(ws, 'message');
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x25, 0x80, 0, 0, 0, 0, 0, 0]);
  client._socket.write(head);
  const piece = Buffer.alloc(MIB, 'x');
  for (let sent = 0; sent < length; sent += MIB) {
    if (!client._socket.write(piece)) await once(client._socket, 'drain');
  }
  const [data, isBinary] = await message;
  t.false(isBinary);
  t.is(data.length, length);
  t.true(data.subarray(-MIB).equals(piece));
  t.throws(() => data.toString(), { code: 'ERR_STRING_TOO_LONG' });
  ws.send('still there');
  t.is(String((await once(client, 'message'))[0]), 'still there');
});

// O12.
ownOnLinuxSerial('the network goes down and comes back: connections and the listener go on', async (t) => {
  const namespace = ['unshare', '--net', '--map-root-user'];
  if (spawnSync(namespace[0], [...namespace.slice(1), 'ip', 'link', 'set', 'lo', 'up']).status !== 0) {
    return t.pass('needs the right to make a network namespace, and ip');
  }
  const fixture = fileURLToPath(new URL('../fixtures/squeezed.mjs', import.meta.url));
  const words = [...namespace.slice(1), process.execPath, fixture];
  const { stdout, stderr } = await promisify(execFile)(namespace[0], words, { timeout: 60_000 });
  t.deepEqual([stdout, stderr], ['while it is down\na new one comes in\n', '']);
});
