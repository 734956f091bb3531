// Measures the candidates in turn and writes benchmark/record/<machine>/<date>.json. See README.md.
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildServers } from './build.mjs';
import { candidates, extraCandidates, topicCandidates } from './candidates.mjs';
import { runMicro } from './micro.mjs';
import { rootDir } from './paths.mjs';
import { printReport } from './report.mjs';
import { describeMachine, writeRecord } from './record.mjs';
import { measureShape } from './rounds.mjs';
import { canPin, raiseFileLimit } from './server-process.mjs';
import { defaultShapes, shapes as messageShapes } from './shapes.mjs';
import { topicShapes } from './topic-shapes.mjs';

if (process.argv.some((word) => word.startsWith('--crowd'))) {
  await import('./crowd.mjs');
  process.exit();
}

const isTopics = process.argv.includes('--topics');
const known = isTopics ? topicCandidates : candidates;
const shapes = isTopics ? topicShapes : messageShapes;

const USAGE = `usage: node benchmark/run.mjs [options]

  --rounds N          rounds per shape, default 5
  --seconds S         measured window, default 1.2; with --full 0.8
  --warmup S          before each window, default 0.4; with --full 0.3
  --settle S          of load on a server that has just begun, before its first window, default 1.5
  --shapes a,b        of ${Object.keys(shapes).join(', ')}
  --candidates a,b    of ${Object.keys(known()).join(', ')}
  --extra name=COMMAND  another server: prints {"port":N} or listens on the port that {port} in the command is replaced by
  --full              also the shapes and candidates that are not part of the promises, and the engine by itself; with --shapes all
                      candidates of those
  --topics            topics instead of messages: other shapes, other candidates, a record of its own
  --crowd N           another benchmark: N connections at once, e.g. a million; crowd.mjs has its options
  --micro             the engine by itself; without --shapes and --full only that
  --no-pin            leave all CPUs to everyone
  --record            record also a partial run (fewer rounds, shapes or candidates than the default); with chosen shapes or
                      candidates in a file of its own, whose shapes the documents show instead of older figures`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string' },
    warmup: { type: 'string' },
    settle: { type: 'string', default: '1.5' },
    shapes: { type: 'string' },
    candidates: { type: 'string' },
    extra: { type: 'string', multiple: true, default: [] },
    full: { type: 'boolean', default: false },
    topics: { type: 'boolean', default: false },
    micro: { type: 'boolean', default: false },
    'no-pin': { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const window = {
  seconds: Number(values.seconds ?? (values.full ? 0.8 : 1.2)),
  warmup: Number(values.warmup ?? (values.full ? 0.3 : 0.4)),
  settle: Number(values.settle),
};

if (values.help) {
  console.log(USAGE);
} else {
  await main().catch((error) => {
    console.error(`benchmark: ${error.message}`);
    process.exitCode = 1;
  });
}

async function main() {
  const rounds = Number(values.rounds);
  const chosen = chooseShapes();
  await buildServers(isTopics);
  const servers = chooseCandidates();
  const pin = !values['no-pin'] && canPin();
  if (!pin) console.error('Not pinned to CPUs: taskset is missing, there are fewer than two, or --no-pin.');
  limitConnections(chosen);

  const chose = [values.shapes, values.candidates, ...values.extra].some(Boolean) || (values.micro && !values.full);
  const isFull = values.full && !chose;
  const micro = values.micro || isFull ? runMicro() : undefined;
  const { results, failures } = await measureAll(chosen, servers, rounds, pin);
  const options = { rounds, ...window, pinned: pin, full: isFull, ...(isTopics && { topics: true }) };
  const record = { ...describeMachine(), options, micro, results };
  printReport(record);
  const isKept = failures.length === 0 && (values.record || !(rounds < 5 || values['no-pin'] || chose));
  const file = writeRecord(record, !isKept ? 'cache' : chose ? 'part' : 'whole');
  console.log(`\nWritten to ${relative(rootDir, file)}`);
  if (failures.length > 0) throw new Error(`without figures for\n  ${failures.join('\n  ')}`);
}

/**
 * @param {Record<string, import('./shapes.mjs').Shape>} chosen
 * @param {Record<string, import('./candidates.mjs').Candidate>} servers
 * @param {number} rounds
 * @param {boolean} pin
 */
async function measureAll(chosen, servers, rounds, pin) {
  /** @type {import('./record.mjs').Results} */
  const results = {};
  /** @type {string[]} */
  const failures = [];
  for (const [name, shape] of Object.entries(chosen)) {
    const takers = Object.entries(servers).filter(([candidate, server]) => takesPart(candidate, server, shape));
    results[name] = await measureShape({
      shape,
      candidates: Object.fromEntries(takers),
      rounds: Math.min(rounds, shape.rounds ?? rounds),
      pin,
      window,
      failed: (candidate, error) => failures.push(`${name}, ${candidate}: ${error.message}`),
      ended: (round) => showProgress(`${name}: round ${round + 1}`),
    });
    showProgress('');
  }
  return { results, failures };
}

/**
 * @param {string} text
 */
function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

/**
 * All candidates that can run, if some were chosen; else those that the shape compares.
 *
 * @param {string} name
 * @param {import('./candidates.mjs').Candidate} candidate
 * @param {import('./shapes.mjs').Shape} shape
 */
function takesPart(name, candidate, shape) {
  const task = shape.task?.split(' ')[0] ?? 'echo';
  if (candidate.tasks && !candidate.tasks.includes(task)) return false;
  const chosen = values.candidates !== undefined || candidate.rough;
  return chosen || (shape.candidates?.includes(name) ?? true);
}

function chooseShapes() {
  if (values.shapes !== undefined) return pick(shapes, values.shapes, 'shape');
  if (isTopics) return { ...shapes };
  return values.micro && !values.full ? {} : defaultShapes(values.full);
}

function chooseCandidates() {
  const all = known();
  const servers = values.candidates === undefined ? all : pick(all, values.candidates, 'candidate');
  for (const [name, { missing, full, optional }] of Object.entries(servers)) {
    if (missing !== undefined && values.candidates !== undefined && !optional) throw new Error(`${name}: ${missing}`);
    if (full && !values.full && values.candidates === undefined) {
      delete servers[name];
    } else if (missing !== undefined) {
      console.error(`Without ${name} (${missing})`);
      delete servers[name];
    }
  }
  return { ...servers, ...extraCandidates(values.extra) };
}

/**
 * @template T
 * @param {Record<string, T>} from
 * @param {string} names
 * @param {string} what
 * @returns {Record<string, T>}
 */
function pick(from, names, what) {
  return Object.fromEntries(
    names.split(',').map((name) => {
      if (!Object.hasOwn(from, name)) throw new Error(`No ${what} ${name}; there are ${Object.keys(from).join(', ')}`);
      return [name, from[name]];
    }),
  );
}

/**
 * Each end of a connection needs a file, in a process of its own.
 *
 * @param {Record<string, import('./shapes.mjs').Shape>} chosen
 */
function limitConnections(chosen) {
  for (const [name, shape] of Object.entries(chosen)) {
    const wanted = Number(shape.load.connections ?? 1) + 200;
    const limit = raiseFileLimit(wanted);
    if (limit >= wanted) continue;
    console.error(`${name}: only ${limit - 200} connections, for the limit of open files is ${limit}`);
    chosen[name] = { ...shape, load: { ...shape.load, connections: limit - 200 } };
  }
}
