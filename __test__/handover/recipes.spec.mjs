// The recipes of docs/deploys.md, each as a user runs it: a client stays connected, and a version that does not start changes nothing.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

import WebSocket from 'ws';

import { npm, root } from '../../scripts/run.mjs';
import { test } from '../helpers/index.mjs';
import { inMode, until } from '../helpers/versions.mjs';

const BROKEN = "throw new Error('broken')";
const PM2 = '7.0.4';

/** A copy of examples/deploy, inside of the package, so that its programs find that. */
function copy(t) {
  const examples = join(root, 'examples');
  const folder = mkdtempSync(join(examples, '.deploy-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(examples, 'deploy'), folder, { recursive: true });
  const program = join(folder, 'server.mjs');
  const text = readFileSync(program, 'utf8');
  return { folder, program, break: () => writeFileSync(program, BROKEN), repair: () => writeFileSync(program, text) };
}

/** A client that counts, as page.html does; `hears(version)`: it has answers of that version, and none is missing. */
async function client(t, port) {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/`);
  t.teardown(() => ws.terminate());
  await once(ws, 'open');
  let [answers, sent, last] = [0, 0, ''];
  ws.on('message', (data) => {
    const { tick, ticks, version } = JSON.parse(data);
    if (tick !== `#${++answers}` || ticks !== answers) t.fail(`answer ${answers} is ${data}`);
    last = version;
  });
  const timer = setInterval(() => ws.send(`#${++sent}`), 10);
  t.teardown(() => clearInterval(timer));
  const goesOn = async () => {
    const before = sent;
    await until(() => answers > before || ws.readyState !== WebSocket.OPEN);
    t.is(ws.readyState, WebSocket.OPEN);
  };
  const hears = async (version) => {
    await until(() => last === version || ws.readyState !== WebSocket.OPEN);
    await goesOn();
  };
  return { ws, goesOn, hears };
}

inMode('a supervisor', async (t) => {
  const { folder, break: breakIt, repair } = copy(t);
  const child = spawn(process.execPath, [join(folder, 'supervisor.mjs')], { env: { ...process.env, PORT: '0' }, stdio: ['pipe', 'pipe', 'pipe'] });
  const [lines, errors] = [child.stdout, child.stderr].map((input) => createInterface({ input }));
  t.teardown(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const [line] = await once(lines, 'line');
  const { goesOn, hears, ws } = await client(t, /(\d+)$/.exec(line)[1]);
  await hears('1');
  child.stdin.write('\n');
  await hears('2');
  breakIt();
  child.stdin.write('\n');
  for await (const error of errors) if (error === 'version 3 has not started') break;
  await goesOn();
  repair();
  child.stdin.write('\n');
  await hears('4');
  // It is started again. The versions before it end a little later than their clients hear the next one.
  if (!has('pgrep', '--version')) return;
  const versions = () => spawnSync('pgrep', ['-P', child.pid], { encoding: 'utf8' }).stdout.trim().split('\n');
  await until(() => versions().length === 1);
  process.kill(Number(versions()[0]), 'SIGKILL');
  await once(ws, 'close');
  t.regex((await once(lines, 'line'))[0], /^version 4 listens/);
});

/** The unit that docs/deploys.md shows. */
const [, unit] = /<!-- systemd: chat@.service -->\n\n```ini\n([^]*?)```/.exec(readFileSync(join(root, 'docs/deploys.md'), 'utf8'));

const has = (...command) => spawnSync(command[0], command.slice(1)).status === 0;
const onSystemd = has('systemd-analyze', '--version') && existsSync('/usr/bin/node') ? inMode : test.skip;
const onNotify = has('systemd-notify', '--version') && has('python3', '--version') ? inMode : test.skip;

onSystemd('systemd has no complaints about the unit', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'systemd-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'chat@1.service');
  writeFileSync(file, unit);
  const { stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  t.deepEqual(stderr.split('\n').filter((line) => line.includes('chat')), []);
});

onNotify('systemd is told that the server listens', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'systemd-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const env = { ...process.env, PORT: '0', HANDOVER: join(folder, 'h.sock'), NOTIFY_SOCKET: join(folder, 'notify.sock') };
  const script = `import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(os.environ['NOTIFY_SOCKET'])
print('bound', flush=True)
print(s.recv(100).decode(), flush=True)`;
  const systemd = spawn('python3', ['-c', script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => systemd.kill());
  const lines = createInterface({ input: systemd.stdout })[Symbol.asyncIterator]();
  t.is((await lines.next()).value, 'bound');
  const server = spawn(process.execPath, [join(root, 'examples/deploy/server.mjs')], { env, stdio: 'ignore' });
  t.teardown(() => server.kill());
  t.is((await lines.next()).value, 'READY=1');
});

inMode('PM2', async (t) => {
  const place = join(root, `node_modules/.cache/pm2-${PM2}`);
  const pm2 = join(place, 'node_modules/.bin/pm2');
  mkdirSync(place, { recursive: true });
  if (!existsSync(pm2)) await npm(['install', '--no-save', '--no-package-lock', '--prefix', place, `pm2@${PM2}`]);
  if (!existsSync(pm2)) return t.pass(t.log('PM2 could not be had'));
  const { folder, break: breakIt, program } = copy(t);
  const home = mkdtempSync(join(tmpdir(), 'pm2-'));
  const config = join(folder, 'ecosystem.config.cjs');
  // PM2 keeps the environment of the first start.
  writeFileSync(program, readFileSync(program, 'utf8').replace("VERSION = '1'", 'VERSION = process.env.name'));
  writeFileSync(config, readFileSync(config, 'utf8').replace('8080', '0').replaceAll('30_000', '5000'));
  const run = async (...args) => (await promisify(execFile)(pm2, args, { cwd: folder, env: { ...process.env, PM2_HOME: home } })).stdout;
  t.teardown(async () => {
    await run('kill');
    rmSync(home, { recursive: true, force: true });
  });
  const start = (name) => run('start', config, '--only', name);
  const stops = async (name) => {
    while (!(await run('describe', name)).includes('stopped'));
  };
  await start('chat-a');
  const port = /port (\d+)/.exec(readFileSync(join(home, 'logs/chat-a-out.log')))[1];
  const { goesOn, hears, ws } = await client(t, port);
  await start('chat-b');
  await hears('chat-b');
  await stops('chat-a');
  const text = readFileSync(program);
  breakIt();
  await start('chat-a');
  await goesOn();
  writeFileSync(program, text);
  await start('chat-a');
  await hears('chat-a');
  await stops('chat-b');
  // In fork mode PM2 stops the old process first, in cluster mode it starts the new one first.
  await Promise.all([once(ws, 'close'), run('reload', 'chat-a')]);
  const cluster = join(folder, 'cluster.config.cjs');
  const changes = [["'chat-a', 'chat-b'", "'chat'"], ['script:', "exec_mode: 'cluster', instances: 1, script:"], ['handover.sock', 'other.sock']];
  writeFileSync(cluster, changes.reduce((lines, [from, to]) => lines.replace(from, to), readFileSync(config, 'utf8')));
  await run('start', cluster);
  const log = readdirSync(join(home, 'logs')).find((name) => /^chat-out/.test(name));
  const other = await client(t, /port (\d+)/.exec(readFileSync(join(home, 'logs', log)))[1]);
  writeFileSync(program, String(text).replace('process.env.name', "'next'"));
  await run('reload', 'chat');
  await other.hears('next');
});
