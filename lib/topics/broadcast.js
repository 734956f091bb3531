'use strict';

const { GONE } = require('../base/bits');
const { clientsOf } = require('../connection/clients');
const { OPEN } = require('../base/constants');
const { connections } = require('../reactor/table');
const { messageOf } = require('./message');
const { BROADCAST, publishTo, targetOf } = require('./publish');
const { topicsOf } = require('./server-topics');
const { DEFAULTS } = require('./settings');
const { subscriptionsOf } = require('./subscriptions');
const { Topic } = require('./topic');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { BroadcastOptions, Published } from '../../types/topics' */
/** @import { Topics } from './server-topics' */

/**
 * Sends a message to all open connections of a server, in the order of `send()`.
 *
 * @type {(server: Server, data: Published, options: BroadcastOptions | null | undefined) => number}
 * @throws {TypeError} Also for `clients` of the program that cannot be iterated
 */
function broadcast(server, data, options) {
  const { except } = targetOf(options, null, BROADCAST);
  const message = messageOf(data, options);
  return Number(publishTo(everyoneOf(server), message, { except, key: '', receipt: false }));
}

/** @typedef {Everyone} Anyone */

/** The topic of all open connections of a server. */
class Everyone extends Topic {
  /** @param {Topics} topics The topics of the server */
  constructor(topics) {
    super('', DEFAULTS);
    this.topics = topics;
  }

  /** @param {WebSocket} ws A connection that gets all broadcasts from now on */
  welcome(ws) {
    // A program may put anything into `clients`.
    if (ws?._owner?._topics !== this.topics || ws._readyState !== OPEN || (ws._bits & GONE) !== 0) return;
    const subscriptions = subscriptionsOf(ws);
    if (!subscriptions.joined.has(this)) subscriptions.enter(this.topics, this, undefined, undefined);
  }
}

/** @type {(server: Server) => Everyone} */
function everyoneOf(server) {
  const topics = topicsOf(server);
  if (topics.everyone === null) {
    const all = connectionsOf(server);
    const everyone = (topics.everyone = new Everyone(topics));
    for (const ws of all) everyone.welcome(ws);
  }
  return topics.everyone;
}

/**
 * All connections, whatever a program has done to `clients`, and those that it has put there.
 *
 * @type {(server: Server) => Set<WebSocket>}
 * @throws {TypeError} Also for `clients` of the program that cannot be iterated
 */
function connectionsOf(server) {
  const own = /** @type {WebSocket[]} */ (connections()).filter((one) => one._owner === server);
  return new Set([...own, ...(clientsOf(server) ?? [])]);
}

module.exports = { broadcast };
