// Scenarios: small programs that run on ws and on this package, with logs that must be the same.
import { createRequire } from 'node:module';

import { Context, WAYS } from './context.mjs';

const require = createRequire(import.meta.url);
const IMPLEMENTATIONS = { ws: require('ws'), ours: require('../../lib/index.js') };

/** Milliseconds after which a scenario hangs. */
const DEADLINE = 60_000;

/** A section of the contract. */
export function section(name) {
  const scenarios = [];
  const add = (ways) => (title, run) => {
    if (scenarios.some((other) => other.title === `${name}: ${title}`)) throw new Error(`twice: ${name}: ${title}`);
    scenarios.push({ title: `${name}: ${title}`, ways, run });
  };
  return {
    scenarios,
    /** Over all ways in to a server. */
    all: add(WAYS),
    /** The same with one connection: `act` gets it, with the context `c`, and both ends close. */
    session: (title, act, options, extra) => add(WAYS)(title, (c) => c.session(options, act, extra)),
    /** Over the ways that have a server of the module `http` in the end. */
    http: add(WAYS.slice(1, 4)),
    /** Over the ways in which a WebSocketServer listens by itself. */
    listening: add(WAYS.slice(0, 2)),
    /** Once; `c.listen()` listens on a port. */
    once: add([undefined]),
    /** Over the given ways. */
    over: (...ways) => add(ways),
  };
}

/** The lanes of a scenario on one implementation. */
export async function run(scenario, way, implementation) {
  const context = new Context(IMPLEMENTATIONS[implementation], way);
  let timer;
  const deadline = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const log = JSON.stringify(context.lanes, null, 2);
      reject(new Error(`${scenario.title} hangs on ${implementation}, way ${way}: ${log}`));
    }, DEADLINE);
  });
  try {
    await Promise.race([scenario.run(context), deadline]);
    return context.lanes;
  } finally {
    clearTimeout(timer);
    await context.end();
  }
}

/** Until the scenario ends, `log` gets the name, the arguments and the object of each call of these methods. */
export function watchMethods(c, target, names, log) {
  for (const name of names) {
    const own = Object.getOwnPropertyDescriptor(target, name);
    const original = target[name];
    const value = function (...args) {
      log(name, args, this);
      return original.apply(this, args);
    };
    Object.defineProperty(target, name, { configurable: true, value, writable: true });
    c.teardown(() => {
      if (own === undefined) delete target[name];
      else Object.defineProperty(target, name, own);
    });
  }
}
