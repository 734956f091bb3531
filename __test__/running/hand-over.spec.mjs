// A listening socket that outlives the process: handed over to the next one, or of systemd.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { ownOnLinux, ownOnPosix, test, visitor, wsClient } from '../helpers/index.mjs';

const HAND_OVER = fileURLToPath(new URL('../../examples/hand-over.mjs', import.meta.url));

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The units that docs/running.md shows. */
function units() {
  const text = readFileSync(new URL('../../docs/running.md', import.meta.url), 'utf8');
  const found = [...text.matchAll(/<!-- systemd: (\S+) -->\n\n```ini\n([^]*?)```/g)];
  return Object.fromEntries(found.map(([, name, unit]) => [name, unit]));
}

const setting = (unit, name) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)[1];
const hasSystemd = spawnSync('systemd-socket-activate', ['--version']).error === undefined;

/** Runs a program of an example, and gives its lines of output. */
function run(t, command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const pids = new Set([child.pid]);
  t.teardown(() => {
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended.
      }
    }
  });
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += text));
  const reader = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value } = await reader.next();
    if (done) throw new Error(`ended: ${stderr}`);
    pids.add(Number(value.split(' ')[0]));
    return value;
  };
  return { child, next };
}

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).error === undefined && existsSync('/usr/bin/node');
(hasAnalyze ? ownOnLinux : test.skip)('systemd has no complaints about the units', (t) => {
  const path = folder(t);
  for (const [name, unit] of Object.entries(units())) writeFileSync(join(path, name), unit);
  writeFileSync(join(path, 'chat@1.service'), units()['chat@.service']);
  const files = [join(path, 'chat.socket'), join(path, 'chat@1.service')];
  const { stderr } = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' });
  t.deepEqual(stderr.split('\n').filter((line) => line.includes('chat')), []);
});

(hasSystemd ? ownOnLinux : test.skip)('systemd: the units of docs/running.md', async (t) => {
  const { 'chat.socket': socket, 'chat@.service': service } = units();
  const [, example] = /^\S+node \S+\/([\w-]+\.mjs)$/.exec(setting(service, 'ExecStart'));
  const program = fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
  t.is(setting(service, 'Sockets'), 'chat.socket');
  t.regex(setting(socket, 'ListenStream'), /^\d+$/);
  const path = join(folder(t), 'x.sock');
  const environment = ['-E', setting(service, 'Environment'), '-E', 'NODE_PATH'];
  const { child, next } = run(t, 'systemd-socket-activate', ['-l', path, ...environment, process.execPath, program]);
  // It is there before anything listens that runs Node.
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20));
  const client = visitor(t, `ws+unix:${path}:/`);
  const opened = once(client, 'open');
  t.is(await next(), `${child.pid} listens on ${JSON.stringify(path)}`);
  await opened;
  client.send('hello');
  t.is(String((await once(client, 'message'))[0]), `${child.pid}: hello`);
  client.close();
  await once(client, 'close');
  const ended = once(child, 'exit');
  child.kill(setting(service, 'KillSignal'));
  t.deepEqual(await ended, [0, null]);
  // The socket is systemd's.
  t.true(existsSync(path));
});

for (const kind of ['TCP', 'the file system']) {
  ownOnPosix(`examples/hand-over.mjs: under load nobody is refused, on a socket of ${kind}`, async (t) => {
    const path = join(folder(t), 'x.sock');
    const port = kind === 'TCP' ? '0' : path;
    const { child, next } = run(t, process.execPath, [HAND_OVER], { env: { ...process.env, DURATION: '300', PORT: port } });
    const processes = [];
    const started = async () => {
      const [, pid, address] = /^(\d+) listens on (.*)$/.exec(await next());
      processes.push(Number(pid));
      return JSON.parse(address);
    };
    const address = await started();
    const url = kind === 'TCP' ? `ws://127.0.0.1:${address.port}` : `ws+unix:${path}:/`;
    let isOver = false;
    const counts = { opened: 0, closed: {}, served: {}, failed: [] };
    /** The process of each that stays. */
    const stay = new Map();
    // Half of them stay until they are sent away; the others come and go.
    const lane = async (stays) => {
      while (!isOver) {
        const client = new wsClient(url);
        client.on('error', (error) => counts.failed.push(error.message));
        client.on('open', () => {
          counts.opened++;
          client.send('hello');
        });
        client.on('message', (data) => {
          const pid = parseInt(data, 10);
          counts.served[pid] = (counts.served[pid] ?? 0) + 1;
          if (stays && !isOver) stay.set(client, pid);
          else client.close(1000);
        });
        const code = await new Promise((resolve) => client.on('close', resolve));
        stay.delete(client);
        counts.closed[code] = (counts.closed[code] ?? 0) + 1;
      }
    };
    const lanes = Array.from({ length: 12 }, (_, n) => lane(n % 2 === 0));
    const exited = once(child, 'exit');
    const hasGuests = async () => {
      while (![...stay.values()].includes(processes.at(-1))) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    for (let times = 0; times < 3; times++) {
      await hasGuests();
      process.kill(processes.at(-1), 'SIGHUP');
      t.deepEqual(await started(), address);
    }
    await hasGuests();
    t.deepEqual(await exited, [0, null]);
    isOver = true;
    for (const client of stay.keys()) client.close(1000);
    await Promise.all(lanes);
    t.deepEqual(counts.failed, [], JSON.stringify(counts));
    t.is(new Set(processes).size, 4);
    t.true(counts.closed[1012] >= 3, JSON.stringify(counts));
    t.log(JSON.stringify(counts));
    process.kill(processes.at(-1), 'SIGTERM');
  });
}
