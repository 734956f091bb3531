// A listening socket of systemd, which outlives the process.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { ownOnLinux, test, visitor } from '../helpers/index.mjs';

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

function run(t, command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
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
  const { child, lines } = run(t, 'systemd-socket-activate', ['-l', path, ...environment, process.execPath, program]);
  // It says that it listens: the file is there a moment before.
  await once(child.stderr, 'data');
  const client = visitor(t, `ws+unix:${path}:/`);
  const opened = once(client, 'open');
  t.is((await lines.next()).value, `listens on ${JSON.stringify(path)}`);
  await opened;
  client.send('hello');
  t.is(String((await once(client, 'message'))[0]), 'hello');
  client.close();
  await once(client, 'close');
  const ended = once(child, 'exit');
  child.kill(setting(service, 'KillSignal'));
  t.deepEqual(await ended, [0, null]);
  // The socket is systemd's.
  t.true(existsSync(path));
});
