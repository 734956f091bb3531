// The members of a topic as a watching client knows them, by the messages it got.
import { once } from 'node:events';

export class Replica {
  constructor({ client, ws }) {
    this.client = client;
    this.ws = ws;
    /** Metas by key; null: only their number is known. */
    this.keys = new Map();
    this.count = 0;
    this.wasCounted = false;
    this.messages = [];
    this.faults = [];
    client.on('message', (data) => {
      const message = parse(data);
      if (message?.presence !== undefined) this.take(message);
    });
  }

  get last() {
    return this.messages.at(-1);
  }

  take(message) {
    this.messages.push(message);
    const { count, joins, leaves, state } = message;
    this.count = count;
    this.wasCounted = this.keys === null;
    if (state !== undefined) this.keys = new Map(Object.entries(state));
    else if (joins === undefined) this.keys = null;
    else this.change(joins, leaves);
    if (this.keys !== null && this.keys.size !== count && count !== undefined) this.faults.push(`${count} said, ${this.keys.size} known`);
  }

  change(joins, leaves) {
    if (this.keys === null) return this.faults.push('a change of what is not known');
    for (const key of leaves) if (!this.keys.delete(key)) this.faults.push(`${key} leaves, and was not there`);
    for (const [key, metas] of Object.entries(joins)) {
      if (JSON.stringify(this.keys.get(key)) === JSON.stringify(metas)) this.faults.push(`${key} comes again`);
      this.keys.set(key, metas);
    }
  }

  async until(isSo) {
    while (!isSo(this)) await once(this.client, 'message');
  }
}

function parse(data) {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
