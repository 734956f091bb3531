// System calls that fail because the kernel has no memory say nothing of their socket: they are made
// again, and no connection is closed. ENOBUFS of `send` ended the connection; after ENOBUFS of `accept` the
// next, healthy one was closed, for want of descriptors; connections that epoll could not watch
// vanished, counted nowhere.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { Child, WAYS, askRaw, connect, frame, isReference, test, upgradeRequest, urlOf, wsClient } from '../helpers/index.mjs';

const strace = (...args) => ['strace', '-f', '-qq', '-o', '/dev/null', ...args];
const [command, ...rest] = strace('-e', 'inject=getppid:error=EPERM', 'true');
const canInject = process.platform === 'linux' && !isReference && spawnSync(command, rest).status === 0;
const onStrace = canInject ? test.serial : test.serial.skip;

const CLIENTS = 30;
const ROUNDS = 20;
/** Is written from where it is, after its header. */
const LONG = 'x'.repeat(5000);

/** A server of which such calls fail. */
async function start(t, reactors, fault) {
  const [call] = fault.split(':');
  const under = strace('-e', `trace=${call}`, '-e', `inject=${fault}`);
  const env = { REACTOR_WS_REACTORS: String(reactors) };
  const child = new Child(t, 'attacked.mjs', [], { stdio: ['pipe', 'pipe', 'pipe'], under, env });
  // It ends with its input: a tracer that is killed leaves it running.
  t.teardown(() => child.process.stdin.end());
  const port = Number(await child.line());
  let lines = 0;
  const stats = async () => {
    child.process.stdin.write('\n');
    return JSON.parse(await child.line(++lines));
  };
  return { port, stats };
}

async function open(t, port) {
  const raw = await askRaw(t, port, upgradeRequest({ line: 'GET /echo HTTP/1.1' }));
  return { raw, isOpen: (await raw.untilClosedOr((text) => text.includes('\r\n\r\n'))).startsWith('HTTP/1.1 101') };
}

const FAULTS = [
  'sendto:error=ENOBUFS:when=10+7',
  'sendto:error=ENOMEM:when=10+7',
  'sendmsg:error=ENOBUFS:when=2+3',
  'recvfrom:error=ENOMEM:when=10+7',
  'recvfrom:error=ENOBUFS:when=10+2',
  'accept4:error=ENOBUFS:when=3+4',
  'accept4:error=ENOMEM:when=3+2',
];

for (const reactors of [0, 1, 2]) {
  for (const fault of FAULTS) {
    onStrace(`${reactors} reactors, ${fault}: everybody is served`, async (t) => {
      const { port, stats } = await start(t, reactors, fault);
      const clients = await Promise.all(Array.from({ length: CLIENTS }, () => open(t, port)));
      t.is(clients.filter(({ isOpen }) => isOpen).length, CLIENTS);
      await Promise.all(clients.map(async ({ raw }, number) => {
        for (let round = 0; round < ROUNDS; round++) {
          const text = `<${number}.${round}>`;
          await raw.send(Buffer.concat([frame(1, text), longFrame()]));
          await raw.until((all) => all.includes(text) && all.endsWith(LONG));
        }
      }));
      t.like(await stats(), { messages: 2 * CLIENTS * ROUNDS, open: CLIENTS, errors: {}, exhausted: 0 });
    });
  }

  onStrace(`${reactors} reactors, epoll_ctl:error=ENOSPC: who is not served is counted`, async (t) => {
    const { port, stats } = await start(t, reactors, 'epoll_ctl:error=ENOSPC:when=20+4');
    const clients = await Promise.all(Array.from({ length: 3 * CLIENTS }, () => open(t, port)));
    const count = clients.filter(({ isOpen }) => isOpen).length;
    // Reports of those that are closed come once a second.
    let now = await stats();
    for (; now.open + now.exhausted < clients.length; now = await stats()) await delay(100);
    t.deepEqual([now.open, now.exhausted], [count, clients.length - count]);
    t.true(count > 0 && count < clients.length, `${count}`);
  });
}

/** The number of the reactor's thread. */
function reactorThread() {
  const isReactor = (id) => readFileSync(`/proc/self/task/${id}/comm`, 'latin1') === 'reactor-ws\n';
  return readdirSync('/proc/self/task').find(isReactor);
}

// Where ptrace_scope allows it for a process that is no child.
onStrace("a socket of an HTTP server that epoll cannot watch is closed, and 'exhausted' says why", async (t) => {
  const server = await WAYS.server(t, { reactors: 1 });
  server.on('connection', (ws) => ws.on('message', (data) => ws.send(String(data))));
  const echo = async (client) => {
    client.send('here');
    return String((await once(client, 'message'))[0]);
  };
  const { client } = await connect(t, server);
  t.is(await echo(client), 'here');
  const tracer = spawn('strace', ['-p', reactorThread(), '-o', '/dev/null', '-e', 'trace=epoll_ctl', '-e', 'inject=epoll_ctl:error=ENOSPC']);
  t.teardown(() => tracer.kill());
  const [said] = await once(tracer.stderr, 'data');
  if (!/attached/.test(said)) return t.pass(`${said}`);
  const late = new wsClient(urlOf(server));
  late.on('error', () => {});
  const [ws] = await once(server, 'connection');
  t.deepEqual([(await once(ws, 'close'))[0], ws.closeCause], [1006, 'exhausted']);
  t.is(server.metrics().connections.ended.exhausted, 1);
  t.is(await echo(client), 'here');
  tracer.kill();
  await once(tracer, 'close');
  t.is(await echo((await connect(t, server)).client), 'here');
});

function longFrame() {
  const header = Buffer.from([0x81, 0xfe, LONG.length >> 8, LONG.length & 0xff, 0, 0, 0, 0]);
  return Buffer.concat([header, Buffer.from(LONG)]);
}
