// A server of NATS that belongs to one test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { connect } from '@nats-io/transport-node';

import { OWN_HOST } from './own-host.mjs';
import { isInstalled } from './redis.mjs';

export const hasNats = isInstalled('nats-server');

let port = 4222;

export class NatsServer {
  /** `words`: of the command line. */
  static async start(t, ...words) {
    const server = new NatsServer();
    server.words = words;
    server.port = port++;
    // Also after a test that has timed out.
    process.on('exit', () => server.process?.kill('SIGKILL'));
    t.teardown(() => server.kill());
    await server.run();
    return server;
  }

  get address() {
    return `${OWN_HOST}:${this.port}`;
  }

  async run() {
    this.process = spawn('nats-server', ['-a', OWN_HOST, '-p', String(this.port), ...this.words], { stdio: 'ignore' });
    this.ended = once(this.process, 'exit');
    while (this.process.exitCode === null) {
      const socket = net.connect(this.port, OWN_HOST);
      const isThere = await once(socket, 'connect').then(() => true, () => false);
      socket.destroy();
      if (isThere) return;
      await sleep(20);
    }
    throw new Error(`nats-server has ended with ${this.process.exitCode}`);
  }

  signal(name) {
    this.process.kill(name);
  }

  async kill() {
    if (this.process === null) return;
    this.process.kill('SIGCONT');
    this.process.kill('SIGKILL');
    await this.ended;
    this.process = null;
  }

  async connect(t, options = {}) {
    const connection = await connect({ servers: this.address, reconnectTimeWait: 50, maxReconnectAttempts: -1, ...options });
    t.teardown(() => connection.close());
    return connection;
  }
}
