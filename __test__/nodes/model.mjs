// What clients of several nodes may hear: checked with each message.
import assert from 'node:assert/strict';
import { once } from 'node:events';

import { WebSocket } from 'ws';

/** The one order of all topics. */
export class World {
  constructor(isShared, isLossy) {
    this.isShared = isShared;
    /** The broker can start without its last messages. */
    this.isLossy = isLossy;
    /** By topic, epoch and offset. */
    this.texts = new Map();
    /** Texts and positions that the broker has confirmed. */
    this.confirmed = [];
    this.heard = 0;
    this.replays = 0;
    this.gaps = 0;
    this.refused = 0;
    this.unanswered = 0;
    this.failure = null;
  }

  place(topic, { epoch, offset }, text) {
    const key = `${topic}|${epoch}|${offset}`;
    const known = this.texts.get(key);
    assert(known === undefined || known === text, `${key} is ${known} and ${text}`);
    this.texts.set(key, text);
  }

  /** Confirmed messages are at their positions, and no subscriber got a wrong one. */
  check() {
    if (this.failure !== null) throw this.failure;
    for (const { topic, position, text } of this.confirmed) {
      const known = this.texts.get(`${topic}|${position.epoch}|${position.offset}`);
      assert(known === undefined || known === text, `${text} was confirmed at ${position.offset} of ${topic}, where ${known} is`);
    }
  }
}

/** A client, which may go from node to node. */
export class Member {
  constructor(world, name) {
    this.world = world;
    this.name = name;
    /** By topic: the last position, and whether it is the one of a message. */
    this.topics = new Map();
    /** Topics that it is about to leave. */
    this.leaving = new Set();
    this.sent = new Map();
    this.socket = null;
    this.port = 0;
    this.connections = 0;
    this.asked = 0;
    /** Its name on this connection: order is that of a node. */
    this.publisher = '';
    this.count = 0;
  }

  async connect(port) {
    this.port = port;
    const publisher = `${this.name}.${++this.connections}`;
    const socket = new WebSocket(`ws://127.0.0.1:${port}`);
    socket.on('error', () => {});
    await once(socket, 'open');
    // It may have connected twice at once.
    this.socket?.terminate();
    this.socket = socket;
    this.publisher = publisher;
    socket.on('message', (data) => {
      if (socket !== this.socket) return;
      try {
        const [line, said] = String(data).split('\n');
        if (said === undefined) return this.take(JSON.parse(line));
        const [, epoch, offset] = JSON.parse(line);
        this.hear(JSON.parse(said), { epoch, offset });
      } catch (error) {
        this.world.failure ??= error;
      }
    });
    this.leaving.clear();
    for (const [topic, state] of this.topics) this.ask(topic, state);
  }

  /** For the report of a fault: what was last asked and answered. */
  note(topic, ...words) {
    const { last, story } = this.topics.get(topic) ?? {};
    story?.push(`${Date.now()} ${JSON.stringify([...words, 'at', last?.offset])}`);
    if (story?.length > 12) story.shift();
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  leave() {
    this.socket?.terminate();
    this.socket = null;
    this.sent.clear();
  }

  subscribe(topic) {
    if (this.topics.has(topic) || this.leaving.has(topic)) return;
    const state = { last: null, first: null, asked: 0, isAsked: false, isUntold: false, story: [], numbers: new Map() };
    this.topics.set(topic, state);
    this.ask(topic, state);
  }

  ask(topic, state) {
    state.isAsked = false;
    // Its report can be lost with the connection: the positions have told of it.
    state.isUntold = false;
    state.asked = ++this.asked;
    state.first = null;
    // Another node may get a message later than the one before: only positions would say that it is the same.
    state.numbers = new Map();
    const since = this.world.isShared && state.last !== null ? state.last : undefined;
    if (since !== undefined) this.world.replays++;
    this.note(topic, 'asks', this.port, since);
    this.send({ do: 'subscribe', asked: state.asked, topic, since });
  }

  unsubscribe(topic) {
    if (!this.topics.delete(topic)) return;
    this.leaving.add(topic);
    this.send({ do: 'unsubscribe', topic });
  }

  publish(topic) {
    const text = `${this.publisher} ${++this.count}`;
    this.sent.set(text, topic);
    this.send({ do: 'publish', topic, text });
    return text;
  }

  send(command) {
    if (this.isOpen) this.socket.send(JSON.stringify(command));
  }

  take(news) {
    if (news.topic !== undefined) return this.hear(news);
    if (news.subscribed !== undefined) this.joined(news);
    else if (news.unsubscribed !== undefined) this.leaving.delete(news.unsubscribed);
    else if (news.published !== undefined) this.published(news);
    else if (news.refused !== undefined) this.world.refused++;
    else if (news.gap !== undefined) {
      this.world.gaps++;
      const state = this.topics.get(news.gap);
      if (news.from !== null || state === undefined) return;
      state.isUntold = false;
      // It comes before the messages of another epoch, or after them.
      if (state.last !== null && news.to !== null && state.last.epoch !== news.to.epoch) state.last = news.to;
      this.note(news.gap, 'gap', news.from, news.to);
    }
  }

  hear({ topic, text }, position) {
    const state = this.topics.get(topic);
    if (state === undefined) return;
    this.world.heard++;
    if (position === undefined) return this.hearUnplaced(topic, text, state);
    this.world.place(topic, position, text);
    const { last } = state;
    if (last !== null && last.epoch === position.epoch) {
      const isNext = position.offset === last.offset + 1;
      assert(isNext, `${this.name} in ${topic}: ${text} at ${position.offset} after ${last.offset}, ${state.story.join('; ')}`);
    } else if (last !== null && last.offset + 1 !== position.offset) state.isUntold = true;
    state.first ??= position;
    state.last = position;
  }

  /** Without a history: each publisher's messages in order, and none twice. */
  hearUnplaced(topic, text, { numbers }) {
    const [publisher, number] = text.split(' ');
    const before = numbers.get(publisher) ?? 0;
    assert(Number(number) > before, `${this.name} in ${topic}: ${text} after ${before}`);
    numbers.set(publisher, Number(number));
  }

  joined({ asked, subscribed: topic, position, recovered }) {
    const state = this.topics.get(topic);
    // The answer to an earlier one may come after it has left again.
    if (state?.asked !== asked) return;
    this.note(topic, 'answer', recovered, position);
    state.isAsked = true;
    if (!this.world.isShared) return;
    // The broker has not answered for 10 s, such as while it loads its file, and the subscriber is told so.
    if (position === null) {
      this.world.unanswered++;
      state.last = null;
      return;
    }
    if (!recovered) state.isUntold = false;
    if (state.last === null || (this.world.isLossy && !recovered && state.first === null && state.last.epoch !== position.epoch)) state.last = position;
    else if (state.last !== null && state.first === null && !recovered) assert.fail(`${this.name} in ${topic}: not recovered, ${JSON.stringify([state.last, position])}, ${state.story.join('; ')}`);
  }

  published({ published: text, position }) {
    const topic = this.sent.get(text);
    this.sent.delete(text);
    if (topic !== undefined && position !== null) this.world.confirmed.push({ topic, text, position });
  }
}
