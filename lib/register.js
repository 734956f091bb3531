'use strict';

// `node --import reactor-ws/register`: each `import` or `require` of `ws` in this process gets this package.

const Module = require('node:module');
const { pathToFileURL } = require('node:url');

const { addon } = require('./reactor/addon');
const { FOR_REQUIRE, resolve, takes } = require('./register/resolve');

if (process.versions.bun || !Module.register) {
  throw new Error('reactor-ws/register needs Node 20.6 or later, and works in no other runtime');
}

// Where there is none, this ends the process before the program begins.
addon();

if (Module.registerHooks) Module.registerHooks({ resolve });
else Module.register(pathToFileURL(require.resolve('./register/resolve')));

/** @type {any} */
const commonJs = Module;
const { _resolveFilename: resolveFilename } = commonJs;

// `registerHooks` leaves out `require.resolve` in older versions of Node.
commonJs._resolveFilename = function (/** @type {string} */ request, /** @type {any} */ parent, /** @type {any[]} */ ...rest) {
  if (request === 'ws' && takes(parent?.filename ?? null)) return FOR_REQUIRE;
  return Reflect.apply(resolveFilename, this, [request, parent, ...rest]);
};
