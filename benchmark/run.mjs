// Measures the candidates in turn and writes benchmark/record/<machine>/<date>.json. See README.md.
import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { printReport } from './report.mjs';
import { describeMachine, writeRecord } from './record.mjs';
import { canPin, raiseFileLimit, runLoad, startServer } from './server-process.mjs';
import { benchmarkDir, candidates as known, rootDir, shapes, targetDir } from './shapes.mjs';

const USAGE = `usage: node benchmark/run.mjs [options]

  --rounds N          rounds per shape, default 5
  --seconds S         measured window, default 1.5
  --warmup S          before each window, default 0.5
  --shapes a,b        of ${Object.keys(shapes).join(', ')}
  --candidates a,b    of ${Object.keys(known()).join(', ')}
  --extra name=COMMAND  another server: prints {"port":N} or listens on the port that {port} in the command is replaced by
  --full              also the shapes that are not part of the promises
  --no-pin            leave all CPUs to everyone
  --record            record also a partial run (fewer rounds, shapes or candidates than the default)`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1.5' },
    warmup: { type: 'string', default: '0.5' },
    shapes: { type: 'string' },
    candidates: { type: 'string' },
    extra: { type: 'string', multiple: true, default: [] },
    full: { type: 'boolean', default: false },
    'no-pin': { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

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
  buildLoad();
  const servers = chooseCandidates();
  const pin = !values['no-pin'] && canPin();
  if (!pin) console.error('Not pinned to CPUs: taskset is missing, there are fewer than two, or --no-pin.');
  limitConnections(chosen);

  const { results, failures } = await measureAll(chosen, servers, rounds, pin);
  const options = { rounds, seconds: Number(values.seconds), warmup: Number(values.warmup), pinned: pin };
  const record = { ...describeMachine(), options, results };
  printReport(record);
  const chose = [values.shapes, values.candidates, ...values.extra].some(Boolean);
  const partial = rounds < 5 || values['no-pin'] || chose;
  const file = writeRecord(record, failures.length > 0 || (partial && !values.record));
  console.log(`\nWritten to ${relative(rootDir, file)}`);
  if (failures.length > 0) throw new Error(`without figures for\n  ${failures.join('\n  ')}`);
}

/**
 * All candidates in turn, in every round of every shape. One that fails a shape has no figures for it at all.
 *
 * @param {Record<string, import('./shapes.mjs').Shape>} chosen
 * @param {Record<string, import('./shapes.mjs').Candidate>} servers
 * @param {number} rounds
 * @param {boolean} pin
 */
async function measureAll(chosen, servers, rounds, pin) {
  /** @type {import('./record.mjs').Results} */
  const results = {};
  /** @type {string[]} */
  const failures = [];
  for (const [name, shape] of Object.entries(chosen)) {
    const takers = Object.keys(servers).filter((candidate) => !(variant(shape).length > 0 && servers[candidate].echoOnly));
    /** @type {Record<string, import('./stats.mjs').Run[]>} */
    const runs = (results[name] = Object.fromEntries(takers.map((candidate) => [candidate, []])));
    for (let round = 0; round < Math.min(rounds, shape.rounds ?? rounds); round++) {
      for (const candidate of rotate(takers, round)) {
        if (!runs[candidate]) continue;
        try {
          runs[candidate].push({ round, ...(await measure(shape, servers[candidate], round, pin)) });
        } catch (error) {
          delete runs[candidate];
          failures.push(`${name}, ${candidate}: ${/** @type {Error} */ (error).message}`);
        }
      }
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}: round ${round + 1}`);
    }
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }
  return { results, failures };
}

/**
 * One server, one load, one line.
 *
 * @param {import('./shapes.mjs').Shape} shape
 * @param {import('./shapes.mjs').Candidate} candidate
 * @param {number} round
 * @param {boolean} pin
 */
async function measure(shape, candidate, round, pin) {
  const pinned = pin && !shape.unpinned;
  const command = [...candidate.command, ...variant(shape)];
  const server = await startServer(command, pinned ? 0 : undefined);
  try {
    return await runLoad(server, {
      seconds: Number(values.seconds),
      warmup: Number(values.warmup),
      seed: round + 1,
      ...(pinned && { pin: 1 }),
      ...(shape.quiet && round === 0 && { quiet: 2 }),
      ...(candidate.rough && { 'no-close': true }),
      ...shape.load,
    });
  } finally {
    await server.stop();
  }
}

/**
 * What a server is told about a shape that is more than an echo.
 *
 * @param {import('./shapes.mjs').Shape} shape
 */
function variant(shape) {
  if (shape.ingest) return ['ingest'];
  return shape.deflate ? ['deflate'] : [];
}

function chooseShapes() {
  if (values.shapes === undefined) {
    return Object.fromEntries(Object.entries(shapes).filter(([, shape]) => values.full || !shape.full));
  }
  return pick(shapes, values.shapes, 'shape');
}

function chooseCandidates() {
  const all = known();
  const servers = values.candidates === undefined ? all : pick(all, values.candidates, 'candidate');
  for (const [name, { missing }] of Object.entries(servers)) {
    if (missing === undefined) continue;
    if (values.candidates !== undefined) throw new Error(`${name}: ${missing}`);
    console.error(`Without ${name} (${missing})`);
    delete servers[name];
  }
  for (const extra of values.extra) {
    const [name, command] = extra.split(/=(.*)/s);
    servers[name] = { text: name, command: command.split(' '), rough: true, echoOnly: true };
  }
  return servers;
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
 * Both ends of a connection need a file each, in processes of their own.
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

function buildLoad() {
  const manifest = join(benchmarkDir, 'load', 'Cargo.toml');
  const words = ['build', '--quiet', '--release', '--locked', '--manifest-path', manifest, '--target-dir', targetDir];
  const { status } = spawnSync('cargo', words, { stdio: 'inherit' });
  if (status !== 0) throw new Error('The load generator does not build');
}

/**
 * @param {string[]} names
 * @param {number} by
 */
function rotate(names, by) {
  const at = by % names.length;
  return [...names.slice(at), ...names.slice(0, at)];
}
