// Clients of lib/client.mjs whose messages are checked as they come.
import { once } from 'node:events';

import { WebSocket as Theirs } from 'ws';

import { TopicsClient } from '../../lib/client.mjs';
import { WebSocket as Ours } from '../../lib/index.mjs';

/** Classes of sockets that a client may have here. */
export const SOCKETS = { ws: Theirs, 'reactor-ws': Ours, ...(globalThis.WebSocket && { Node: globalThis.WebSocket }) };

/** A client that comes back at once, until the end of the test. */
export function openClient(t, url, options) {
  const client = new TopicsClient(url, { WebSocket: Theirs, minDelay: 1, maxDelay: 10, ...options });
  t.teardown(() => client.close());
  return client;
}

/** The address of a server, with a query that is never read. */
export function addressOf(server) {
  return `ws://127.0.0.1:${server.address().port}`;
}

/** The next event of a client. */
export async function event(client, type) {
  const [one] = await once(client, type);
  return one;
}

/** All events of a client, as short texts. */
export function diary(client) {
  const lines = [];
  for (const type of ['open', 'close', 'subscribed', 'gap', 'refused']) {
    client.addEventListener(type, ({ code, delay, from, position, reason, recovered, to, topic }) => {
      lines.push({ type, ...(type === 'close' ? { code, delay, reason } : { code, from, position, reason, recovered, to, topic }) });
    });
  }
  return lines;
}

/** What all clients may hear: one text at each position. */
export class Truth {
  texts = new Map();
  faults = [];

  /** A client's ear for a topic: complains of messages that are missing, come twice or in another order. `hasCopies`: clients publish, perhaps again. */
  listen(client, name, topic, hasCopies, options) {
    const ear = { heard: [], gaps: 0, isIn: false, last: null };
    const fault = (text) => this.faults.push(`${name}, ${topic}: ${text}`);
    /** There is neither a message nor a gap in between. A position may be that of a copy. */
    const skip = (offset) => {
      const { last } = ear;
      if (last.offset > offset || (last.offset < offset && !hasCopies)) fault(`up to ${offset} after ${last.offset}`);
    };
    client.addEventListener('gap', ({ from, to, topic: of }) => {
      if (of !== topic) return;
      ear.gaps++;
      if (to === null) return;
      if (ear.last !== null && from !== null) skip(from.offset - 1);
      ear.last = to;
    });
    client.addEventListener('subscribed', ({ position, topic: of }) => {
      if (of !== topic) return;
      ear.isIn = true;
      ear.last ??= position;
    });
    client.subscribe(topic, (data, { position }) => {
      ear.heard.push(data);
      if (position === null) return;
      const key = keyOf(topic, position);
      if ((this.texts.get(key) ?? data) !== data) fault(`${key} is ${data} and ${this.texts.get(key)}`);
      this.texts.set(key, data);
      if (ear.last !== null && ear.last.epoch !== position.epoch) fault(`${key} after ${ear.last.epoch}`);
      else if (ear.last !== null) skip(position.offset - 1);
      ear.last = position;
    }, options);
    return ear;
  }
}

function keyOf(topic, { epoch, offset }) {
  return `${topic} ${epoch} ${offset}`;
}
