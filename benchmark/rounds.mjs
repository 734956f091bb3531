// Rounds of one shape: all candidates in turn, each with a server of its own.
import { runAvalanche, runLoad, startServer } from './server-process.mjs';

/** @typedef {import('./candidates.mjs').Candidate} Candidate */
/** @typedef {import('./server-process.mjs').Server} Server */
/** @typedef {import('./shapes.mjs').Shape} Shape */
/** @typedef {import('./stats.mjs').Run} Run */
/**
 * @typedef {object} Window
 * @property {number} settle Seconds of load that a server gets, once, before anything is measured
 * @property {number} warmup Seconds of load before each window
 * @property {number} seconds Length of a window
 */
/**
 * @typedef {object} Plan
 * @property {Shape} shape
 * @property {Record<string, Candidate>} candidates The servers that take part, by name
 * @property {number} rounds
 * @property {boolean} pin Whether server and load generator get a CPU each
 * @property {Window} window
 * @property {(candidate: string, error: Error) => void} failed
 * @property {(round: number) => void} [ended]
 */

/**
 * A server runs through all rounds and idles while it is not its turn, so that the
 * compilations of V8, the first work of the allocator and the collections of the first second
 * are behind it. Where the question is about a new process, each round has its own. A
 * candidate that fails once has no figures at all.
 *
 * @param {Plan} plan
 * @returns {Promise<Record<string, Run[]>>} Runs by candidate
 */
export async function measureShape(plan) {
  /** @type {Map<string, Server>} */
  const running = new Map();
  /** @type {Record<string, Run[]>} */
  const runs = Object.fromEntries(Object.keys(plan.candidates).map((name) => [name, []]));
  try {
    for (let round = 0; round < plan.rounds; round++) {
      for (const name of rotate(Object.keys(runs), round)) {
        try {
          runs[name].push({ round, ...(await measure(plan, name, round, running)) });
        } catch (error) {
          delete runs[name];
          plan.failed(name, /** @type {Error} */ (error));
        }
      }
      plan.ended?.(round);
    }
  } finally {
    for (const server of running.values()) await server.stop();
  }
  return runs;
}

/**
 * Runs one load against one server, for one line of figures.
 *
 * @param {Plan} plan
 * @param {string} name
 * @param {number} round
 * @param {Map<string, Server>} running
 */
async function measure(plan, name, round, running) {
  const { shape, window } = plan;
  const load = loadOf(plan, name);
  if (load.mode === 'avalanche') return runAvalanche(() => startOf(plan, name), { ...load, seed: round + 1 });
  const server = running.get(name) ?? (await startOf(plan, name));
  try {
    if (!shape.fresh && !running.has(name)) {
      running.set(name, server);
      await runLoad(server, { ...load, warmup: 0, seconds: window.settle });
    }
    const { warmup, seconds } = window;
    const quiet = shape.quiet && round === 0 ? { quiet: 2 } : {};
    return await runLoad(server, { warmup, seconds, ...load, ...quiet, seed: round + 1 });
  } finally {
    if (shape.fresh) await server.stop();
  }
}

/**
 * Options of the load generator.
 *
 * @param {Pick<Plan, 'shape' | 'candidates' | 'pin'>} plan
 * @param {string} name
 */
export function loadOf({ shape, candidates, pin }, name) {
  return {
    ...(pin && !shape.unpinned && { pin: 1 }),
    ...(candidates[name].rough && { 'no-close': true }),
    ...shape.load,
    ...candidates[name].load,
  };
}

/**
 * A server of the candidate, with the shape's task.
 *
 * @param {Pick<Plan, 'shape' | 'candidates' | 'pin'>} plan
 * @param {string} name
 */
export function startOf({ shape, candidates, pin }, name) {
  const { command, options, words: own = [] } = candidates[name];
  const words = [...command, ...(shape.task?.split(' ') ?? []), ...own];
  return startServer(words, pin && !shape.unpinned ? 0 : undefined, options);
}

/**
 * @param {string[]} names
 * @param {number} by
 */
function rotate(names, by) {
  const at = names.length > 0 ? by % names.length : 0;
  return [...names.slice(at), ...names.slice(0, at)];
}
