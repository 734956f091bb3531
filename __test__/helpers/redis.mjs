// Servers of Redis that belong to one test, and the clients of each package.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';
import { createClient } from 'redis';

/** Whether there is a server to run. */
export const hasRedis = isInstalled('redis-server');

export function isInstalled(program) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Also after a test that has timed out. */
const started = new Set();
process.on('exit', () => {
  for (const { process: child } of started) child?.kill('SIGKILL');
});

/** A server with a socket in the file system: no port may be taken. */
export class RedisServer {
  constructor(t, settings = {}) {
    this.folder = mkdtempSync(path.join(os.tmpdir(), 'rws-redis-'));
    this.path = path.join(this.folder, 'socket');
    this.settings = settings;
    this.process = null;
    started.add(this);
    t.teardown(async () => {
      await this.kill();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  static async start(t, settings) {
    const server = new RedisServer(t, settings);
    await server.run();
    return server;
  }

  /** Until it answers. */
  async run() {
    const settings = { port: 0, unixsocket: this.path, dir: this.folder, save: '', appendonly: 'no', daemonize: 'no', ...this.settings };
    const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...[value].flat().map(String)]);
    this.process = spawn('redis-server', words, { stdio: 'ignore' });
    this.ended = once(this.process, 'exit');
    while (this.process.exitCode === null) {
      const socket = net.connect(this.path);
      const isThere = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'error').then(() => false)]).catch(() => false);
      socket.destroy();
      if (isThere) return;
      await sleep(20);
    }
    throw new Error(`redis-server has ended with ${this.process.exitCode}`);
  }

  signal(name) {
    this.process.kill(name);
  }

  async kill(name = 'SIGKILL') {
    if (this.process === null) return;
    this.process.kill('SIGCONT');
    this.process.kill(name);
    await this.ended;
    this.process = null;
  }

  /** A command from outside. */
  command(...words) {
    return execFileSync('redis-cli', ['-s', this.path, ...words], { encoding: 'utf8' });
  }
}

/** A way to a server on which nothing is lost, and nothing arrives between `cut()` and `mend()`. */
export class Network {
  static async start(t, { folder, path: target }) {
    const network = new Network();
    network.path = path.join(folder, 'network');
    network.sockets = new Set();
    network.isCut = false;
    const server = net.createServer((near) => {
      const far = net.connect(target);
      for (const [from, to] of [[near, far], [far, near]]) {
        network.sockets.add(from);
        from.on('error', () => {});
        from.on('data', (bytes) => to.write(bytes));
        from.on('close', () => {
          network.sockets.delete(from);
          to.destroy();
        });
        if (network.isCut) from.pause();
      }
    });
    server.listen(network.path);
    await once(server, 'listening');
    t.teardown(() => {
      for (const socket of network.sockets) socket.destroy();
      server.close();
    });
    return network;
  }

  cut() {
    this.isCut = true;
    for (const socket of this.sockets) socket.pause();
  }

  mend() {
    this.isCut = false;
    for (const socket of this.sockets) socket.resume();
  }
}

/** How to make a client of each package, by its name. `options`: of the package. */
export const CLIENTS = {
  async redis(t, { path: socket }, options = {}) {
    const client = createClient({ socket: { path: socket, reconnectStrategy: 50 }, ...options });
    client.on('error', () => {});
    await client.connect();
    t.teardown(() => client.isOpen && client.destroy());
    return client;
  },
  async ioredis(t, { path: socket }, options = {}) {
    const client = new Redis({ path: socket, retryStrategy: () => 50, maxRetriesPerRequest: null, ...options });
    client.on('error', () => {});
    await once(client, 'ready');
    t.teardown(() => client.disconnect());
    return client;
  },
};
