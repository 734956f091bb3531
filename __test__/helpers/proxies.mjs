// HAProxy and nginx, where they are installed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const has = (command) => spawnSync(command, ['-v']).error === undefined;

/** A free port. Another process can take it first, so the caller tries again. */
async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a proxy with the files that `configure` writes, and waits until it listens. */
export async function startProxy(t, command, configure) {
  for (;;) {
    const folder = mkdtempSync(join(tmpdir(), 'proxy-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const port = await freePort();
    const proxy = spawn(command, configure(folder, port), { stdio: ['ignore', 'ignore', 'pipe'] });
    t.teardown(() => proxy.kill());
    let said = '';
    proxy.stderr.on('data', (text) => (said += text));
    const ended = once(proxy, 'exit').then(() => true);
    const isListening = async () => {
      for (;;) {
        const socket = net.connect(port, '127.0.0.1');
        const connected = once(socket, 'connect').then(() => true, () => false);
        const isUp = await connected;
        socket.destroy();
        if (isUp) return false;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    if (!(await Promise.race([isListening(), ended]))) return port;
    if (!said.includes('in use') && !said.includes('Cannot bind')) throw new Error(said);
  }
}
