// Time that the process did not have is no silence of its peers: it is stopped (SIGSTOP, `docker
// pause`, a machine that is moved) or its JavaScript is busy, for longer than a timeout, while they
// go on sending. Timers were judged before the sockets were read: all of 20, two times of three all
// of 400, and 1,488 of 2,000 were closed as silent, and whole requests got a 408.
import { setTimeout as delay } from 'node:timers/promises';

import { Child, RawClient, frame, isReference, test, upgradeRequest } from '../helpers/index.mjs';

const ownOnly = isReference || process.platform === 'win32' ? test.serial.skip : test.serial;

/** Milliseconds of silence after which a peer is closed, and a request too late. */
const TIMEOUT = 1500;

const PONG = frame(10);

/** `[way, reactors, clients]`. */
const FEW = [['port', 0, 20], ['port', 1, 20], ['port', 3, 20], ['server', 1, 20], ['stream', 1, 20]];
const MANY = [['port', 1, 400], ['port', 0, 2000], ['port', 1, 2000], ['port', 3, 2000]];

/** A server in a process of its own, and as many connections to it. */
async function start(t, options, [way, reactors, count]) {
  const child = new Child(t, 'stopped.mjs', [way, JSON.stringify(options)], { env: { REACTOR_WS_REACTORS: String(reactors) } });
  const port = Number(await child.line());
  const raws = [];
  while (raws.length < count) raws.push(...(await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(t, port)))));
  /** For longer than any timeout, in which `act` is done. */
  const stop = async (act) => {
    child.process.kill('SIGSTOP');
    for (const raw of raws) act(raw);
    await delay(3 * TIMEOUT);
    child.process.kill('SIGCONT');
  };
  return { child, raws, stop };
}

/** Upgrades; those that are open go on sending. */
async function upgrade(t, raws) {
  const chatter = setInterval(() => {
    for (const raw of raws) if (raw.text !== '') raw.send(PONG);
  }, TIMEOUT / 10);
  t.teardown(() => clearInterval(chatter));
  for (const raw of raws) {
    raw.send(upgradeRequest());
    await raw.until((text) => text.includes('\r\n\r\n'));
  }
  return chatter;
}

/** How many do not get an answer any more. */
async function lost(raws) {
  const isServed = async (raw) => {
    await raw.send(frame(1, 'still there'));
    return (await raw.untilClosedOr((text) => text.includes('still there'))).includes('still there');
  };
  return (await Promise.all(raws.map(isServed))).filter((served) => !served).length;
}

/** Each resolves with the number of connections that were lost, or did not end as they should. */
const ACTS = {
  async 'idleTimeout, the process is stopped'(t, mode) {
    const { raws, stop } = await start(t, { idleTimeout: TIMEOUT }, mode);
    await upgrade(t, raws);
    await stop((raw) => raw.send(PONG));
    return lost(raws);
  },
  async 'idleTimeout, JavaScript is busy'(t, mode) {
    const { raws } = await start(t, { idleTimeout: TIMEOUT }, mode);
    await upgrade(t, raws);
    await raws[0].send(frame(1, String(2 * TIMEOUT)));
    await delay(2 * TIMEOUT);
    return lost(raws);
  },
  async 'pingInterval, the process is stopped before it has read the pongs'(t, mode) {
    const { raws, stop } = await start(t, { pingInterval: TIMEOUT }, mode);
    clearInterval(await upgrade(t, raws));
    await Promise.all(raws.map((raw) => raw.until((text) => text.includes('\r\n\r\n\x89\x00'))));
    await stop((raw) => raw.send(PONG));
    return lost(raws);
  },
  async 'closeTimeout, the process is stopped before it has read the answers'(t, mode) {
    const { child, raws, stop } = await start(t, { closeTimeout: TIMEOUT }, mode);
    clearInterval(await upgrade(t, raws));
    for (const raw of raws) raw.send(frame(1, 'close'));
    await Promise.all(raws.map((raw) => raw.until((text) => text.includes('\x88\x02\x0f\xa0'))));
    await stop((raw) => raw.send(frame(8, Buffer.from([0x0f, 0xa0]))));
    const codes = [];
    while (codes.length < raws.length) codes.push(await child.line(codes.length + 1));
    return codes.filter((code) => code !== '4000').length;
  },
  async 'handshakeTimeout, whole requests come while the process is stopped'(t, mode) {
    const { raws, stop } = await start(t, { handshakeTimeout: 2 * TIMEOUT }, mode);
    await stop((raw) => raw.send(upgradeRequest()));
    const answers = await Promise.all(raws.map((raw) => raw.untilClosedOr((text) => text.includes('\r\n\r\n'))));
    return answers.filter((text) => !text.startsWith('HTTP/1.1 101')).length;
  },
};

/** The clients are silent, too, when this process does not run: what is lost then proves nothing. */
async function noneIsLost(t, act, mode) {
  for (let tries = 0; ; tries++) {
    let longest = 0;
    let last = performance.now();
    const clock = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 10);
    t.teardown(() => clearInterval(clock));
    const count = await act(t, mode);
    clearInterval(clock);
    if (count > 0 && longest > TIMEOUT / 3 && tries < 5) t.log(`${mode.join(' ')}: again, ${longest.toFixed()} ms without a turn`);
    else return t.is(count, 0, mode.join(' '));
  }
}

for (const [title, act] of Object.entries(ACTS)) {
  // The HTTP server of Node has timers of its own.
  const few = title.startsWith('handshake') ? FEW.filter(([way]) => way === 'port') : FEW;
  ownOnly(`${title}: 20 clients`, async (t) => void (await Promise.all(few.map((mode) => noneIsLost(t, act, mode)))));
  for (const mode of MANY) {
    const [, reactors, count] = mode;
    if (/^(ping|close)/.test(title) && count > 400) continue;
    if (title.startsWith('handshake') && (count === 400 || reactors === 3)) continue;
    if (title.endsWith('busy') && reactors !== 0) continue;
    ownOnly(`${title}: ${count} clients, ${reactors} reactors`, (t) => noneIsLost(t, act, mode));
  }
}
