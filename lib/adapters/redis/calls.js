'use strict';

/** @import { Client } from './clients' */
/** @import { Script } from './scripts' */

/** Milliseconds to wait for an answer: a client can wait for ever. */
const TIMEOUT = 15_000;

/** Abandoned calls about a topic that the client can still make. With this many, further calls fail at once. */
const MAX_LATE = 2;

/** Replies that Redis gives until it, or its cluster, is well again. Before Redis 7, a script wraps the reply of its command. */
const PASSING = /^(?:ERR Error running script .*?: -?)?(?:LOADING|READONLY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|MOVED|ASK|UNBLOCKED|NOREPLICAS|BUSY|UNKILLABLE|FAILOVER)\b/;

/** Any reply that is an error. */
const REPLY = /^[A-Z][A-Z]+ /;

/** Calls scripts, and loads a script that Redis has forgotten. */
class Scripts {
  /** @param {Client} client */
  constructor(client) {
    this.client = client;
    /** By key. @type {Map<string, number>} */
    this.late = new Map();
  }

  /** @type {(script: Script, keys: string[], words: Array<string | Buffer>) => Promise<any>} */
  async run({ hash, text }, keys, words) {
    const [key] = keys;
    if ((this.late.get(key) ?? 0) >= MAX_LATE) throw new NoAnswer();
    const rest = [String(keys.length), ...keys, ...words];
    try {
      return await this.call(key, ['EVALSHA', hash, ...rest]);
    } catch (error) {
      if (!String(/** @type {Error} */ (error)?.message).startsWith('NOSCRIPT')) throw error;
      return this.call(key, ['EVAL', text, ...rest]);
    }
  }

  /** @type {(key: string, words: Array<string | Buffer>) => Promise<any>} */
  async call(key, words) {
    const answer = this.client.command(key, words);
    try {
      return await withTimeout(answer);
    } catch (error) {
      if (error instanceof NoAnswer) {
        this.count(key, 1);
        answer.catch(() => {}).then(() => this.count(key, -1));
      }
      throw error;
    }
  }

  /** @type {(key: string, change: number) => void} */
  count(key, change) {
    const late = (this.late.get(key) ?? 0) + change;
    if (late === 0) this.late.delete(key);
    else this.late.set(key, late);
  }
}

class NoAnswer extends Error {
  constructor(timeout = TIMEOUT) {
    super(`Redis has not answered for ${timeout} ms`);
  }
}

/** Whether the same call can succeed later: there was no answer, or Redis was not ready. @param {unknown} error */
function mayPass(error) {
  const message = String(/** @type {Error} */ (error)?.message);
  return PASSING.test(message) || !REPLY.test(message);
}

/** @template T @param {Promise<T>} answer @returns {Promise<T>} */
async function withTimeout(answer, timeout = TIMEOUT) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswer(timeout)), timeout);
    timer.unref();
  });
  try {
    return /** @type {T} */ (await Promise.race([answer, late]));
  } finally {
    clearTimeout(timer);
  }
}

module.exports = { Scripts, mayPass, withTimeout };
