// What runs on top of this package, and how it gets there: the table of docs/frameworks.md, in which `npm run check`
// looks, and that `npm run test:ecosystem` prints.

import { existsSync, readFileSync } from 'node:fs';

/**
 * `way`: 'option' (the application gives our server, or its sockets), 'build' (a plugin of the build puts our adapter
 * in), 'override' (of `ws` in package.json). `folder` and `file` of its test.
 *
 * @type {{ name: string, packages: string[], way: string, folder: string, file: string }[]}
 */
export const FRAMEWORKS = [
  row('socket.io', ['socket.io'], 'option', '.', 'socket-io'),
  row('NestJS, platform-socket.io', ['@nestjs/platform-socket.io'], 'option', 'frameworks', 'nestjs'),
  row('NestJS, platform-ws', ['@nestjs/platform-ws'], 'option', 'frameworks', 'nestjs'),
  row('graphql-ws', ['graphql-ws'], 'option', '.', 'graphql-ws'),
  row('Apollo Server', ['@apollo/server'], 'option', 'frameworks', 'graphql'),
  row('GraphQL Yoga', ['graphql-yoga'], 'option', 'frameworks', 'graphql'),
  row('mercurius', ['mercurius'], 'override', 'frameworks', 'graphql'),
  row('@fastify/websocket', ['@fastify/websocket'], 'override', '.', 'fastify-websocket'),
  row('Express', ['express'], 'option', '.', 'express'),
  row('express-ws', ['express-ws'], 'override', 'frameworks', 'express-ws'),
  row('Hono', ['@hono/node-server'], 'option', 'frameworks', 'hono'),
  row('Nitro', ['nitro'], 'build', 'nitro', 'nitro'),
  row('Nuxt', ['nuxt'], 'build', 'nuxt', 'nuxt'),
  row('h3, crossws', ['h3', 'crossws'], 'option', 'frameworks', 'h3'),
  row('tRPC', ['@trpc/server'], 'option', '.', 'trpc'),
  row('Hocuspocus 4', ['@hocuspocus/server'], 'option', 'frameworks', 'hocuspocus'),
  row('Hocuspocus 3', ['@hocuspocus/server'], 'override', '.', 'hocuspocus'),
  row('y-websocket 3', ['y-websocket', '@y/websocket-server'], 'option', 'frameworks', 'y-websocket'),
  row('y-websocket 2', ['y-websocket'], 'option', '.', 'y-websocket'),
  row('Colyseus 0.18', ['@colyseus/core'], 'override', 'frameworks', 'colyseus'),
  row('Colyseus 0.16', ['@colyseus/core'], 'override', '.', 'colyseus'),
  row('aedes (MQTT)', ['aedes'], 'option', 'frameworks', 'aedes'),
  row('webpack-dev-server 5', ['webpack-dev-server'], 'option', '.', 'webpack-dev-server'),
];

function row(name, packages, way, folder, file) {
  return { name, packages, way, folder, file };
}

/** The exact versions that its test installs. */
export function versionOf({ folder, packages }) {
  const { dependencies } = JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8'));
  return packages.map((name) => `${packages.length > 1 ? `${name} ` : ''}${dependencies[name]}`).join(', ');
}

/** For a terminal. @param {typeof FRAMEWORKS} rows */
export function table(rows) {
  const line = (cells) => cells.map((cell, index) => cell.padEnd([28, 44, 10][index] ?? 0)).join('');
  return ['', ...rows.map((one) => line([one.name, versionOf(one), one.way, `${one.folder === '.' ? '' : `${one.folder}/`}${one.file}`])), ''].join('\n');
}

/** Those whose test is missing. */
export function missing() {
  return FRAMEWORKS.filter(({ folder, file }) => !existsSync(new URL(`${folder}/${file}.test.mjs`, import.meta.url)));
}
