// Faults of the process, its threads and the system, row by row, for every way in. Another client
// is served meanwhile, where the process lives on. The rows are those of docs/faults.md.
import { once } from 'node:events';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Child, MEASURED, repeat, traffic } from '../helpers/child.mjs';
import { WebSocket, askRaw, frame } from '../helpers/clients.mjs';
import { OWN_HOST, WAYS, ownOnLinuxSerial, ownSerial, startServerBehind, test, upgradeRequest } from '../helpers/index.mjs';
import { attacked, canary, onEveryWay, opened, openedPair, pair } from '../helpers/under-attack.mjs';
import { wrapUpgrades } from '../helpers/wrapped.mjs';

const MIB = 2 ** 20;

const FOREIGN_LOOP = ['--require', fileURLToPath(new URL('../fixtures/foreign-loop.cjs', import.meta.url))];
const BYE = 'from an exit listener';

/** `[row, how the process ends, its code, its signal, what it says, what clients of its port have heard, options of node]`. */
const ENDS = [
  ['P01', 'close', 0, null, '', '\x88\x02\x03\xe9'],
  ['P01', 'close and terminate', 0],
  ['P03', 'exit', 7],
  ['P03', 'exit in a tick', 7],
  ['P03', 'exit while behind', 7],
  ['P04', 'throw in a handler', 1, null, 'thrown on purpose'],
  ['P04', 'throw in a job', 1, null, 'thrown on purpose'],
  ['P04', 'wait to be killed', null, 'SIGTERM'],
  ['P04', 'wait to be killed', null, 'SIGKILL'],
  ['P05', 'exit in a handler', 7],
  ['P05', 'exit with listeners', 7, null, '', BYE],
  ['P05', 'exit after listeners came', 7, null, '', BYE],
  ['P05', 'last words', 7, null, '', 'last words'],
  // Where the event loop is not libuv's, Node-API wakes it.
  ['P01', 'close', 0, null, '', '', FOREIGN_LOOP],
  ['P05', 'exit in a handler', 7, null, '', '', FOREIGN_LOOP],
];

/** `[row, how the worker ends, how many at once, whether the main thread has a server too]`. */
const WORKERS = [
  ['P07', 'terminate()', 2, 'yes'],
  ['P07', 'process.exit()', 2, 'no'],
  ['P07', 'an exception', 2, 'yes'],
  ['P07', 'its natural end', 2, 'no'],
  ['P08', 'terminate()', 2, 'no'],
  ['P09', 'terminate()', 8, 'yes'],
  ['P09', 'terminate()', 20, 'no'],
  ['P10', 'terminate() while blocked', 2, 'yes'],
];

for (const way of Object.keys(WAYS)) {
  for (const [row, name, code, signal = null, said = '', heard = '', nodeArgs = []] of ENDS) {
    ownSerial([`${row} ${way}: ${name}`, signal, ...nodeArgs.slice(0, 1)].filter(Boolean).join(' '), async (t) => {
      await repeat(2, 2, async () => {
        const child = new Child(t, 'ending.mjs', [name, way], { nodeArgs });
        const received = traffic(t, Number(await child.line()));
        if (signal !== null) {
          await child.line(1);
          child.process.kill(signal);
        }
        const end = await child.ended();
        t.like(end, { code, signal });
        t.true(said === '' ? end.stderr === '' : end.stderr.includes(said) && !end.stderr.includes('panicked'), end.stderr);
        if (way === 'port') t.true((await received).some((text) => text.includes(heard)), JSON.stringify(await received));
        t.is((await received).length, 4);
      });
    });
  }

  for (const [row, name, atOnce, mainToo] of WORKERS) {
    ownSerial(`${row} ${way}: workers end by ${name}, ${atOnce} at once`, async (t) => {
      const child = new Child(t, 'workers.mjs', [name, atOnce, atOnce, mainToo, way], MEASURED);
      const { code, signal, stdout, stderr } = await child.ended();
      t.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
      const { before, after, mainAlive } = JSON.parse(stdout);
      // The server of the main thread is the canary.
      t.true(mainAlive);
      t.true(after.threads <= before.threads && after.files <= before.files);
      t.true(after.rss < before.rss + 32 * MIB, `${before.rss} -> ${after.rss}`);
    });
  }

  ownSerial(`P02 ${way}: a listener that is not to keep the process alive`, async (t) => {
    t.deepEqual(await new Child(t, 'unreferenced.mjs', [way]).ended(), { code: 0, signal: null, stdout: 'by itself\n', stderr: '' });
  });

  ownOnLinuxSerial(`P06 ${way}: the process stands still`, async (t) => {
    await signalled(t, way, async ({ child, port }) => {
      const raws = await Promise.all(Array.from({ length: 20 }, () => opened(t, port)));
      child.process.kill('SIGSTOP');
      for (const raw of raws) await raw.send(frame(1, 'meanwhile'));
      await delay(500);
      child.process.kill('SIGCONT');
      for (const raw of raws) await raw.until((text) => text.endsWith('meanwhile'));
    });
  });

  ownOnLinuxSerial(`P11 ${way}: the reactor dies`, async (t) => {
    const child = new Child(t, 'failing.mjs', [way]);
    const port = await child.line(0);
    const raw = await opened(t, port);
    await raw.send(frame(1, 'a'));
    // Streams have no reactor.
    if (way === 'stream') await raw.until((text) => text.endsWith('\x01a'));
    else await raw.closed();
    if (way === 'port') {
      t.like(await child.ended(), { code: 0, stderr: '' });
      return;
    }
    // The server of Node goes on, and so do its connections without a reactor. Those that come before JavaScript hears of the
    // death end with it.
    let next = null;
    while (next === null) next = await opened(t, port).catch(() => null);
    await next.send(frame(2, 'still there'));
    await next.until((text) => text.endsWith('still there'));
    t.is(child.process.exitCode, null);
  });

  ownOnLinuxSerial(`O06 ${way}: signals`, async (t) => {
    await signalled(t, way, async ({ child, port }) => {
      const raw = await opened(t, port);
      for (let i = 0; i < 300; i++) {
        child.process.kill(['SIGUSR2', 'SIGWINCH', 'SIGINT'][i % 3]);
        await raw.send(frame(2, `<${i}>`));
        await raw.until((text) => text.endsWith(`<${i}>`));
      }
    });
  });

  ownOnLinuxSerial(`O13 ${way}: a tenth of the CPU`, async (t) => {
    await signalled(t, way, async ({ child, port }) => {
      let isStopped = false;
      const squeezing = setInterval(() => {
        const phase = performance.now() % 50 < 5;
        if (phase !== isStopped) return;
        isStopped = !phase;
        child.process.kill(isStopped ? 'SIGSTOP' : 'SIGCONT');
      }, 1);
      t.teardown(() => clearInterval(squeezing));
      const raw = await opened(t, port);
      await raw.send(Buffer.concat(Array.from({ length: 500 }, (_, i) => frame(2, String(i).padStart(3, '0')))));
      await raw.until((text) => text.endsWith('499'));
      clearInterval(squeezing);
      child.process.kill('SIGCONT');
    });
  });
}

/** Runs `act` on the server of `signalled.mjs`, with a canary. */
async function signalled(t, way, act) {
  const child = new Child(t, 'signalled.mjs', [way]);
  const port = Number(await child.line(0));
  const isAlive = await canary(t, port);
  await act({ child, port });
  await isAlive();
  child.process.kill('SIGTERM');
  t.like(await child.ended(), { code: 0, stderr: '' });
}

onEveryWay(test.serial, {
  async 'O09: connections take the place of others'(t, at) {
    for (let i = 0; i < 30; i++) {
      const { ws, raw } = await openedPair(t, at);
      const closed = once(ws, 'close');
      raw.reset();
      const next = await openedPair(t, at);
      await closed;
      // A message to the closed one does not reach the other.
      ws.send('foreign', () => {});
      ws.terminate();
      next.ws.send(`own ${i}`);
      t.false((await next.raw.until((text) => text.endsWith(`own ${i}`))).includes('foreign'));
      next.raw.reset();
    }
  },

  async 'H19 O03: the end and a reset at every byte'(t, { server, port }) {
    const bytes = Buffer.concat([Buffer.from(upgradeRequest()), frame(1, 'hello'), frame(8, Buffer.from([3, 232]))]);
    let [opens, closes] = [0, 0];
    server.on('connection', (ws) => {
      opens++;
      ws.on('close', () => closes++);
    });
    for (let at = 0; at <= bytes.length; at += 3) {
      const raws = await Promise.all([0, 1].map(() => askRaw(t, port, bytes.subarray(0, at))));
      raws[0].end();
      raws[1].reset();
      await Promise.all(raws.map((raw) => raw.closed()));
    }
    while (server.clients.size > 1) await turn();
    t.is(closes, opens);
  },
});

onEveryWay(
  ownSerial,
  {
    async 'O11: the clock jumps'(t, at) {
      const { ws, raw } = await openedPair(t, at);
      const { now } = Date;
      t.teardown(() => {
        Date.now = now;
      });
      for (const jump of [3_600_000, -3_600_000]) {
        Date.now = () => now() + jump;
        for (let i = 0; i < 5; i++) {
          await raw.send(frame(9, 'p'));
          await delay(20);
        }
      }
      Date.now = now;
      t.is(ws.readyState, WebSocket.OPEN);
      raw.reset();
    },
  },
  () => ({ idleTimeout: 600_000, pingInterval: 600_000, handshakeTimeout: 600_000 }),
);

for (const way of Object.keys(WAYS)) {
  test.serial(`J17 O12 ${way}: a port is served again as soon as its server has closed`, async (t) => {
    await attacked(t, way, {}, async () => {
      let port = 0;
      for (let i = 0; i < 5; i++) {
        const server = await (way === 'port' ? WAYS.port(t, { port, host: OWN_HOST }) : behind(t, way, { port, host: OWN_HOST }));
        port = server.address().port;
        const { ws } = await pair(t, server);
        const closed = once(server, 'close');
        server._server.close();
        server.close();
        ws.terminate();
        await closed;
      }
      t.pass();
    });
  });
}

/** A server behind one of Node, at that address. */
async function behind(t, way, where) {
  const wss = await startServerBehind(t, {}, where);
  return way === 'stream' ? wrapUpgrades(wss) : wss;
}
