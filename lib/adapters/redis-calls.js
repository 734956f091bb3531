'use strict';

/** @import { Client } from './redis-clients' */
/** @import { Script } from './redis-scripts' */

/** Milliseconds for which an answer is waited for: a client may wait for ever. */
const PATIENCE = 15_000;

/** Replies that Redis gives until it, or its cluster, is well again. */
const PASSING = /^(?:LOADING|READONLY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|MOVED|ASK|UNBLOCKED|NOREPLICAS|BUSY|UNKILLABLE|FAILOVER)\b/;

/** Any reply that is an error. */
const REPLY = /^[A-Z][A-Z]+ /;

/** Calls scripts, which Redis may have forgotten. */
class Scripts {
  /** @param {Client} client */
  constructor(client) {
    this.client = client;
  }

  /** @type {(script: Script, keys: string[], words: Array<string | Buffer>) => Promise<any>} */
  async run({ hash, text }, keys, words) {
    const rest = [String(keys.length), ...keys, ...words];
    try {
      return await withinPatience(this.client.command(keys[0], ['EVALSHA', hash, ...rest]));
    } catch (error) {
      if (!String(/** @type {Error} */ (error)?.message).startsWith('NOSCRIPT')) throw error;
      return withinPatience(this.client.command(keys[0], ['EVAL', text, ...rest]));
    }
  }
}

/** Whether the same call may succeed later: there was no answer, or not yet. @param {unknown} error */
function mayPass(error) {
  const message = String(/** @type {Error} */ (error)?.message);
  return PASSING.test(message) || !REPLY.test(message);
}

/** @template T @param {Promise<T>} answer @returns {Promise<T>} */
async function withinPatience(answer) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis has not answered for ${PATIENCE} ms`)), PATIENCE);
    timer.unref();
  });
  try {
    return /** @type {T} */ (await Promise.race([answer, late]));
  } finally {
    clearTimeout(timer);
  }
}

module.exports = { Scripts, mayPass };
