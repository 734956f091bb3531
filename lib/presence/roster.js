'use strict';

/** Most announced metas of a key: its user can have any number of connections. */
const MAX_METAS = 100;

/** A key with its metas by entry. `last`: the metas that it had, while it has no entries. @typedef {{ entries: Map<string, unknown>, last: unknown[] }} Present */

/** The keys that are present in a topic. A key is present while it has entries, and for a grace time after its last connection has ended. */
class Roster {
  /** @param {number} grace Milliseconds */
  constructor(grace) {
    this.grace = grace;
    /** @type {Map<string, Present>} */
    this.keys = new Map();
    /** Keys with changes that were not announced yet. @type {Set<string>} */
    this.changed = new Set();
    /** End of the grace time of keys without entries, the next one first. @type {Map<string, number>} */
    this.leaving = new Map();
  }

  /** Adds an entry, or changes its meta. `id`: unique among the entries of all nodes. @type {(key: string, id: string, meta: unknown) => void} */
  put(key, id, meta) {
    let present = this.keys.get(key);
    if (present === undefined) this.keys.set(key, (present = { entries: new Map(), last: [] }));
    present.entries.set(id, meta);
    this.leaving.delete(key);
    this.changed.add(key);
  }

  /** `isCut`: the connection has ended, and can come back. @type {(key: string, id: string, isCut: boolean) => void} */
  remove(key, id, isCut) {
    const present = this.keys.get(key);
    if (present === undefined) return;
    const meta = present.entries.get(id);
    if (!present.entries.delete(id)) return;
    if (present.entries.size !== 0) this.changed.add(key);
    else if (!isCut || this.grace === 0) this.forget(key);
    else {
      present.last = [meta];
      this.leaving.set(key, performance.now() + this.grace);
    }
  }

  /** Forgets keys after their grace time. Returns the milliseconds until the next one goes, or null. */
  expire() {
    const now = performance.now();
    for (const [key, at] of this.leaving) {
      if (at > now) return at - now;
      this.forget(key);
    }
    return null;
  }

  /** Keys in their grace time, and the milliseconds that are left. */
  exportLeaving() {
    const now = performance.now();
    return Array.from(this.leaving, ([key, at]) => ({ key, last: this.metasOf(key) ?? [], left: at - now }));
  }

  /** @param {ReturnType<Roster['exportLeaving']>} leaving */
  importLeaving(leaving) {
    for (const { key, last, left } of leaving) {
      if (this.keys.has(key)) continue;
      this.keys.set(key, { entries: new Map(), last });
      this.leaving.set(key, performance.now() + left);
      this.changed.add(key);
    }
  }

  /** @param {string} key */
  forget(key) {
    this.leaving.delete(key);
    this.keys.delete(key);
    this.changed.add(key);
  }

  /** @param {string} key */
  metasOf(key) {
    const present = this.keys.get(key);
    if (present === undefined) return undefined;
    if (present.entries.size === 0) return present.last;
    const metas = [];
    for (const meta of present.entries.values()) if (metas.push(meta) === MAX_METAS) break;
    return metas;
  }
}

module.exports = { Roster };
