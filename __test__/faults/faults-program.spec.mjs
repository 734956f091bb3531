// Faults of the program, row by row, on every way in: what becomes of the connection, and whether
// another client is served meanwhile. The rows are those of docs/faults.md.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';

import { WebSocket, frame } from '../helpers/clients.mjs';
import { Child, WAYS, isReference, ownOnLinuxSerial, ownSerial, test } from '../helpers/index.mjs';
import { canary, onEveryWay, pair } from '../helpers/under-attack.mjs';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';

onEveryWay(test.serial, {
  async 'J06: others are terminated in a handler'(t, { server }) {
    const all = [];
    for (let i = 0; i < 6; i++) all.push(await pair(t, server));
    const log = [];
    const gone = Promise.all(all.slice(1).map(({ ws }) => once(ws, 'close')));
    for (const { ws } of all.slice(1)) ws.on('message', () => log.push(ws.readyState));
    all[0].ws.on('message', () => all.slice(1).forEach(({ ws }) => ws.terminate()));
    for (const { client } of all) for (let i = 0; i < 10; i++) client.send('x');
    await gone;
    t.true(log.every((state) => state === WebSocket.OPEN || isReference), log.join());
    all[0].ws.removeAllListeners('message');
    all[0].client.send('still there');
    const [data] = await new Promise((resolve) => {
      all[0].ws.on('message', (...args) => String(args[0]) === 'still there' && resolve(args));
    });
    t.is(String(data), 'still there');
  },
});

onEveryWay(ownOnLinuxSerial, {
  async 'J19: a child process inherits no socket'(t, { server }) {
    await pair(t, server);
    const list = execFileSync('ls', ['-l', '/proc/self/fd'], { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
    t.deepEqual(list.split('\n').filter((line) => / ([3-9]|\d\d+) -> (socket|anon_inode)/.test(line)), []);
  },
});

for (const way of Object.keys(WAYS)) {
  for (const [row, title, fault, printed] of [
    ['J02', 'a handler throws', frame(1, 'throw'), ['uncaughtException thrown on purpose']],
    ['J03', 'a handler rejects', frame(1, 'reject'), ['unhandledRejection rejected on purpose']],
    ['J04', "no 'error' listener", frame(3), ['uncaughtException Invalid WebSocket frame: invalid opcode 3']],
  ]) {
    ownSerial(`${row} ${way}: ${title}`, async (t) => {
      const child = new Child(t, 'faulty.mjs', [way], { stdio: ['pipe', 'pipe', 'pipe'] });
      const port = Number(await child.line(0));
      const isAlive = await canary(t, port);
      const raw = await RawClient.connect(t, port);
      const all = [upgradeRequest(), frame(1, 'before'), fault, frame(1, 'behind')];
      await raw.send(Buffer.concat(all.map((one) => Buffer.from(one))));
      await raw.until((text) => text.endsWith(row === 'J04' ? '\x88\x02\x03\xea' : '\x81\x06behind'));
      await isAlive();
      raw.end();
      child.process.stdin.end();
      const { code, stdout, stderr } = await child.ended();
      t.deepEqual({ code, stderr, printed: stdout.trim().split('\n').slice(1) }, { code: 0, stderr: '', printed });
    });
  }

  ownSerial(`J14 R08 ${way}: connections to which nothing refers, and that leave nothing`, async (t) => {
    const child = new Child(t, 'mortal.mjs', [way], { nodeArgs: ['--expose-gc'], stdio: ['pipe', 'pipe', 'pipe'] });
    const port = Number(await child.line(0));
    const isAlive = await canary(t, port);
    const raws = await Promise.all(Array.from({ length: 10 }, () => RawClient.connect(t, port)));
    for (const raw of raws) await raw.send(upgradeRequest());
    for (const raw of raws) await raw.until((text) => text.includes('\r\n\r\n'));
    let line = 0;
    const report = async () => {
      child.process.stdin.write('\n');
      return JSON.parse(await child.line(++line));
    };
    const { files, ...found } = await report();
    t.deepEqual(found, { alive: 11, clients: 11 });
    for (const raw of raws) await raw.send(frame(2, 'still here'));
    for (const raw of raws) await raw.until((text) => text.endsWith('still here'));
    // As it should be, without a close frame, by a reset, by the server, and by a broken rule.
    const ends = [(raw) => raw.send(frame(8)), (raw) => raw.end(), (raw) => raw.reset(), (raw) => raw.send(frame(1, 'terminate')), (raw) => raw.send(frame(3))];
    raws.forEach((raw, n) => ends[n % ends.length](raw));
    let left;
    do left = await report();
    while (left.clients > 1 || left.alive > 1 || (files > 0 && left.files > files - raws.length));
    await isAlive();
    child.process.stdin.end();
    t.like(await child.ended(), { code: 0, stderr: '' });
  });

  ownSerial(`J15 ${way}: a polluted prototype`, async (t) => {
    const child = new Child(t, 'polluted.mjs', ['after', way]);
    const port = Number(await child.line(0));
    const isAlive = await canary(t, port);
    const raw = await RawClient.connect(t, port);
    await raw.send(Buffer.concat([Buffer.from(upgradeRequest()), frame(2, 'binary', false), frame(0, 'binary'), frame(1, 'text')]));
    t.true((await raw.until((text) => text.endsWith('text'))).endsWith('\x82\x0cbinarybinary\x81\x04text'));
    await isAlive();
    raw.reset();
  });
}
