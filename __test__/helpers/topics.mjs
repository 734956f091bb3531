// Servers with subscribers, and the messages that the subscribers have got.
import { once } from 'node:events';
import https from 'node:https';

import { cert, key } from './certificate.mjs';
import { connect, visitor } from './clients.mjs';
import { ALL_WAYS, startServerBehind } from './ways.mjs';

/** Behind whatever was sent and published before, for connections keep the order. */
const MARK = 'all of it';

/** Ways to start a server, by name: each serves its connections in another place. */
export const TOPIC_WAYS = {
  ...ALL_WAYS,
  https: (t, options) => startServerBehind(t, options, { server: https.createServer({ cert, key }) }),
};

/** A connection to a server of `TOPIC_WAYS`, and the texts that its client has heard. */
export async function join(t, server, options) {
  const { ws, client } = await connectTo(t, server, options);
  const heard = [];
  client.on('message', (data, isBinary) => heard.push(isBinary ? data : data.toString()));
  return { ws, client, heard };
}

/** The two ends of a new connection to a server that `TOPIC_WAYS` has started. */
export function connectTo(t, server, options) {
  return server.options.server instanceof https.Server ? connectSecurely(t, server, options) : connect(t, server, options);
}

async function connectSecurely(t, server, options) {
  const client = visitor(t, `wss://localhost:${server.address().port}`, { ca: cert, lookup: undefined, ...options });
  const [[ws]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
  return { ws, client };
}

/** A server of some way with `count` connections. */
export async function openRoom(t, way, count, options) {
  const server = await TOPIC_WAYS[way](t, options);
  const all = [];
  for (let n = 0; n < count; n++) all.push(await join(t, server));
  return { server, all };
}

/** Resolves when the clients have all that was sent, with the messages since the last time. */
export function heardBy(...members) {
  return Promise.all(members.map(heardByOne));
}

async function heardByOne({ ws, client, heard }) {
  ws.send(MARK);
  while (heard.at(-1) !== MARK) await once(client, 'message');
  return heard.splice(0).slice(0, -1);
}
