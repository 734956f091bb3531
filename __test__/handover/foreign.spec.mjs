// Clients in Python and in Go: their server is replaced under load, and they notice nothing.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { pythonWith } from '../helpers/python.mjs';
import { exits, inMode, place, version } from '../helpers/versions.mjs';

const CLIENTS = fileURLToPath(new URL('clients/', import.meta.url));
const CONNECTIONS = 8;
const DEPLOYS = 10;

inMode('websockets (Python)', async (t) => {
  const { python, why } = await pythonWith('websockets', '15.0.1', 'websockets');
  if (!python) return skip(t, why);
  await noticesNothing(t, python, [join(CLIENTS, 'client.py')]);
});

inMode('gorilla/websocket (Go)', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'handover-go-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'client');
  const why = await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: CLIENTS }).then(() => '', ({ message }) => message);
  if (why !== '') return skip(t, why);
  await noticesNothing(t, program, []);
});

function skip(t, why) {
  t.log(why);
  t.pass();
}

async function noticesNothing(t, program, args) {
  const path = place(t);
  const options = { echo: true, perMessageDeflate: { threshold: 0 } };
  let current = await version(t, 'v0', 0, path, options);
  const { port } = current;
  const client = spawn(program, [...args, port, CONNECTIONS], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => client.exitCode === null && client.kill('SIGKILL'));
  const output = Promise.all([client.stdout, client.stderr].map(async (stream) => String(Buffer.concat(await stream.toArray()))));
  const ended = once(client, 'close');
  for (let n = 1; n <= DEPLOYS; n++) {
    await Promise.race([current.line(1), ended]);
    const next = await version(t, `v${n}`, port, path, options);
    await exits(t, current);
    current = next;
  }
  client.stdin.end('\n');
  const [code] = await ended;
  const [answers, errors] = await output;
  t.deepEqual([code, errors], [0, '']);
  t.log(`${Number(answers)} answers`);
}
