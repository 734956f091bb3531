// A broker in this process, whose adapters do all that an adapter may do, when the test says so.
import { setImmediate as turn } from 'node:timers/promises';

export class Broker {
  constructor({ history = true } = {}) {
    this.hasHistory = history;
    this.adapters = new Set();
    this.topics = new Map();
    this.epochs = 0;
    /** Called before each history is read, and may wait. */
    this.beforeRead = () => {};
    /** Called before each publish; throws what the broker refuses. */
    this.beforePublish = () => {};
    /** Messages are not delivered, as if a connection were lost. */
    this.isDeaf = false;
  }

  adapter() {
    return new (this.hasHistory ? WithHistory : Plain)(this);
  }

  topic(name) {
    if (!this.topics.has(name)) this.topics.set(name, { epoch: `epoch-${++this.epochs}`, offset: 0, kept: [] });
    return this.topics.get(name);
  }

  /** Forgets the last messages, as a failover does. */
  rollBack(name, count) {
    const topic = this.topic(name);
    topic.offset -= count;
    topic.kept.splice(-count);
  }

  flush() {
    this.topics.clear();
  }

  deliver(name, bytes, position) {
    if (this.isDeaf) return;
    for (const adapter of this.adapters) if (adapter.wanted.has(name)) adapter.node.deliver(name, bytes, position);
  }
}

class Plain {
  constructor(broker) {
    this.broker = broker;
    this.node = null;
    this.wanted = new Set();
    this.calls = [];
  }

  async start(node) {
    if (this.node !== null) throw new Error('started');
    await turn();
    this.node = node;
    this.broker.adapters.add(this);
  }

  async publish(name, bytes, { history }) {
    await this.broker.beforePublish(name, bytes);
    if (history === undefined) return void this.broker.deliver(name, bytes);
    const topic = this.broker.topic(name);
    const position = { epoch: topic.epoch, offset: ++topic.offset };
    topic.kept.push({ bytes: Buffer.from(bytes), position });
    topic.kept.splice(0, topic.kept.length - history.size);
    this.broker.deliver(name, bytes, position);
    return position;
  }

  async subscribe(topics) {
    this.calls.push(['subscribe', topics]);
    await turn();
    for (const topic of topics) this.wanted.add(topic);
  }

  async unsubscribe(topics) {
    this.calls.push(['unsubscribe', topics]);
    await turn();
    for (const topic of topics) this.wanted.delete(topic);
  }

  async close() {
    this.broker.adapters.delete(this);
    this.wanted.clear();
  }
}

class WithHistory extends Plain {
  async history(name, since, limit, { size }) {
    await this.broker.beforeRead(name, since);
    await turn();
    const topic = this.broker.topic(name);
    if (typeof since === 'object' && since.epoch === topic.epoch && since.offset > topic.offset) {
      Object.assign(topic, { epoch: `epoch-${++this.broker.epochs}`, offset: 0, kept: [] });
    }
    const position = { epoch: topic.epoch, offset: topic.offset };
    const kept = topic.kept.slice(-size);
    if (since === 'latest') return { recovered: true, position, messages: [] };
    if (since === 'oldest') return { recovered: true, position, messages: kept.slice(0, limit) };
    const rest = kept.filter((one) => one.position.offset > since.offset);
    const isWhole = since.epoch === topic.epoch && rest.length === topic.offset - since.offset;
    return { recovered: isWhole, position, messages: isWhole ? rest.slice(0, limit) : [] };
  }
}
