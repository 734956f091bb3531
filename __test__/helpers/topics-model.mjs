// A model of the messages that subscribers must get.

import { createRequire } from 'node:module';

const { SENDS_WAIT } = createRequire(import.meta.url)('../../lib/base/bits.js');

/** Topics by name, with their settings. */
export const TOPICS = {
  plain: {},
  kept: { history: 30 },
  long: { history: 1_000_000 },
  drop: { slow: 'drop', limit: 65_536 },
  latest: { slow: 'latest', limit: 65_536 },
  behind: { slow: 'catch-up', limit: 65_536, history: 40 },
  ring: { slow: 'catch-up', limit: 65_536, history: 1_000_000 },
};
export const NAMES = Object.keys(TOPICS);
export const SLOW_NAMES = NAMES.filter((name) => TOPICS[name].slow !== undefined);

/** In place of a topic: the messages of `send()`, and of `broadcast()`. */
const SENT = '';
const EVERYONE = '*';

/** A connection: the messages that it should get and gets, and those reported as not sent. */
export class Listener {
  constructor() {
    this.begin();
    /** Once the connection has ended: whether all its messages come before the end. */
    this.ending = null;
  }

  /** What is looked at together begins. */
  begin() {
    /** Names of topics and numbers of messages. */
    this.wanted = [];
    this.heard = [];
    this.dropped = new Map();
    this.gaps = new Map();
    /** How many messages are wanted of `publish()` and of `send()`. */
    this.counts = [0, 0];
    /** Messages of `send()` that cannot be passed by one that is published: no Blob is read before them. */
    this.settled = 0;
  }

  /** One more message: it comes after as many of the other kind. */
  want(name, n) {
    const isSend = name === SENT;
    if ((this.ws._bits & SENDS_WAIT) === 0) this.settled = this.counts[1];
    const after = isSend ? this.counts[0] : this.settled;
    if (isOrdered({ name })) this.counts[Number(isSend)]++;
    this.wanted.push({ name, n, after });
  }

  onDropped(name, count) {
    this.dropped.set(name, (this.dropped.get(name) ?? 0) + count);
  }

  onGap(name, from, to) {
    this.gaps.set(name, [...(this.gaps.get(name) ?? []), [from, to]]);
  }

  /** The fault in the received messages, or ''; `missing` counts those that have not come yet. */
  look(model) {
    this.missing = 0;
    this.shortage = '';
    const wanted = [false, true].map((isSend) => this.wanted.filter((one) => isOrdered(one) && (one.name === SENT) === isSend));
    const counts = [0, 0];
    for (const { n, name } of this.heard.filter(isOrdered)) {
      const kind = Number(name === SENT);
      const next = wanted[kind][counts[kind]++];
      if (next?.n !== n) return `heard ${n} of '${name}', not ${next?.n} of '${next?.name}'`;
      if (counts[1 - kind] < next.after) return `heard ${n} of '${name}' before ${wanted[1 - kind][next.after - 1].n}`;
    }
    if (this.ending !== 'cut') wanted.forEach((all, kind) => this.lack(all.length - counts[kind], all[counts[kind]]));
    return SLOW_NAMES.map((name) => this.lookAt(model, name)).find((wrong) => wrong !== '') ?? '';
  }

  lack(count, message) {
    if (count <= 0) return;
    this.missing += count;
    this.shortage += ` ${count} of '${message.name}', such as ${message.n}, on ${this.kind};`;
  }

  lookAt(model, topic) {
    const of = ({ name }) => name === topic;
    const [wanted, heard] = [this.wanted.filter(of), this.heard.filter(of)];
    const gaps = this.gaps.get(topic) ?? [];
    const isIn = (n) => gaps.some(([from, to]) => from <= model.offsets.get(n) && model.offsets.get(n) <= to);
    let [next, missed] = [0, 0];
    for (const { n } of wanted) {
      if (heard[next]?.n === n) next++;
      else if (!isIn(n)) missed++;
    }
    if (next < heard.length) return `heard ${heard[next].n} of ${topic}, behind ${heard[next - 1]?.n}`;
    const dropped = this.dropped.get(topic) ?? 0;
    const isExact = TOPICS[topic].slow !== 'catch-up';
    if (this.ending === null) {
      this.lack(missed - dropped, wanted.at(-1));
      if (isExact && missed < dropped) return `${missed} of ${topic} are missing, and ${dropped} are reported`;
    }
    return '';
  }
}

function isOrdered({ name }) {
  return !SLOW_NAMES.includes(name);
}

/** The messages that each connection should get. */
export class Model {
  constructor() {
    this.topics = new Map(NAMES.map((name) => [name, { members: new Set(), messages: [] }]));
    /** By the number of a message: its offset, and how often it is to arrive. */
    this.offsets = new Map();
    this.next = 0;
  }

  want(one, name, n) {
    one.want(name, n);
  }

  send(one, n) {
    this.want(one, SENT, n);
  }

  broadcast(one, n) {
    this.want(one, EVERYONE, n);
  }

  /** Returns the number of recipients. */
  publish(name, n, except) {
    const { members, messages } = this.topics.get(name);
    messages.push(n);
    this.offsets.set(n, messages.length);
    const matched = [...members].filter((one) => !except.includes(one));
    for (const one of matched) this.want(one, name, n);
    return matched.length;
  }

  /** Returns the argument of the callback. */
  subscribe(one, name, since) {
    const { members, messages } = this.topics.get(name);
    const { history = 0 } = TOPICS[name];
    members.add(one);
    if (history === 0) return { recovered: false, replayed: 0, offset: null };
    const oldest = Math.max(0, messages.length - history);
    const from = since === 'oldest' ? oldest : since;
    const recovered = from !== undefined && from >= oldest && from <= messages.length;
    const replayed = recovered ? messages.slice(from) : [];
    for (const n of replayed) this.want(one, name, n);
    return { recovered, replayed: replayed.length, offset: messages.length };
  }

  unsubscribe(one, name) {
    return this.topics.get(name).members.delete(one);
  }

  leave(one) {
    for (const { members } of this.topics.values()) members.delete(one);
  }

  /** Offset of the last message of a topic that the connection has got. */
  position(one, topic) {
    const last = one.heard.findLast(({ name }) => name === topic);
    return last === undefined ? undefined : this.offsets.get(last.n);
  }
}
