// A chat on three nodes: processes that share their topics by Redis. A number and Enter kills a node, and nobody misses a
// message. `npm run example:cluster`; needs `redis-server`.

import { fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const first = Number(process.env.PORT ?? 8080);
const folder = mkdtempSync(join(tmpdir(), 'cluster-chat-'));
const socket = join(folder, 'redis');

const redis = spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', ''], { stdio: 'ignore' });
redis.on('error', (error) => exit(`redis-server is needed: ${error.message}`));
redis.on('exit', () => exit('redis-server has ended'));

const nodes = [0, 1, 2].map((index) => start(index, first && first + index));

createInterface({ input: process.stdin }).on('line', (line) => nodes[line - 1]?.child.kill('SIGKILL'));
process.on('exit', () => {
  for (const { child } of nodes) child.kill();
  redis.kill();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit());

/** A node that is started again on its port when it ends. */
function start(index, port) {
  const child = fork(new URL('node.mjs', import.meta.url), { env: { ...process.env, PORT: port, REDIS_SOCKET: socket } });
  const node = { child, port };
  child.on('message', (listensOn) => {
    node.port = listensOn;
    console.log(`node ${index + 1}: http://localhost:${listensOn}`);
    const ports = nodes.map((one) => one.port);
    for (const one of nodes) if (one.child.connected) one.child.send(ports);
  });
  child.on('exit', () => {
    console.log(`node ${index + 1} has ended`);
    nodes[index] = start(index, node.port);
  });
  return node;
}

function exit(reason) {
  console.error(reason);
  process.exit(1);
}
