// What runs on top of this package, and how it gets there: the table of docs/frameworks.md, which `npm run check`
// compares, and which `npm run test:ecosystem` prints.

import { existsSync, readFileSync } from 'node:fs';

/**
 * `way`: 'option' (the application gives our server, its class or its sockets), 'build' (a plugin of the build puts our
 * adapter in), 'override' (of `ws` in package.json). `how`: Markdown. `folder` and `file` of its test.
 *
 * @typedef {{ name: string, packages: string[], way: string, how: string, folder: string, file: string }} Framework
 */

/** The packages in this folder, by the folder. */
export const FOLDERS = ['frameworks', 'next', 'nitro', 'nuxt'];

/** @type {Framework[]} */
export const FRAMEWORKS = [
  row('socket.io', ['socket.io'], 'option', 'socket-io', '[`new Server(http, { wsEngine: WebSocketServer, adapter: reactorAdapter() })`](#socketio)'),
  row('NestJS, platform-socket.io', ['@nestjs/platform-socket.io'], 'option', 'frameworks/nestjs', '[an `IoAdapter`](#nestjs)'),
  row('NestJS, platform-ws', ['@nestjs/platform-ws'], 'option', 'frameworks/nestjs', '[a `WsAdapter`](#nestjs), or the override'),
  row('Express', ['express'], 'option', 'examples', '`new WebSocketServer({ server: createServer(app) })`'),
  row('express-ws', ['express-ws'], 'override', 'frameworks/express-ws', 'text comes as a Buffer'),
  row('Hono', ['@hono/node-server'], 'option', 'frameworks/hono', '`serve({ fetch, websocket: { server: new WebSocketServer({ noServer: true }) } })`'),
  row('@fastify/websocket', ['@fastify/websocket'], 'override', 'fastify-websocket', '`app.register(websocket)` as before'),
  row('Nitro', ['nitro'], 'build', 'nitro/nitro', '[a plugin](#nitro-and-nuxt)'),
  row('Nuxt', ['nuxt'], 'build', 'nuxt/nuxt', '[a plugin](#nitro-and-nuxt)'),
  row('h3, crossws', ['h3', 'crossws'], 'option', 'frameworks/h3', '[`reactor-ws/crossws`](#crossws-and-h3)'),
  row('Next.js', ['next'], 'option', 'next/next', 'a custom server: `handleUpgrade` for your paths, `app.getUpgradeHandler()` for others'),
  row('next-ws', ['next-ws'], 'option', 'next/next', '`setWebSocketServer(new WebSocketServer({ noServer: true }))` in [a custom server](#nextjs)'),
  row('graphql-ws', ['graphql-ws'], 'option', 'graphql-ws', "`useServer({ schema }, new WebSocketServer({ server, path: '/graphql' }))`"),
  row('Apollo Server', ['@apollo/server'], 'option', 'frameworks/graphql', 'as graphql-ws'),
  row('GraphQL Yoga', ['graphql-yoga'], 'option', 'frameworks/graphql', 'as graphql-ws'),
  row('mercurius', ['mercurius'], 'override', 'frameworks/graphql', '`subscription: true` as before'),
  row('tRPC', ['@trpc/server'], 'option', 'trpc', '`applyWSSHandler({ wss: new WebSocketServer({ port }), router })`'),
  row('AI SDK', ['ai'], 'option', 'frameworks/ai', '[a recipe](recipes.md#ai-chats)'),
  row('oRPC', ['@orpc/server'], 'option', 'frameworks/orpc', "`wss.on('connection', (socket) => handler.upgrade(socket, { context }))`"),
  row('rpc-websockets', ['rpc-websockets'], 'override', 'frameworks/rpc', 'as before'),
  row('Hocuspocus 4', ['@hocuspocus/server'], 'option', 'frameworks/hocuspocus', '[`handleConnection`](#hocuspocus-4)'),
  row('Hocuspocus 3', ['@hocuspocus/server'], 'override', 'hocuspocus', 'as before'),
  row('y-websocket 3', ['y-websocket', '@y/websocket-server'], 'option', 'frameworks/y-websocket', "`wss.on('connection', setupWSConnection)`"),
  row('automerge-repo', ['@automerge/automerge-repo-network-websocket'], 'option', 'frameworks/automerge', '`new WebSocketServerAdapter(wss)`'),
  row('ShareDB', ['sharedb'], 'option', 'frameworks/sharedb', '`backend.listen(new WebSocketJSONStream(socket))`'),
  row('tldraw sync', ['@tldraw/sync-core'], 'option', 'frameworks/tldraw', '`room.handleSocketConnect({ sessionId, socket })`'),
  row('Colyseus 0.18', ['@colyseus/core'], 'override', 'frameworks/colyseus', '`new WebSocketTransport({ server })` as before'),
  row('PeerJS', ['peer'], 'option', 'frameworks/peerjs', '`createWebSocketServer: (options) => new WebSocketServer({ ...options, WebSocket })`'),
  row('Parse', ['parse-server'], 'option', 'frameworks/parse', '`liveQueryServerOptions: { wssAdapter }`, [a class](#parse)'),
  row('aedes (MQTT)', ['aedes'], 'option', 'frameworks/aedes', '`broker.handle(createWebSocketStream(socket), request)`'),
  row('ocpp-rpc', ['ocpp-rpc'], 'override', 'frameworks/rpc', 'as before'),
  row('webpack-dev-server 6', ['webpack-dev-server'], 'option', 'frameworks/webpack-dev-server', '`webSocketServer: { type: YourServer }`, or the override'),
];

/** @returns {Framework} */
function row(name, packages, way, path, how) {
  const [file, folder = '.'] = path.split('/').reverse();
  return { name, packages, way, how, folder, file };
}

/** The exact versions that its test installs. @param {Framework} framework */
export function versionOf({ folder, packages }) {
  const { dependencies } = JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8'));
  return packages.map((name) => `${packages.length > 1 ? `${name} ` : ''}${dependencies[name]}`).join(', ');
}

/** The path of its test. @param {Framework} framework */
function testOf({ folder, file }) {
  return `${folder === '.' ? '' : `${folder}/`}${file}.test.mjs`;
}

/** For a terminal. @param {Framework[]} rows */
export function table(rows) {
  const line = (cells) => cells.map((cell, index) => cell.padEnd([28, 44, 10, 0][index])).join('');
  return ['', ...rows.map((one) => line([one.name, versionOf(one), one.way, testOf(one)])), ''].join('\n');
}

/** The row of the table in docs/frameworks.md. @param {Framework} framework */
export function markdown(framework) {
  const { how, name, way } = framework;
  return `| ${name} | ${way} | ${how} | [${versionOf(framework)}](../__test__/ecosystem/${testOf(framework)}) |`;
}

/** @returns {string[]} One line for each row that docs/frameworks.md lacks, and each test that does not exist */
export function frameworkViolations() {
  const text = readFileSync(new URL('../../docs/frameworks.md', import.meta.url), 'utf8');
  const lacking = FRAMEWORKS.map(markdown).filter((line) => !text.includes(line));
  const untested = FRAMEWORKS.map(testOf).filter((path) => !existsSync(new URL(path, import.meta.url)));
  return [...lacking.map((line) => `docs/frameworks.md lacks: ${line}`), ...untested.map((path) => `__test__/ecosystem/${path}: missing`)];
}
