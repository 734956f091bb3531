'use strict';

// A server that gives its connections to the next process, and has taken those of the one before.

const { closeSync, statSync, unlinkSync } = require('node:fs');
const net = require('node:net');
const { deserialize, serialize } = require('node:v8');

const { FastBuffer } = require('../base/constants');
const { log, warn } = require('../base/log');
const { IN_FROZEN, MOVED_AHEAD } = require('../base/layout');
const { connectionsBy } = require('../connection/clients');
const { endOf, tlsOffset } = require('../connection/handshake-info');
const { kAll } = require('../listen/http-option');
const { upgradesOf } = require('../listen/routes');
const { addon } = require('../reactor/addon');
const { releaseReplies } = require('../reactor/defer-replies');
const outbox = require('../reactor/outbox');
const { state } = require('../reactor/reactors');
const { attach, release, waits } = require('./attachment');
const { Remains } = require('./remains');
const { exportServer, importServer } = require('./topics');
const { checkPath, listenNear } = require('./place');

/** @import { HandoverReport } from '../native/binding' */
/** @import { Server, WebSocket } from '../connection/state' */

/** `request`: as in upgrade/request-visibility.js. @typedef {{ ws: WebSocket, request: import('../upgrade/request-visibility').Early }} Foreseen */

/** Milliseconds for listeners of 'handover'. */
const PATIENCE = 10_000;
/** The same for Blobs and requests of the protocol of topics. */
const SETTLING = 1000;
const STEP = 5;

/** Errors of `connect` that mean that no process listens. The last one: it has ended meanwhile. */
const NOBODY = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET']);

/** How often a process tries again: others have come before it, or one is about to be at the path. */
const MOST_TRIES = 10;
const RETRY = 50;

/** In a second. */
const MILLISECONDS = 1000;

/** Processes that are greeted, or wait, at the same time. */
const MOST_GUESTS = 16;

/** A process that has connected to the path. */
class Guest {
  /** @param {net.Socket} socket */
  constructor(socket) {
    /** @type {import('../native/binding').JsCourier | null} */
    this.courier = null;
    /** Its end says that this process has handed on all messages. */
    this.socket = socket;
    /** It has greeted, and waits. */
    this.hasMet = false;
    /** The reactors give their connections away, or go on with them by themselves. */
    this.isGiven = false;
    this.hasLeft = false;
    /** It has copies of what takes long. */
    this.onCopied = () => {};
    this.copied = new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      this.onCopied = resolve;
    });
    this.leave = () => {};
    this.left = new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      this.leave = () => {
        this.hasLeft = true;
        resolve();
      };
    });
  }
}

class Handover {
  /** @param {Server} server @param {string} path */
  constructor(server, path) {
    this.server = server;
    this.path = path;
    /** Listens at the path. @type {net.Server | null} */
    this.host = null;
    /** What puts it there. @type {Promise<() => number> | null} */
    this.prepared = null;
    /** The conversation with the process before. @type {import('../native/binding').JsCourier | null} */
    this.courier = null;
    /** Its connections that will come, by their number. @type {Foreseen[]} */
    this.foreseen = [];
    /** That process has left, or has handed on all messages. @type {Promise<void>} */
    this.alone = Promise.resolve();
    /** Processes that want the connections, the first one first. @type {Set<Guest>} */
    this.guests = new Set();
    /** The one that gets them. @type {Guest | null} */
    this.heir = null;
    /** Connections of the process before that the program decides about. */
    this.undecided = 0;
    /** The process before gives its port and connections to this server. */
    this.isTaking = false;
    /** The inode of the socket at the path. */
    this.file = 0;
    this.remains = new Remains(server);
    /** The topics of the WebSocketServers in the process before. @type {import('./topics').MovedServer[]} */
    this.topics = [];
    /** Nodes for which messages wait while connections move. @type {import('../nodes/node').ThisNode[]} */
    this.holding = [];
    /** This server has given everything away. */
    this.isOver = false;
    /** Reactors that have yet to report. */
    this.left = 0;
    this.frozen = () => {};
    /** The next process has everything: connections leave when it has opened them. */
    this.isGiven = false;
    /** Reactors that have yet to report that. */
    this.gone = 0;
    this.tries = 0;
    this.again = () => {};
    this.serve = () => {};
    /** When the conversation began, and since when connections were not read. */
    this.begun = 0;
    this.silentSince = 0;
    this.hasFailed = false;
    this.moved = 0;
    this.taken = 0;
    /** By the reason. @type {Record<string, number>} */
    this.stayed = {};
    this.declined = 0;
    this.refused = 0;
    this.bytes = 0;
    /** Of the last one, in seconds. */
    this.duration = 0;
    this.pause = 0;
    /** Calls of `handover()`; null: the server has closed. @type {Array<(counts: import('../../types/running').HandoverCounts | null) => void>} */
    this.waiters = [];
  }

  get counts() {
    const { bytes, declined, duration, moved, pause, refused, stayed, taken } = this;
    return { moved, taken, stayed: { ...stayed }, declined, failed: refused, bytes, duration, pause };
  }

  /** @type {(timeout?: number) => Promise<import('../../types/running').HandoverCounts>} */
  wait(timeout) {
    if (this.isGiven && this.isOver) return Promise.resolve(this.counts);
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
   * Takes the port and the connections of the process before, or else calls `listen`. `bind` listens at a descriptor, and
   * throws if it cannot.
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
      if (!NOBODY.has(String(error.code))) this.fail(failed(error));
      // It has died, and this process has its port.
      else if (this.server._accepts()) this.serve();
      else listen();
    });
    socket.connect({ path: this.path }, () => {
      if (!this.server._isRunning()) return void socket.destroy();
      this.begun = performance.now();
      this.foreseen = [];
      socket.unref().removeAllListeners('error').on('error', () => {});
      this.alone = new Promise((resolve) => socket.on('close', () => resolve()));
      try {
        this.courier = converse(socket, { gives: false, wantsAhead: this.server._foresees() }, (report) => {
          this.onTaking(report, bind);
          if (report.kind !== 'ended') return;
          // Its end can be read from now on.
          if (report.reason === '') socket.resume();
          else socket.destroy();
        });
      } catch (error) {
        this.fail(failed(error));
      }
    });
  }

  /** @type {(report: HandoverReport, bind: (fd: number) => void) => void} */
  onTaking(report, bind) {
    const { bytes, fd, kind, left, moved, paused, reason, state: topics } = report;
    if (!this.server._isRunning() || this.hasFailed) {
      if (fd !== -1) closeSync(fd);
    } else if (kind === 'ahead') {
      try {
        this.foresee(/** @type {Buffer} */ (topics));
      } catch (error) {
        // The thread drops it, and connections would come to the requests of others.
        this.fail(failed(error));
      }
    } else if (kind === 'port') {
      this.takePort(/** @type {Buffer} */ (topics), bind, fd);
    } else if (kind === 'whole') {
      this.silentSince = performance.now() - paused;
      void this.take();
    } else if (kind === 'ended') {
      if (reason === '') {
        this.taken += moved;
        this.bytes += bytes;
        this.open(true);
        return this.finishTaking();
      }
      this.endTaking();
      this.isTaking = false;
      this.foreseen = [];
      for (const node of this.nodes()) void this.arrive(node);
      if (!left || !this.retry()) this.fail(failed(`the process at ${this.path} gives no connections: ${reason}`));
    }
  }

  /** Makes connections that will come while the process before still serves them. @param {Buffer} records */
  foresee(records) {
    // As V8 knows the bytes of a batch: it would compile for others, and again for those.
    const bytes = new FastBuffer(records.buffer, records.byteOffset, records.length);
    for (let start = 0; start < bytes.length; start = endOf(bytes, start)) this.foreseen.push(this.server._foresee(bytes, start));
  }

  /** What `foresee` has made of the connection in a record; null: nothing. @type {(bytes: Buffer, start: number) => Foreseen | null} */
  takeForeseen(bytes, start) {
    const number = bytes.readUInt32LE(tlsOffset(bytes, start) + MOVED_AHEAD);
    if (number === 0) return null;
    return this.foreseen[number - 1] ?? null;
  }

  /** @type {(topics: Buffer, bind: (fd: number) => void, fd: number) => void} */
  takePort(topics, bind, fd) {
    try {
      this.topics = read(topics);
      // An earlier try can have bound it.
      if (!this.server._accepts()) bind(fd);
      this.isTaking = true;
    } catch (error) {
      this.fail(/** @type {Error} */ (error));
    } finally {
      closeSync(fd);
    }
  }

  /** Nothing has moved, and nothing will. @param {Error} error */
  fail(error) {
    this.hasFailed = true;
    for (const node of this.nodes()) node.rename();
    this.refused++;
    this.isTaking = false;
    this.stop();
    this.host?.close();
    // The port is the other process's.
    if (this.server._accepts()) state.native.closeListener(this.server._listenerId);
    this.server._emit('error', error);
  }

  /** Whether another process can be at the path a little later. `error`: why the server could not listen. @type {(error?: unknown) => boolean} */
  retry(error) {
    const isLate = error === undefined || /** @type {{ code?: string }} */ (error).code === 'EADDRINUSE';
    if (!isLate || this.tries++ === MOST_TRIES) return false;
    setTimeout(() => this.server._isRunning() && this.again(), RETRY * this.tries);
    return true;
  }

  /** The server is bound. `serve`: it accepts. Whether connections come first. @param {() => void} serve */
  onBound(serve) {
    this.serve = () => {
      serve();
      // A listener of 'listening' can have closed it.
      if (!this.isOver) this.open();
    };
    if (!this.isTaking) return this.serve();
    // Where no process looks for it yet. `take` reports an error.
    this.prepare().catch(() => {});
  }

  /** From here on this process has the port and the connections, if it can give them away again. */
  async take() {
    const { courier } = this;
    this.left = state.reactors + 1;
    try {
      const imported = Array.from(this.servers(), (server) => this.importInto(server));
      await Promise.all([this.prepare(), ...imported]);
      courier?.take(state.native, this.server._listenerId);
    } catch (error) {
      // The process before can have given up meanwhile.
      if (courier === this.courier && this.server._isRunning()) this.fail(failed(error));
    }
  }

  /** The server gets the topics that one with its path has had. Resolves when its node follows them. @param {Server} server */
  importInto(server) {
    const path = String(server.options.path ?? '');
    const [moved, ...others] = this.topics.filter((one) => one.path === path);
    if (moved === undefined) return;
    this.topics = this.topics.filter((one) => one.path !== path);
    // Which one is this?
    if (others.length !== 0) return;
    const imported = importServer(server, moved);
    // It has waited for the program.
    if (!this.isTaking) void this.arrive(server._topics?.clusterNode);
    return imported;
  }

  /** The program has decided about a connection of the process before. */
  onDecided() {
    this.undecided--;
    this.next();
  }

  /** It has not accepted one. */
  noteDeclined() {
    this.declined++;
  }

  /** WebSocketServers whose connections come by the port. @returns {Set<Server>} */
  servers() {
    const { server } = this;
    const { http, [kAll]: isPort } = /** @type {any} */ (server.options);
    // All connections are its own.
    if (!http) return new Set([server]);
    const owners = connectionsBy(server).map(({ _owner: owner }) => owner);
    return new Set([...(isPort ? [] : [server]), ...upgradesOf(http).takers, ...owners]);
  }

  /** The nodes of the servers with an adapter. */
  nodes() {
    return Array.from(this.servers()).flatMap(({ _topics: topics }) => topics?.clusterNode ?? []);
  }

  /** The thread has ended, and each reactor has reported its connections: the last of these calls counts. */
  finishTaking() {
    if (--this.left !== 0) return;
    // The process before has waited for this.
    this.endTaking();
    // Some have ended in time.
    this.foreseen = [];
    this.isTaking = false;
    for (const node of this.nodes()) void this.arrive(node);
    this.note();
    if (!this.server._isRunning()) return;
    log('handover: %d connections taken, %d bytes, in %d s; not read for %d s', this.taken, this.bytes, this.duration, this.pause);
    this.server._emit('listening');
    this.server._listener?.emit('listening');
    this.next();
  }

  /** The descriptor of the conversation does not wait for the garbage collector. */
  endTaking() {
    this.courier?.stop();
    this.courier = null;
  }

  /** No process takes over before the node has the messages of the one before. @param {import('../nodes/node').ThisNode | null} [node] */
  async arrive(node) {
    await node?.arrive(this.alone);
    this.next();
  }

  /** A conversation has ended: with all, or without any. */
  note() {
    const now = performance.now();
    this.duration = (now - this.begun) / MILLISECONDS;
    if (this.silentSince !== 0) this.pause = (now - this.silentSince) / MILLISECONDS;
    this.silentSince = 0;
  }

  /** Listens where no process looks. */
  prepare() {
    this.prepared ??= new Promise((resolve, reject) => {
      this.host = net.createServer({ pauseOnConnect: true }, (socket) => this.greet(socket.on('error', () => {})));
      this.host.on('error', reject);
      listenNear(this.host, this.path, resolve);
      this.host.unref();
    });
    return this.prepared;
  }

  /** From now on the next process can come. `hasTaken`: the clients of the one before. */
  async open(hasTaken = false) {
    try {
      const appear = await this.prepare();
      this.file = appear();
    } catch (error) {
      // An error would end the program.
      if (hasTaken) warn('REACTOR_WS_HANDOVER', `no process can take over from this one: ${/** @type {Error} */ (error).message}`);
      else this.server._emit('error', failed(error));
    }
  }

  /** A process has connected. Those that say nothing delay no other one. @param {net.Socket} socket */
  greet(socket) {
    if (this.guests.size === MOST_GUESTS) {
      const silent = [...this.guests].find(({ hasMet }) => !hasMet);
      // It tries again, as when the others have been served.
      if (silent === undefined) return void socket.destroy();
      this.guests.delete(silent);
      silent.courier?.stop();
    }
    const guest = new Guest(socket.unref());
    try {
      guest.courier = converse(socket, { gives: true, wantsAhead: false }, (report) => this.onGiving(guest, report));
      this.guests.add(guest);
    } catch (error) {
      warn('REACTOR_WS_HANDOVER', `a process at ${this.path} gets no connections: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** Serves the next of the waiting processes, unless the program decides about connections that would have to stay. */
  next() {
    if (this.heir !== null || this.isTaking || this.isOver || this.undecided !== 0) return;
    if (this.nodes().some(({ awaited }) => awaited !== 0)) return;
    const heir = [...this.guests].find(({ hasMet }) => hasMet);
    if (heir !== undefined) this.give(heir);
  }

  /** @type {(guest: Guest, report: HandoverReport) => void} */
  onGiving(guest, { bytes, kind, moved, reason, stayed }) {
    if (kind === 'met') {
      guest.hasMet = true;
      return this.next();
    }
    if (kind === 'copied') guest.onCopied();
    else if (kind === 'given') this.isGiven = true;
    if (kind !== 'ended') return;
    this.guests.delete(guest);
    guest.courier?.stop();
    guest.leave();
    if (reason === '') {
      this.note();
      this.moved += moved;
      this.stayed = stayed;
      this.bytes += bytes;
      log('handover: %d connections given, %d bytes, in %d s; not read for %d s; stay: %o', moved, bytes, this.duration, this.pause, stayed);
      return this.leaveIfDone();
    }
    guest.socket.destroy();
    if (!this.isOver) {
      this.refused++;
      warn('REACTOR_WS_HANDOVER', `a process at ${this.path} did not take the connections: ${reason}`);
    }
    if (guest.isGiven) this.goOn();
  }

  /** This process keeps its connections. */
  goOn() {
    for (const ws of connectionsBy(this.server)) release(ws);
    for (const node of this.holding.splice(0)) node.release();
    this.note();
    this.heir = null;
    this.next();
  }

  /** Stops reading, lets the program finish its work, and gives the connections away. @param {Guest} heir */
  async give(heir) {
    const { server } = this;
    const id = server._listenerId;
    this.heir = heir;
    this.begun = performance.now();
    try {
      for (const ws of connectionsBy(server)) attach(ws, true);
      outbox.flush();
      heir.courier?.copy(state.native, id);
      await Promise.race([heir.copied, heir.left]);
      if (heir.hasLeft) return this.goOn();
      this.silentSince = performance.now();
      await this.freeze(id);
      if (!heir.hasLeft) await Promise.race([this.tell(), heir.left]);
      await this.sendsLeave();
      this.holding = this.nodes();
      const topics = await Promise.all(Array.from(this.servers(), exportServer));
      // A connection that has just opened can wait for the ends of others, and would stay.
      releaseReplies();
      outbox.flush();
      // And one that the HTTP server has given back: the bytes that it has read come first.
      if (!heir.hasLeft && server.options.http) await this.freeze(id);
      if (!heir.hasLeft) {
        for (const ws of connectionsBy(server)) attach(ws);
        outbox.flush();
        this.remains.giveBack();
        heir.courier?.give(state.native, id, serialize(topics), performance.now() - this.silentSince);
        heir.isGiven = true;
        return;
      }
    } catch (error) {
      warn('REACTOR_WS_HANDOVER', `connections stay: ${/** @type {Error} */ (error).message}`);
      heir.courier?.stop();
      // It is not the next one before its end is reported.
      this.guests.delete(heir);
    }
    // By now the server can have closed, and have no listener.
    state.native.thaw(id);
    this.goOn();
  }

  /** Lets listeners of 'handover' finish their work. */
  tell() {
    const { server } = this;
    const pending = [...new Set([server, ...this.servers()])].flatMap((one) =>
      one.rawListeners('handover').map(async (/** @type {Function} */ listener) => Reflect.apply(listener, one, [])),
    );
    return settled(pending, PATIENCE);
  }

  /** Resolves when JavaScript has had all that was read. @param {number} id @returns {Promise<void>} */
  freeze(id) {
    return new Promise((resolve) => {
      this.left = this.gone = state.reactors;
      this.frozen = resolve;
      state.native.freeze(id);
    });
  }

  /** Blobs are being read, or requests of the protocol of topics are under way. */
  async sendsLeave() {
    const due = performance.now() + SETTLING;
    const isBusy = () => connectionsBy(this.server).some(waits) || this.nodes().some(({ hasEchoes }) => hasEchoes);
    while (isBusy() && performance.now() < due) {
      await new Promise((resolve) => {
        setTimeout(resolve, STEP);
      });
    }
  }

  /** A FROZEN or a THAWED record of a reactor. @type {(kind: number, accepts: number) => void} */
  onRecord(kind, accepts) {
    if (kind === IN_FROZEN) {
      if (--this.left === 0) this.frozen();
    } else if (this.isTaking) {
      this.finishTaking();
    } else if (accepts === 0) {
      this.gone--;
      this.leaveIfDone();
    }
  }

  /** The thread has ended, and the reactors have reported the end of each connection that has moved. */
  leaveIfDone() {
    if (this.isGiven && this.heir?.hasLeft && this.gone === 0) void this.leave();
  }

  /** Connections that could not move are closed, and the server ends with the last of them. */
  async leave() {
    this.isOver = true;
    this.stop();
    this.host?.close();
    // Those that stay have messages that went nowhere.
    for (const ws of connectionsBy(this.server)) release(ws);
    if (this.holding.length !== 0) await Promise.all(this.holding.map((node) => node.hand()));
    this.heir?.socket.destroy();
    const { server } = this;
    for (const done of this.waiters.splice(0)) done(this.counts);
    for (const one of new Set([server, ...this.servers()])) one.close();
    this.remains.end();
  }

  /** All conversations that have moved nothing. */
  stop() {
    this.courier?.stop();
    for (const { courier } of this.guests) courier?.stop();
  }

  /** The server closes: no process takes over from it. */
  close() {
    if (this.isOver) return;
    this.isOver = true;
    // The other process goes on as these.
    if (this.isTaking || this.heir?.isGiven) for (const node of this.nodes()) node.rename();
    this.stop();
    if (this.heir?.isGiven === false) this.heir.leave();
    for (const done of this.waiters.splice(0)) done(null);
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

/**
 * Begins a conversation over a socket. It ends only if this process closes the socket, too. Throws if this process lacks
 * descriptors or threads.
 *
 * @type {(socket: net.Socket, role: { gives: boolean, wantsAhead: boolean }, report: (report: HandoverReport) => void) => import('../native/binding').JsCourier}
 */
function converse(socket, { gives, wantsAhead }, report) {
  try {
    return new (addon().Courier)(/** @type {any} */ (socket)._handle?.fd ?? -1, gives, wantsAhead, report);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** @param {unknown} why An error, or a text */
function failed(why) {
  const { code = 'WS_ERR_HANDOVER', message = why } = /** @type {any} */ (why);
  return Object.assign(new Error(`options.handover: ${message}`, { cause: message === why ? undefined : why }), { code });
}

/** Throws for such as a state of a later version of V8. @param {Buffer} topics */
function read(topics) {
  try {
    return deserialize(topics);
  } catch (error) {
    throw failed(error);
  }
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
