'use strict';

// Topics of this process that go to the next one: positions and histories with the server, memberships with each
// connection.

const { BINARY, TEXT } = require('../connection/arguments');
const { history } = require('../topics/history');
const records = require('../topics/records');
const { topicsOf } = require('../topics/registry');
const { subscriptionsOf } = require('../topics/subscriptions');
const { enter } = require('../presence/presence');
const { presencesOf } = require('../presence/liveness');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { Position } from '../../types/topics' */

/** @typedef {{ name: string, epoch: string, offset: number, earlier: Position[], age: number, messages: Array<{ data: Buffer, isBinary: boolean }> }} Moved */

/** @typedef {{ names: string[], entries: Array<{ name: string, key: string, meta: unknown }>, watched: string[] }} Memberships */

/** Histories in memory. @type {(server: Server) => Promise<Moved[]>} */
async function exportTopics(server) {
  /** @type {Moved[]} */
  const all = [];
  for (const [name, topic] of server._topics?.all ?? []) {
    const { earlier, epoch, offset, publishedAt } = topic;
    if (epoch === null || topic.shared !== null) continue;
    const { messages } = offset === 0 ? { messages: [] } : await history(server, name, {});
    const kept = messages.map(({ data, isBinary }) => ({ data, isBinary }));
    all.push({ name, epoch, offset, earlier, age: performance.now() - publishedAt, messages: kept });
  }
  return all;
}

/** @type {(server: Server, moved: Moved[]) => void} */
function importTopics(server, moved) {
  for (const { age, earlier, epoch, messages, name, offset } of moved) {
    const topics = topicsOf(server);
    const topic = topics.create(name, topics.settings(name), true);
    // This version keeps none.
    if (topic.epoch === null || topic.offset !== 0) continue;
    topic.restart(epoch, offset - messages.length);
    for (const { data, isBinary } of messages) {
      records.publish(topic, { data, tag: isBinary ? BINARY : TEXT });
      topic.offset++;
    }
    topic.earlier = earlier;
    topic.publishedAt = performance.now() - age;
    if (topic.size === 0) topics.rest(topic);
  }
}

/** @type {(ws: WebSocket) => Memberships | null} */
function exportMemberships(ws) {
  if (!ws._extra?.topics) return null;
  const { joined, present } = subscriptionsOf(ws);
  const entries = Array.from(present ?? [], ([room, number]) => {
    const { name, own } = /** @type {import('../presence/room').OneRoom} */ (room);
    const { key, meta } = /** @type {{ key: string, meta: unknown }} */ (own.get(number));
    return { name, key, meta };
  });
  const rooms = ws._owner?._topics?.presence?.rooms ?? new Map();
  const watched = [...rooms.values()].filter(({ watcherTopic }) => joined.has(watcherTopic)).map(({ name }) => name);
  return { names: ws.subscriptions, entries, watched };
}

/** Before 'connection'. @type {(ws: WebSocket, memberships: Memberships) => void} */
function importMemberships(ws, { entries, names, watched }) {
  const server = /** @type {Server} */ (ws._owner);
  // What was published before is in its queue, or has left.
  for (const name of names) subscriptionsOf(ws).join(name);
  for (const { name, key, meta } of entries) enter(ws, server, name, { key, meta });
  for (const name of watched) presencesOf(server).room(name).watch(ws);
}

module.exports = { exportMemberships, exportTopics, importMemberships, importTopics };
