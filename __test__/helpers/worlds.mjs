// Copies of the package, each in a context of its own, as Jest gives one to each test file.
import EventEmitter from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

const require = createRequire(import.meta.url);
const LIB = fileURLToPath(new URL('../../lib/', import.meta.url));

// The addon stays, and keeps the context that has loaded it first.
require(`${LIB}reactor/addon.js`).addon();

/** The globals that a context gets from the one that it is made in. */
const SHARED = [
  'ArrayBuffer',
  'Buffer',
  'URL',
  'Uint8Array',
  'clearImmediate',
  'clearInterval',
  'clearTimeout',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
];

/** Loads the package in a new context; as in Jest, addons are loaded outside of it. */
export function loadInContext() {
  // The process does not keep listeners there.
  const own = Object.create(process);
  EventEmitter.call(own);
  const world = vm.createContext({ process: own });
  for (const name of SHARED) world[name] = globalThis[name];
  const modules = new Map();
  const load = (filename) => {
    if (filename.endsWith('.node')) return require(filename);
    if (!modules.has(filename)) {
      const module = { exports: {} };
      modules.set(filename, module);
      const { resolve } = createRequire(filename);
      const names = ['exports', 'require', 'module', '__filename', '__dirname'];
      const run = vm.compileFunction(readFileSync(filename, 'utf8'), names, { filename, parsingContext: world });
      const requireHere = (id) => (isBuiltin(id) ? require(id) : load(resolve(id)));
      run.call(module.exports, module.exports, requireHere, module, filename, dirname(filename));
    }
    return modules.get(filename).exports;
  };
  world.implementation = load(`${LIB}index.js`);
  return world.implementation;
}

/** Loads the package once more, as a program does that empties the cache of modules. */
export function loadAgain() {
  forget();
  // Each module keeps those that it has loaded.
  return createRequire(import.meta.url)(`${LIB}index.js`);
}

/** Empties the cache. */
export function forget() {
  for (const filename of Object.keys(require.cache)) {
    if (filename.startsWith(LIB) && !filename.endsWith('.node')) delete require.cache[filename];
  }
}
