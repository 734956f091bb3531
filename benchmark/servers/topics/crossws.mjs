// Topics of crossws, which is installed in the folder that PEERS_PATH names, over Redis.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { listening } from '../contract.mjs';
import { redisPath, wanted } from './room.mjs';

const require = createRequire(`${process.env.PEERS_PATH}/`);
const load = (/** @type {string} */ name) => import(pathToFileURL(require.resolve(name)).href);
const { default: nodeAdapter } = await load('crossws/adapters/node');
const { redis } = await load('crossws/sync');
const { Redis } = require('ioredis');

const client = new Redis({ path: redisPath, retryStrategy: () => 50, maxRetriesPerRequest: null });
client.on('error', () => {});
const ws = nodeAdapter({
  sync: redis({ client, channel: 'nodes', connector: 'ioredis' }),
  onError() {},
  hooks: {
    open: (/** @type {any} */ peer) => peer.subscribe(wanted(peer.request.url).room),
    message(/** @type {any} */ peer, /** @type {any} */ message) {
      const { room } = wanted(peer.request.url);
      const text = message.text();
      peer.publish(room, text);
      peer.send(text);
    },
  },
});
const http = createServer().listen(0, '127.0.0.1', () => listening(/** @type {import('node:net').AddressInfo} */ (http.address()).port));
http.on('upgrade', ws.handleUpgrade);
process.on('SIGTERM', () => process.exit(0));
