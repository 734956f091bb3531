// Random programs over connections of every kind, against a model: no connection misses a message
// without a report, none gets one twice, the order is that of the calls, and receipts have the
// deliveries. A million steps, from seed 1 on:
//
//     TOPICS_STEPS=1000000 TOPICS_SEED=1 npx ava __test__/topics/model.spec.mjs
//
// Each slice has a seed and a server of its own: a history grows with each step, and a subscriber
// that joins at its oldest message gets all of it, so one long program takes time with the square
// of its length.
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import { setTimeout, setImmediate as turn } from 'node:timers/promises';

import { listenFree, randomNumbers, startServer, test, wsClient } from '../helpers/index.mjs';
import { Listener, Model, NAMES, SLOW_NAMES, TOPICS } from '../helpers/topics-model.mjs';
import { wrapUpgrades } from '../helpers/wrapped.mjs';

const require = createRequire(import.meta.url);
const { bytesSettled } = require('../../lib/reactor/exchange.js');

const STEPS = Number(process.env.TOPICS_STEPS ?? 10_000);
const SLICE_OF_CI = 2500;
const SLICE = Number(process.env.TOPICS_SLICE ?? SLICE_OF_CI);
const SEED = Number(process.env.TOPICS_SEED ?? 1);
const CONNECTIONS = 12;
/** Steps after which all expected messages are checked. */
const ROUND = 250;
/** A connection that does not read in one round of this many is slow: much is published. */
const BURST_ROUNDS = 8;
const BURST = 250;
const BURST_BYTES = 64 * 1024;
/** Milliseconds for which no expected message comes. */
const PATIENCE = 180_000;


/** Steps are made while it is read. */
class SlowBlob extends Blob {
  async arrayBuffer() {
    await setTimeout(this.size % 8);
    return super.arrayBuffer();
  }
}

class Program {
  constructor(t, seed) {
    this.t = t;
    this.seed = seed;
    this.random = randomNumbers(seed);
    this.model = new Model();
    this.all = [];
    /** The connections that have ended in this round. */
    this.gone = [];
    this.receipts = [];
    this.answers = [];
    this.content = new Map();
  }

  /** A server with connections of its own port, of an HTTP server, and over streams. */
  async start() {
    const { t } = this;
    const options = { topicOptions: (name) => TOPICS[name], historyBudget: 0 };
    // Without context takeover one compressed form is for all, also of a history.
    if (this.seed % 2 === 0) options.perMessageDeflate = { threshold: 500, serverNoContextTakeover: this.seed % 4 === 0 };
    this.server = await startServer(t, options);
    const { handleUpgrade } = Object.getPrototypeOf(this.server);
    // One list of clients, whichever of the two objects serves them.
    this.t.is(this.server.clients.size, 0);
    const wrapped = wrapUpgrades({ __proto__: this.server });
    let count = 0;
    const behind = http.createServer().on('upgrade', (request, socket, head) => {
      const [owner, handle] = count++ % 2 === 0 ? [this.server, handleUpgrade] : [wrapped, wrapped.handleUpgrade];
      handle.call(owner, request, socket, head, (ws) => this.server.emit('connection', ws, request));
    });
    await listenFree(t, behind);
    this.ports = [this.server.address().port, behind.address().port, behind.address().port];
    for (let n = 0; n < CONNECTIONS; n++) this.all.push(await this.connect());
    this.epochs = new Map();
    for (const name of NAMES) {
      this.model.subscribe(this.all[0], name);
      const position = await new Promise((resolve) => this.all[0].ws.subscribe(name, (result) => resolve(result.position)));
      this.epochs.set(name, position?.epoch ?? 'none');
    }
  }

  async connect() {
    const one = new Listener();
    const port = this.ports[this.random(this.ports.length)];
    one.client = new wsClient(`ws://127.0.0.1:${port}`);
    [[one.ws]] = await Promise.all([once(this.server, 'connection'), once(one.client, 'open')]);
    one.kind = `port ${this.ports.indexOf(port)}, ${one.ws._extra?.stream ? 'stream' : one.ws._slot}`;
    this.t.teardown(() => one.client.terminate());
    one.client.on('error', () => {});
    one.ws.on('error', () => {});
    one.ws.on('dropped', (name, dropped) => one.onDropped(name, dropped));
    one.ws.on('gap', (name, from, to) => one.onGap(name, from.offset, to.offset));
    one.client.on('message', (data, isBinary) => {
      const n = Number.parseInt(data.toString('latin1', 0, 16), 10);
      const { name, isBinary: wanted, length } = this.content.get(n);
      if (isBinary !== wanted || data.length !== length) this.fail(`message ${n} of ${name} came as something else`);
      one.heard.push({ name, n });
    });
    return one;
  }

  fail(what) {
    throw new Error(`${what} (TOPICS_SEED=${this.seed} TOPICS_STEPS=${this.steps}, step ${this.step})`);
  }

  expect(given, wanted, what) {
    if (given !== wanted) this.fail(`${what}: ${given}, not ${wanted}`);
  }

  /** A message with a number, of some kind, for a topic or to be sent. */
  message(name, length) {
    const { random } = this;
    const n = ++this.model.next;
    const text = `${n} `.padEnd(length ?? (random(40) === 0 ? random(90_000) : random(300)), 'x');
    const isBinary = random(2) === 0;
    this.content.set(n, { name, isBinary, length: text.length });
    const data = isBinary ? Buffer.from(text) : text;
    return { n, data, text, isBinary };
  }

  publish(name, from, length) {
    const { all, model, random } = this;
    const { n, data } = this.message(name, length);
    const except = random(8) === 0 ? all.filter(() => random(3) === 0) : [];
    const options = { except: except.map(({ ws }) => ws), key: ['', 'a', 'b'][random(3)] };
    if (random(8) === 0) options.receipt = true;
    const matched = model.publish(name, n, from === null ? except : [from, ...except]);
    const given = (from === null ? this.server : from.ws).publish(name, data, options);
    if (!options.receipt) return this.expect(given, matched, `subscribers of ${name}`);
    this.receipts.push(given.then(({ position }) => ({ position, n, name })));
  }

  subscribe(one, name, since) {
    // A second subscription would replay messages that the connection has.
    if (one.ws.isSubscribed(name)) return;
    const wanted = this.model.subscribe(one, name, since);
    const position = typeof since === 'number' ? { epoch: this.epochs.get(name), offset: since } : since;
    const called = new Promise((resolve) => one.ws.subscribe(name, { since: position }, resolve));
    this.answers.push(called.then((result) => ({ one, name, result, wanted })));
  }

  acts = {
    subscribe: (one, name) => {
      const top = this.model.topics.get(name).messages.length;
      this.subscribe(one, name, [undefined, 'oldest', Math.max(0, top - this.random(50)), top + 1][this.random(4)]);
    },
    unsubscribe: (one, name) => {
      // One connection stays a member of all topics: drops in topics without members go unreported.
      if (one !== this.all[0]) this.expect(one.ws.unsubscribe(name), this.model.unsubscribe(one, name), 'unsubscribe');
    },
    publish: (one, name) => this.publish(name, null),
    publishFrom: (one, name) => this.publish(name, one),
    send: (one) => {
      const { n, data, text, isBinary } = this.message('');
      this.model.send(one, n);
      one.ws.send(this.random(6) === 0 ? new SlowBlob([text]) : data, { binary: isBinary });
    },
    broadcast: (one) => {
      const { n, data } = this.message('*');
      const open = this.all.filter(({ ws }) => ws.readyState === ws.OPEN);
      const others = this.random(2) === 0 ? open : open.filter((other) => other !== one);
      for (const other of others) this.model.broadcast(other, n);
      const except = others === open ? [] : [one.ws];
      this.expect(this.server.broadcast(data, { except }), others.length, 'all');
    },
    stall: ({ client }) => client._socket.pause(),
    drain: ({ client }) => client._socket.resume(),
    end: (one) => (one === this.all[0] || this.random(8) !== 0 ? undefined : this.end(one)),
  };

  /** A connection ends, and comes back with the positions of its last messages. */
  async end(one) {
    const { model, random, seed } = this;
    const closed = Promise.all([once(one.client, 'close'), once(one.ws, 'close')]);
    const joined = one.ws.subscriptions;
    const way = ['close', 'terminate', 'leave', 'cut', 'half'][random(5)];
    one.ending = way === 'close' ? 'closed' : 'cut';
    if (way === 'close' || way === 'terminate') {
      model.leave(one);
      one.ws[way]();
    } else if (way === 'half') {
      await this.halfClose(one);
    } else {
      one.client[way === 'leave' ? 'close' : 'terminate']();
    }
    one.client._socket.resume();
    await closed;
    model.leave(one);
    this.expect(one.ws.subscriptions.length, 0, `topics of one that has ended, seed ${seed}`);
    this.gone.push(one);
    const next = await this.connect();
    this.all[this.all.indexOf(one)] = next;
    for (const name of joined) this.subscribe(next, name, TOPICS[name].history ? model.position(one, name) : undefined);
  }

  /** A connection ends its side while messages wait for it, and has left all topics then. */
  async halfClose(one) {
    for (const name of NAMES) this.publish(name, null, BURST_BYTES);
    one.client._socket.end();
    while (one.ws.readyState === one.ws.OPEN) await turn();
    this.model.leave(one);
    for (const name of NAMES) this.publish(name, null);
    this.acts.broadcast(one);
  }

  /** A connection that does not read gets more than any kernel takes. */
  async burst() {
    const one = this.all[1 + this.random(CONNECTIONS - 1)];
    for (const name of SLOW_NAMES) this.subscribe(one, name);
    one.client._socket.pause();
    for (let n = 0; n < BURST; n++) {
      this.publish(SLOW_NAMES[this.random(SLOW_NAMES.length)], this.random(10) === 0 ? one : null, BURST_BYTES);
      if (n % 10 === 0) await turn();
    }
  }

  async look() {
    for (const { client } of this.all) client._socket.resume();
    let [left, since] = [Infinity, Date.now()];
    for (;;) {
      const listeners = [...this.all, ...this.gone];
      for (const one of listeners) {
        const wrong = one.look(this.model);
        if (wrong !== '') this.fail(wrong);
      }
      const missing = listeners.reduce((sum, one) => sum + one.missing, 0);
      if (missing === 0) break;
      if (missing !== left) [left, since] = [missing, Date.now()];
      else if (Date.now() - since > PATIENCE) this.fail(`${missing} messages do not come: ${listeners.map((one) => one.shortage).join('')}`);
      for (let n = 0; n < 10; n++) await turn();
    }
    await this.lookAtRest();
    for (const one of this.all) {
      const wrong = one.look(this.model);
      if (wrong !== '') this.fail(wrong);
    }
    for (const one of await Promise.all(this.answers.splice(0))) this.lookAtAnswer(one);
    for (const one of await Promise.all(this.receipts.splice(0))) this.lookAtReceipt(one);
    for (const name of NAMES) this.expect(this.server.subscriberCount(name), this.model.topics.get(name).members.size, name);
    for (const one of this.all) one.begin();
    this.gone.length = 0;
  }

  /**
   * What is still on its way belongs to this round. A topic that one leaves while it is behind
   * reports the messages that it was excepted from, too, so reports may outnumber what is missing.
   */
  async lookAtRest() {
    const heard = () => this.all.reduce((sum, one) => sum + one.heard.length, 0);
    for (let before = -1; before !== heard(); ) {
      before = heard();
      for (const { ws, kind } of this.all) await this.lookAtBytes(ws, kind);
      const answered = this.all.map(({ ws }) => once(ws, 'pong'));
      for (const { ws } of this.all) ws.ping();
      await Promise.all(answered);
    }
  }

  /** All bytes of sends and of topics that one was given have left, or are known not to. */
  async lookAtBytes(ws, kind) {
    const since = Date.now();
    while (ws.bufferedAmount !== 0 || (ws._extra?.stream ? 0 : ws._accepted - bytesSettled(ws)) !== 0) {
      if (Date.now() - since > PATIENCE) this.fail(`bufferedAmount, ${kind}: ${ws.bufferedAmount}, ${ws._accepted}`);
      await turn();
    }
  }

  lookAtAnswer({ one, name, result: { position, recovered, replayed }, wanted }) {
    // A connection that ended meanwhile is no member.
    if (one.ending !== null) return;
    this.expect(recovered, wanted.recovered, `recovered, ${name}`);
    this.expect(replayed, wanted.replayed, `replayed, ${name}`);
    this.expect(position?.offset ?? null, wanted.offset, `position, ${name}`);
  }

  lookAtReceipt({ position, n, name }) {
    this.expect(position?.offset ?? 0, TOPICS[name].history ? this.model.offsets.get(n) : 0, `offset, ${name}`);
  }

  async run(steps) {
    this.steps = steps;
    const { acts, random } = this;
    const names = [...Object.keys(acts), 'publish', 'publish', 'publishFrom', 'send', 'subscribe'];
    for (this.step = 0; this.step < steps; this.step++) {
      await acts[names[random(names.length)]](this.all[random(CONNECTIONS)], NAMES[random(NAMES.length)]);
      if (random(30) === 0) await turn();
      if (this.step % (ROUND * BURST_ROUNDS) === ROUND) await this.burst();
      if (this.step % ROUND === ROUND - 1 || this.step === steps - 1) await this.look();
    }
  }

  async finish() {
    const closed = this.all.map(({ ws }) => once(ws, 'close'));
    for (const { ws } of this.all) ws.terminate();
    await Promise.all(closed);
    const kept = NAMES.filter((name) => TOPICS[name].history).map((name) => [name, 0]);
    this.t.deepEqual([...this.server.topics()].sort(), kept.sort());
    this.t.is(this.server.metrics().bytesWaiting, 0);
    this.server.close();
    await once(this.server, 'close');
    this.t.deepEqual([...this.server.topics()], []);
  }
}

// More than a few at once would take the memory of all their histories.
const slice = STEPS > 4 * SLICE ? test.serial : test;
for (let seed = SEED, left = STEPS; left > 0; seed++, left -= SLICE) {
  const steps = Math.min(SLICE, left);
  slice(`random programs do what the model says, seed ${seed}, ${steps} steps`, async (t) => {
    // Takes ava's own timeout away, from all tests.
    if (steps > SLICE_OF_CI) t.timeout(600_000 + 10 * steps);
    const program = new Program(t, seed);
    await program.start();
    await program.run(steps);
    await program.finish();
  });
}
