// A model of the messages that subscribers must get.

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

/** In place of a topic: the messages of `send()`. */
const SENT = '';

/**
 * One connection: the messages that it should get, those that it gets, and those reported as not
 * sent.
 */
export class Listener {
  constructor() {
    /** Names of topics and numbers of messages. */
    this.wanted = [];
    this.heard = [];
    this.dropped = new Map();
    this.gaps = new Map();
    /** Once the connection has ended: whether all its messages come before the end. */
    this.ending = null;
  }

  onDropped(name, count) {
    this.dropped.set(name, (this.dropped.get(name) ?? 0) + count);
  }

  onGap(name, from, to) {
    this.gaps.set(name, [...(this.gaps.get(name) ?? []), [from, to]]);
  }

  /**
   * Returns the fault in the received messages, '' for none; `missing` counts those that have not
   * come yet.
   */
  look(model) {
    this.missing = 0;
    this.shortage = '';
    const ordered = ({ name }) => !SLOW_NAMES.includes(name);
    const [wanted, heard] = [this.wanted.filter(ordered), this.heard.filter(ordered)];
    const at = heard.findIndex(({ n }, index) => n !== wanted[index]?.n);
    if (at !== -1) return `heard ${heard[at].n} of ${heard[at].name}, not ${wanted[at]?.n} of ${wanted[at]?.name}`;
    if (this.ending !== 'cut') this.lack(wanted.length - heard.length, wanted[heard.length]);
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

/** The messages that each connection should get. */
export class Model {
  constructor() {
    this.topics = new Map(NAMES.map((name) => [name, { members: new Set(), messages: [] }]));
    /** By the number of a message: its offset, and how often it is to arrive. */
    this.offsets = new Map();
    this.copies = new Map();
    this.next = 0;
  }

  want(one, name, n) {
    one.wanted.push({ name, n });
    this.copies.set(n, (this.copies.get(n) ?? 0) + 1);
  }

  send(one, n) {
    this.want(one, SENT, n);
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
