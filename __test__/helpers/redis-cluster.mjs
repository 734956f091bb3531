// A cluster of Redis, and a server with Sentinels, that belong to one test. Both need ports.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { OWN_HOST } from './own-host.mjs';

/** Milliseconds without an answer after which a node is taken for dead. */
const TIMEOUT = 1000;

let port = 7400;

/** So many ports of OWN_HOST: none that systems give to those who name no port, and killed servers find theirs free. */
const newPorts = (count) => Array.from({ length: count }, () => port++);

/** Processes of redis-server in a folder of the test. */
class Redises {
  constructor(t) {
    this.folder = mkdtempSync(path.join(os.tmpdir(), 'rws-redis-'));
    this.running = new Map();
    const killAll = () => {
      for (const child of this.running.values()) child.kill('SIGKILL');
    };
    process.on('exit', killAll);
    t.teardown(async () => {
      const ends = [...this.running.values()].map((child) => once(child, 'exit'));
      killAll();
      await Promise.all(ends);
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** Starts what listens on a port, and waits until it answers. */
  async run(port, settings, ...words) {
    const dir = path.join(this.folder, `${port}`);
    mkdirSync(dir, { recursive: true });
    const lines = Object.entries({ port, bind: OWN_HOST, 'protected-mode': 'no', dir, 'repl-diskless-sync-delay': 0, ...settings }).map(([name, value]) => `${name} ${value}\n`);
    writeFileSync(path.join(dir, 'redis.conf'), lines.join(''));
    const child = spawn('redis-server', [path.join(dir, 'redis.conf'), ...words], { stdio: 'ignore' });
    this.running.set(port, child);
    child.on('exit', () => this.running.get(port) === child && this.running.delete(port));
    while (!this.ask(port, 'PING').startsWith('PONG')) {
      if (child.exitCode !== null) throw new Error(`redis-server on port ${port} has ended with ${child.exitCode}`);
      await sleep(20);
    }
  }

  async kill(port) {
    const child = this.running.get(port);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Whether it is a replica that has what its master has. */
  isSynchronous(port) {
    return this.ask(port, 'INFO', 'replication').includes('master_link_status:up');
  }

  /** The answer of redis-cli; empty if there is none. */
  ask(port, ...words) {
    try {
      return execFileSync('redis-cli', ['-h', OWN_HOST, '-p', `${port}`, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    } catch {
      return '';
    }
  }
}

/** Three masters, each with a replica. */
export class RedisCluster extends Redises {
  static async start(t) {
    const cluster = new RedisCluster(t);
    cluster.ports = newPorts(12);
    const nodes = cluster.ports.slice(0, 6);
    cluster.nodes = nodes;
    await Promise.all(nodes.map((_, index) => cluster.runNode(index)));
    execFileSync('redis-cli', ['--cluster', 'create', ...nodes.map((port) => `${OWN_HOST}:${port}`), '--cluster-replicas', '1', '--cluster-yes'], { stdio: 'ignore', timeout: 120_000 });
    while (!nodes.every((port) => cluster.isWell(port))) await sleep(50);
    // Before that, none can take the place of its master.
    while (nodes.filter((port) => cluster.isSynchronous(port)).length !== 3) await sleep(50);
    return cluster;
  }

  runNode(index) {
    const settings = { 'cluster-enabled': 'yes', 'cluster-require-full-coverage': 'no', 'cluster-announce-ip': OWN_HOST, 'cluster-node-timeout': TIMEOUT, 'cluster-replica-validity-factor': 0, 'cluster-port': this.ports[index + 6], appendonly: 'yes', appendfsync: 'always', save: '""' };
    return this.run(this.nodes[index], settings);
  }

  isWell(port) {
    return this.ask(port, 'CLUSTER', 'INFO').includes('cluster_state:ok') && (this.ask(port, 'CLUSTER', 'NODES').match(/ (myself,)?slave /g) ?? []).length === 3;
  }

  /** The port of the master that has a key, as one of those that run says. */
  masterOf(key) {
    const [one] = this.running.keys();
    const slot = Number(this.ask(one, 'CLUSTER', 'KEYSLOT', key));
    const lines = this.ask(one, 'CLUSTER', 'NODES').split('\n');
    const holds = (range) => {
      const [from, to = from] = range.split('-').map(Number);
      return from <= slot && slot <= to;
    };
    const line = lines.find((text) => text.split(' ').slice(8).some(holds));
    return Number(/:(\d+)@/.exec(line)[1]);
  }
}

/** A master with a replica, and three Sentinels. */
export class RedisSentinels extends Redises {
  static async start(t) {
    const all = new RedisSentinels(t);
    const [master, replica, ...sentinels] = newPorts(5);
    const settings = { 'replica-announce-ip': OWN_HOST, appendonly: 'yes', appendfsync: 'always', save: '""' };
    await all.run(master, settings);
    await all.run(replica, { ...settings, replicaof: `${OWN_HOST} ${master}` });
    while (!all.isSynchronous(replica)) await sleep(20);
    const watch = { 'sentinel announce-ip': OWN_HOST, 'sentinel monitor': `main ${OWN_HOST} ${master} 2`, 'sentinel down-after-milliseconds': `main ${TIMEOUT}`, 'sentinel failover-timeout': 'main 3000' };
    for (const port of sentinels) await all.run(port, watch, '--sentinel');
    Object.assign(all, { master, sentinels });
    const knowsAll = (port) => /num-other-sentinels\n2\n/.test(all.ask(port, 'SENTINEL', 'MASTER', 'main')) && /num-slaves\n1\n/.test(all.ask(port, 'SENTINEL', 'MASTER', 'main'));
    while (!sentinels.every(knowsAll)) await sleep(50);
    return all;
  }

  /** The port of the master, as the Sentinels say. */
  masterNow() {
    return Number(this.ask(this.sentinels[0], 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main').split('\n')[1]);
  }
}
