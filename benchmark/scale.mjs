// How many messages per second one JavaScript thread can take with several reactors, on machines
// with more processors than this one.
//
//   node benchmark/scale.mjs [--shapes 100x20,100x20x32,10x1024x32,200x16384] [--reactors 1,2,4,8]
//     [--rounds 5] [--seconds 0.5]
//
// Measured: the CPU time of a message on JavaScript's thread and on the reactors, messages per
// crossing, and how often each thread slept, with all threads of the server on one CPU ("together")
// and with the reactors on the other one ("apart", where what crosses leaves one cache for
// another). Computed from it: what would be the limit if each thread had a processor of its own.
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildServers } from './build.mjs';
import { canPin, runLoad } from './server-process.mjs';
import { shapes } from './shapes.mjs';
import { median } from './stats.mjs';

const PROGRAM = fileURLToPath(new URL('servers/reactor.mjs', import.meta.url));
const REACTOR = 'reactor-ws';
/** Microseconds that handlers are assumed to take. */
const HANDLERS = [0, 1, 10];
/** Numbers of reactors that limits are computed for. */
const PROCESSORS = [1, 2, 4, 8];

const { values } = parseArgs({
  options: {
    shapes: { type: 'string', default: '100x20,100x20x32,10x1024x32,200x16384' },
    reactors: { type: 'string', default: '1,2,4,8' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '0.5' },
  },
});

/**
 * @typedef {object} Cost Of a message
 * @property {number} javascript CPU ns on JavaScript's thread
 * @property {number} reactors CPU ns on all reactors together
 * @property {number} perBatch Messages that share a crossing
 * @property {number} sleeps How often JavaScript's thread slept, per 1,000 messages
 * @property {number} reactorSleeps How often the reactors slept, per 1,000 messages
 */

if (!canPin()) throw new Error('needs taskset and two CPUs');
await buildServers();
for (const name of values.shapes.split(',')) await showShape(name);

/**
 * @param {string} name
 */
async function showShape(name) {
  const shape = shapes[name];
  if (!shape) throw new Error(`No shape ${name}; there are ${Object.keys(shapes).join(', ')}`);
  const counts = values.reactors.split(',').map(Number);
  const ways = counts.flatMap((reactors) => [true, false].map((together) => ({ reactors, together })));
  /** @type {Cost[][]} */
  const costs = ways.map(() => []);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [at, way] of ways.entries()) costs[at].push(await measure(shape, way));
  }
  const medians = costs.map(medianOf);
  console.log(`\n${shape.text}: CPU ns per message, measured\n`);
  row(['reactors', 'threads', 'JavaScript', 'reactors, all', 'on reactors', 'messages per crossing', 'sleeps per 1,000: JavaScript', 'reactors']);
  row(Array(8).fill('---:'));
  for (const [at, { reactors, together }] of ways.entries()) {
    const cost = medians[at];
    const share = (100 * cost.reactors) / (cost.reactors + cost.javascript);
    const figures = [cost.javascript, cost.reactors].map(digits);
    const rest = [cost.perBatch, cost.sleeps, cost.reactorSleeps].map(digits);
    row([`${reactors}`, together ? 'together' : 'apart', ...figures, `${share.toFixed(0)} %`, ...rest]);
  }
  showLimits(ways, medians);
}

/**
 * The reactors' share is divided by their number, JavaScript's is not; the
 * dearer of the two places counts.
 *
 * @param {{ reactors: number, together: boolean }[]} ways
 * @param {Cost[]} costs
 */
function showLimits(ways, costs) {
  console.log('\nThousands of messages per second, computed, by reactors and time of a handler; * = JavaScript is the limit\n');
  row(['reactors', ...HANDLERS.map((us) => (us ? `${us} us` : 'no handler')), 'JavaScript is the limit from']);
  row(Array(HANDLERS.length + 2).fill('---:'));
  for (const reactors of PROCESSORS) {
    const own = costs.filter((_, at) => ways[at].reactors === reactors);
    if (own.length === 0) continue;
    const javascript = Math.max(...own.map((cost) => cost.javascript));
    const network = Math.max(...own.map((cost) => cost.reactors));
    const limits = HANDLERS.map((us) => {
      const [first, second] = [1e6 / (javascript + us * 1000), (reactors * 1e6) / network];
      return `${digits(Math.min(first, second))}${first <= second ? '*' : ''}`;
    });
    row([`${reactors}`, ...limits, `${(network / javascript).toFixed(1)} reactors`]);
  }
}

/**
 * @param {import('./shapes.mjs').Shape} shape
 * @param {{ reactors: number, together: boolean }} way
 * @returns {Promise<Cost>}
 */
async function measure(shape, { reactors, together }) {
  const server = await start(reactors);
  try {
    if (!together) moveReactors(server.pid);
    const load = { pin: 1, ...shape.load };
    await runLoad(server, { ...load, warmup: 0, seconds: 1 });
    const before = await look(server);
    const run = await runLoad(server, { ...load, warmup: 0.2, seconds: Number(values.seconds) });
    const after = await look(server);
    const messages = after.messages - before.messages;
    return {
      javascript: run.js_cpu_ns_per_msg,
      reactors: run.threads[REACTOR],
      perBatch: messages / (after.batches - before.batches),
      sleeps: (1000 * (after.main - before.main)) / messages,
      reactorSleeps: (1000 * (after.reactors - before.reactors)) / messages,
    };
  } finally {
    await server.stop();
  }
}

/**
 * On CPU 0: a reactor that sees a single processor does not spin.
 *
 * @param {number} reactors
 */
async function start(reactors) {
  const env = { ...process.env, NODE_ENV: 'production', BENCH_OPTIONS: JSON.stringify({ reactors }) };
  const child = fork(PROGRAM, { env, silent: true, execPath: 'taskset', execArgv: ['-c', '0', process.execPath] });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: /** @type {import('node:stream').Readable} */ (child.stdout) });
  const [line] = await once(lines, 'line');
  const { port, pid } = JSON.parse(line);
  const stop = async () => {
    child.kill();
    await exited;
  };
  return { port, pid, child, stop };
}

/**
 * @param {number} pid
 */
function moveReactors(pid) {
  for (const { thread, name } of threadsOf(pid)) {
    if (name === REACTOR) spawnSync('taskset', ['-p', '-c', '1', thread]);
  }
}

/**
 * @param {{ pid: number, child: import('node:child_process').ChildProcess }} server
 */
async function look({ pid, child }) {
  child.send('metrics');
  const [{ reactors }] = await once(child, 'message');
  const switches = (/** @type {boolean} */ ofReactors) =>
    threadsOf(pid)
      .filter(({ thread, name }) => (ofReactors ? name === REACTOR : thread === `${pid}`))
      .reduce((sum, { sleeps }) => sum + sleeps, 0);
  return { messages: reactors.messagesReceived, batches: reactors.batches, main: switches(false), reactors: switches(true) };
}

/**
 * @param {number} pid
 */
function threadsOf(pid) {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(join('/proc', `${pid}`, 'task', thread, 'status'), 'latin1');
    const [, name] = /^Name:\s+(.*)$/m.exec(status) ?? [];
    const [, sleeps] = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status) ?? [];
    return { thread, name, sleeps: Number(sleeps) };
  });
}

/**
 * @param {Cost[]} costs
 * @returns {Cost}
 */
function medianOf(costs) {
  const of = (/** @type {keyof Cost} */ key) => median(costs.map((cost) => cost[key]));
  return {
    javascript: of('javascript'),
    reactors: of('reactors'),
    perBatch: of('perBatch'),
    sleeps: of('sleeps'),
    reactorSleeps: of('reactorSleeps'),
  };
}

/**
 * @param {string[]} cells
 */
function row(cells) {
  console.log(`| ${cells.join(' | ')} |`);
}

/**
 * @param {number} figure
 */
function digits(figure) {
  return figure < 100 ? figure.toPrecision(2) : Math.round(figure).toLocaleString('en');
}
