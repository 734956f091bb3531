'use strict';

// A server that gives its connections to the next process, and has taken those of the one before.

const { chmodSync, closeSync, renameSync, statSync, unlinkSync } = require('node:fs');
const net = require('node:net');
const { deserialize, serialize } = require('node:v8');

const { warn } = require('../base/log');
const { IN_FROZEN, SERVICE_RESTART } = require('../base/layout');
const { connectionsOf } = require('../connection/clients');
const { addon } = require('../reactor/addon');
const { releaseReplies } = require('../reactor/defer-replies');
const outbox = require('../reactor/outbox');
const { state } = require('../reactor/reactors');
const { attach, release } = require('./attachment');
const { exportTopics, importTopics } = require('./topics');
const { checkPath, ownName } = require('./place');

/** @import { HandoverReport } from '../native/binding' */
/** @import { Server } from '../connection/state' */

/** Milliseconds for listeners of 'handover'. */
const PATIENCE = 10_000;
/** The same for Blobs and for requests of the protocol of topics. */
const SETTLING = 1000;
const STEP = 5;

/** Errors of `connect` that mean that no process listens. */
const NOBODY = new Set(['ENOENT', 'ECONNREFUSED']);

/** How often a process tries again: others have come before it, or one is about to be at the path. */
const MOST_TRIES = 10;
const RETRY = 50;

class Handover {
  /** @param {Server} server @param {string} path */
  constructor(server, path) {
    this.server = server;
    this.path = path;
    /** Listens at the path. @type {net.Server | null} */
    this.host = null;
    /** The conversation with the other process. @type {import('../native/binding').JsCourier | null} */
    this.courier = null;
    /** Processes that want the connections. @type {net.Socket[]} */
    this.waiting = [];
    this.isTaking = false;
    /** The inode of the socket at the path. */
    this.file = 0;
    /** Of the process before. @type {import('./topics').Moved[]} */
    this.topics = [];
    /** This server has given everything away. */
    this.isOver = false;
    /** Reactors that have yet to report. */
    this.left = 0;
    this.frozen = () => {};
    /** The next process has everything. */
    this.isGiven = false;
    /** Reactors that have yet to report that. */
    this.gone = 0;
    this.tries = 0;
    this.again = () => {};
    this.moved = 0;
    this.taken = 0;
    this.stayed = 0;
    this.refused = 0;
    /** Calls of `handover()`; null: the server has closed. @type {Array<(counts: import('../../types/running').HandoverCounts | null) => void>} */
    this.waiters = [];
  }

  get counts() {
    return { moved: this.moved, taken: this.taken, stayed: this.stayed, failed: this.refused };
  }

  /** @type {(timeout?: number) => Promise<import('../../types/running').HandoverCounts>} */
  wait(timeout) {
    if (this.isGiven) return Promise.resolve(this.counts);
    return new Promise((resolve, reject) => {
      if (this.isOver) return reject(failed('the server has closed'));
      const late = () => {
        this.waiters.splice(this.waiters.indexOf(done), 1);
        reject(failed(`no process has taken the connections within ${timeout} ms`));
      };
      const timer = timeout === undefined ? undefined : setTimeout(late, timeout);
      const done = (/** @type {import('../../types/running').HandoverCounts | null} */ counts) => {
        clearTimeout(timer);
        if (counts === null) reject(failed('the server has closed'));
        else resolve(counts);
      };
      this.waiters.push(done);
    });
  }

  /**
   * Takes the port and the connections of the process before, or else calls `listen`. `bind` listens at a descriptor.
   *
   * @type {(listen: () => void, bind: (fd: number) => void) => void}
   */
  begin(listen, bind) {
    this.again = () => this.begin(listen, bind);
    try {
      checkPath(this.path);
    } catch (error) {
      return void process.nextTick(() => this.server._emit('error', error));
    }
    const socket = new net.Socket();
    // Nothing must be read here.
    socket.pause();
    socket.on('error', (/** @type {Error & { code?: string }} */ error) => {
      if (!this.server._isRunning()) return;
      if (NOBODY.has(String(error.code))) listen();
      else this.server._emit('error', failed(error.message, error));
    });
    socket.connect({ path: this.path }, () => {
      const fd = /** @type {any} */ (socket)._handle.fd;
      this.courier = new (addon().Courier)(fd, false, (report) => this.onTaking(report, listen, bind));
      socket.destroy();
    });
  }

  /** @type {(report: HandoverReport, listen: () => void, bind: (fd: number) => void) => void} */
  onTaking({ kind, fd, left, moved, reason, state: topics }, listen, bind) {
    const isRunning = this.server._isRunning();
    if (kind === 'port') {
      if (!isRunning) {
        closeSync(fd);
        return this.stop();
      }
      this.isTaking = true;
      this.topics = deserialize(/** @type {Buffer} */ (topics));
      bind(fd);
    } else if (kind === 'ended') {
      this.courier = null;
      this.taken = moved;
      if (!isRunning) return;
      if (this.isTaking) {
        this.isTaking = false;
        if (reason !== '') warn('REACTOR_WS_HANDOVER', `the process before has not given all connections: ${reason}`);
        this.open();
      } else if (!left || !this.retry()) {
        this.server._emit('error', failed(`the process at ${this.path} gives no connections: ${reason}`));
      }
    }
  }

  /** Whether another process can be at the path a little later. `error`: why the server could not listen. @type {(error?: unknown) => boolean} */
  retry(error) {
    const isLate = error === undefined || /** @type {{ code?: string }} */ (error).code === 'EADDRINUSE';
    if (!isLate || this.tries++ === MOST_TRIES) return false;
    setTimeout(() => this.server._isRunning() && this.again(), RETRY * this.tries);
    return true;
  }

  /** The server is bound. Whether connections come, with the first of which it accepts others. @param {number} id */
  onBound(id) {
    if (!this.isTaking) {
      this.open();
      return false;
    }
    importTopics(this.server, this.topics);
    this.topics = [];
    outbox.flush();
    this.courier?.take(state.native, id);
    return true;
  }

  /** From now on the next process can come. */
  open() {
    const name = ownName(this.path);
    this.host = net.createServer({ pauseOnConnect: true }, (socket) => {
      this.waiting.push(socket.on('error', () => {}));
      this.next();
    });
    this.host.on('error', (error) => {
      this.server._emit('error', failed(error.message, error));
    });
    this.host.listen({ path: name }, () => {
      try {
        chmodSync(name, 0o600);
        this.file = statSync(name).ino;
        // In one step: some process is always there.
        renameSync(name, this.path);
      } catch (error) {
        this.host?.emit('error', error);
      }
    });
    this.host.unref();
  }

  /** Serves the next of the waiting processes. */
  next() {
    if (this.courier !== null || this.isOver) return;
    const socket = this.waiting.shift();
    if (socket === undefined) return;
    const fd = /** @type {any} */ (socket)._handle?.fd ?? -1;
    if (fd >= 0) this.courier = new (addon().Courier)(fd, true, (report) => this.onGiving(report));
    socket.destroy();
    if (fd < 0) this.next();
  }

  /** @param {HandoverReport} report */
  onGiving({ kind, moved, reason, stayed }) {
    if (kind === 'met') return void this.give();
    if (kind !== 'ended') return;
    this.courier = null;
    this.moved += moved;
    this.stayed = stayed;
    if (reason === '') {
      this.isGiven = true;
      return this.leaveIfDone();
    }
    this.refused++;
    warn('REACTOR_WS_HANDOVER', `a process at ${this.path} did not take all connections: ${reason}`);
    if (this.left !== 0) this.thaw();
    this.next();
  }

  /** Stops reading, lets the program finish its work, and gives the connections away. */
  async give() {
    const { server } = this;
    const id = server._listenerId;
    if (!server._accepts()) return this.stop();
    try {
      await this.freeze(id);
      await settled(server.rawListeners('handover').map(async (listener) => Reflect.apply(listener, server, [])), PATIENCE);
      await this.sendsLeave(performance.now() + SETTLING);
      const topics = serialize(await exportTopics(server));
      // A connection that has just opened can wait for the ends of others, and would stay.
      releaseReplies();
      for (const ws of connectionsOf(server)) attach(ws);
      outbox.flush();
      if (this.courier === null || !server._accepts()) throw new Error('the server has closed');
      this.courier.give(state.native, id, topics);
    } catch (error) {
      warn('REACTOR_WS_HANDOVER', `connections stay: ${/** @type {Error} */ (error).message}`);
      this.thaw();
      this.stop();
    }
  }

  /** Resolves when JavaScript has had all that was read. @param {number} id @returns {Promise<void>} */
  freeze(id) {
    return new Promise((resolve) => {
      this.left = this.gone = state.reactors;
      this.frozen = resolve;
      state.native.freeze(id);
    });
  }

  thaw() {
    this.left = 0;
    if (this.server._listenerId !== -1) state.native.thaw(this.server._listenerId);
  }

  /** Blobs are being read, or requests of the protocol of topics are under way. @param {number} due */
  async sendsLeave(due) {
    while (connectionsOf(this.server).some(({ _extra: extra }) => extra?.pendingSends?.length || extra?.isBusy) && performance.now() < due) {
      await new Promise((resolve) => {
        setTimeout(resolve, STEP);
      });
    }
  }

  /** A FROZEN or a THAWED record of a reactor. @type {(kind: number, accepts: number) => void} */
  onRecord(kind, accepts) {
    if (kind === IN_FROZEN) {
      if (this.left !== 0 && --this.left === 0) this.frozen();
    } else if (accepts !== 0) {
      for (const ws of connectionsOf(this.server)) release(ws);
    } else {
      this.gone--;
      this.leaveIfDone();
    }
  }

  /** The thread has ended, and the reactors have reported the end of each connection that has moved. */
  leaveIfDone() {
    if (this.isGiven && this.gone === 0) this.leave();
  }

  /** Connections that could not move are closed, and the server ends with the last of them. */
  leave() {
    this.isOver = true;
    for (const socket of this.waiting.splice(0)) socket.destroy();
    this.host?.close();
    const { server } = this;
    for (const done of this.waiters.splice(0)) done(this.counts);
    server.close();
    for (const ws of connectionsOf(server)) ws.close(SERVICE_RESTART);
  }

  stop() {
    this.courier?.stop();
    this.courier = null;
  }

  /** The server closes: no process takes over from it. */
  close() {
    if (this.isOver) return;
    this.isOver = true;
    this.stop();
    for (const done of this.waiters.splice(0)) done(null);
    for (const socket of this.waiting.splice(0)) socket.destroy();
    if (this.host === null) return;
    this.host.close();
    try {
      // Another process can be there by now.
      if (statSync(this.path).ino === this.file) unlinkSync(this.path);
    } catch {
      // It is not there.
    }
  }
}

/** @type {(text: string, cause?: Error & { code?: string }) => Error} */
function failed(text, cause) {
  return Object.assign(new Error(`options.handover: ${text}`, { cause }), { code: cause?.code ?? 'WS_ERR_HANDOVER' });
}

/** Resolves when all have, or have failed, or the time is over. @type {(promises: Promise<unknown>[], patience: number) => Promise<void>} */
async function settled(promises, patience) {
  if (promises.length === 0) return;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, patience);
  });
  const failed = (/** @type {PromiseSettledResult<unknown>[]} */ results) => {
    for (const result of results) if (result.status === 'rejected') warn('REACTOR_WS_HANDOVER', `a listener of 'handover' has failed: ${result.reason}`);
  };
  await Promise.race([Promise.allSettled(promises).then(failed), late]);
  clearTimeout(timer);
}

module.exports = { Handover };
