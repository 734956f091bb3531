'use strict';

// Topics of this process that go to the next one: positions, histories and presence with the server, memberships with
// each connection. A server with an adapter goes on as the same node.

const { BINARY, TEXT } = require('../connection/arguments');
const { connections } = require('../reactor/table');
const { collect } = require('../topics/history');
const records = require('../topics/records');
const { topicsOf } = require('../topics/registry');
const { subscriptionsOf } = require('../topics/subscriptions');
const { enter } = require('../presence/presence');
const { presencesOf } = require('../presence/liveness');

/** @import { Server, WebSocket } from '../connection/state' */
/** @import { Position } from '../../types/topics' */

/** `isFollowed`: at the broker. @typedef {{ name: string, epoch: string | null, offset: number, earlier: Position[], age: number, isFollowed: boolean, isShared: boolean, latest: Map<number, number> | null, messages: Array<{ data: Buffer, isBinary: boolean, age: number }> }} Moved */

/** @typedef {{ path: string, node: { id: string, last: number } | null, presence: import('../presence/liveness').MovedPresence | null, topics: Moved[] }} MovedServer */

/** @typedef {{ names: string[], entries: Array<{ name: string, number: number, key: string, meta: unknown }>, watched: string[] }} Memberships */

/** Milliseconds after which all connections are in the new process, also those that wait for the program. */
const ALL_ARE_HERE = 15_000;

/** From here on messages of other nodes wait. @type {(server: Server) => Promise<MovedServer>} */
async function exportServer(server) {
  const path = String(server.options.path ?? '');
  const { all = new Map(), clusterNode = null, presence = null } = server._topics ?? {};
  clusterNode?.hold();
  /** @type {MovedServer} */
  const moved = { path, node: clusterNode && { id: clusterNode.id, last: clusterNode.last }, presence: presence?.export() ?? null, topics: [] };
  const exported = Array.from(all, async ([name, topic]) => {
    const { earlier, epoch, latest, offset, publishedAt, shared, size } = topic;
    const isFollowed = clusterNode !== null && size !== 0 && clusterNode.subscriptionSync.isActive(name);
    // The broker has its history.
    if (shared === null ? epoch === null && !isFollowed : !isFollowed || epoch === '') return [];
    /** @type {number[]} */
    const ages = [];
    const { messages } = offset === 0 ? { messages: [] } : await collect(topic, 'oldest', records.WORD - 1, ages);
    const kept = messages.map((/** @type {any} */ { data, isBinary }, index) => ({ data, isBinary, age: ages[index] }));
    return [{ name, epoch, offset, earlier, age: performance.now() - publishedAt, isFollowed, isShared: shared !== null, latest, messages: kept }];
  });
  // The reactors are asked for all histories at once.
  moved.topics = (await Promise.all(exported)).flat();
  return moved;
}

/** Resolves when the node follows the same topics. @type {(server: Server, moved: MovedServer) => Promise<void> | undefined} */
function importServer(server, { node, presence, topics: all }) {
  if (node === null && presence === null && all.length === 0) return undefined;
  const topics = topicsOf(server);
  const { clusterNode } = topics;
  if (node !== null) clusterNode?.hold();
  for (const moved of all) importTopic(topics, moved);
  const followed = all.filter(({ isFollowed }) => isFollowed).map(({ name }) => name);
  const subscribed = node === null ? undefined : clusterNode?.succeed(node, followed);
  if (presence !== null) presencesOf(server).import(presence);
  setTimeout(() => reap(server, followed, presence), ALL_ARE_HERE).unref();
  return subscribed;
}

/** @type {(topics: import('../topics/registry').Topics, moved: Moved) => void} */
function importTopic(topics, { age, earlier, epoch, isFollowed, isShared, latest, messages, name, offset }) {
  const topic = topics.create(name, topics.settings(name), true);
  topic.latest = latest;
  // One of the versions keeps none, or not at a broker.
  if (topic.epoch === null || epoch === null || isShared !== (topic.shared !== null)) return;
  // This one has begun already, and not with an earlier try.
  if (topic.offset !== 0 && topic.epoch !== epoch) return;
  topic.restart(epoch, offset - messages.length);
  for (const { age: since, data, isBinary } of messages) {
    if (topic.settings.ttl !== 0) records.target(topic, [], '', since);
    records.publish(topic, { data, tag: isBinary ? BINARY : TEXT });
    topic.offset++;
  }
  topic.earlier = earlier;
  topic.publishedAt = performance.now() - age;
  topic.shared?.adopt();
  if (topic.size === 0 && !isFollowed) topics.rest(topic);
}

/** Ends what belongs to connections that have not come. @type {(server: Server, followed: string[], presence: MovedServer['presence']) => void} */
function reap(server, followed, presence) {
  const topics = topicsOf(server);
  for (const name of followed) {
    const topic = topics.all.get(name);
    if (topic?.size === 0) topics.emptied(topic);
  }
  const all = /** @type {WebSocket[]} */ (connections()).filter(({ _extra }) => _extra?.topics);
  for (const { name, own } of presence?.rooms ?? []) {
    const room = topics.presence?.rooms.get(name);
    room?.partOthers(own.keys(), new Set(all.map((ws) => subscriptionsOf(ws).present?.get(room))));
  }
}

/** @type {(ws: WebSocket) => Memberships | null} */
function exportMemberships(ws) {
  if (!ws._extra?.topics) return null;
  const { joined, present } = subscriptionsOf(ws);
  const entries = Array.from(present ?? [], ([room, number]) => {
    const { name, own } = /** @type {import('../presence/room').OneRoom} */ (room);
    const { key, meta } = /** @type {{ key: string, meta: unknown }} */ (own.get(number));
    return { name, number, key, meta };
  });
  const rooms = ws._owner?._topics?.presence?.rooms ?? new Map();
  const watched = [...rooms.values()].filter(({ watcherTopic }) => joined.has(watcherTopic)).map(({ name }) => name);
  // The program can have a field `subscriptions`.
  const names = [...joined].filter(({ onEmptied }) => onEmptied === null).map(({ name }) => name);
  return { names, entries, watched };
}

/** Before 'connection'. @type {(ws: WebSocket, memberships: Memberships) => void} */
function importMemberships(ws, { entries, names, watched }) {
  const server = /** @type {Server} */ (ws._owner);
  // What was published before is in its queue, or has left.
  for (const name of names) subscriptionsOf(ws).join(name);
  for (const { name, number, key, meta } of entries) {
    const room = presencesOf(server).room(name);
    if (room.own.get(number)?.key === key) (subscriptionsOf(ws).present ??= new Map()).set(room, number);
    // The server has no part of the state.
    else enter(ws, server, name, { key, meta });
  }
  for (const name of watched) presencesOf(server).room(name).watch(ws);
}

module.exports = { exportMemberships, exportServer, importMemberships, importServer };
