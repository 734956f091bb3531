// Runs the Autobahn|Testsuite fuzzing client against an echo server and fails
// on anything but the best verdicts.
//
//   npm run test:autobahn                        sections 1-7, 9 and 10: all but compression
//   npm run test:autobahn -- --all               all sections, on a port, over TLS and over streams
//   npm run test:autobahn -- --cases 1.*,6.12.*  some of them
//   npm run test:autobahn -- --way stream        instead of a port: tls, server (node:http), stream, or handover: a port
//                                                of a process that is replaced all the time
//   node __test__/autobahn/run.mjs --serve       starts only the server and prints its port; `--url` tests another server

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { WebSocketServer } from '../../lib/index.mjs';
import { setup } from '../../scripts/setup.mjs';
import { findWstest, WSTEST_HINT } from '../../scripts/wstest.mjs';
import { cert, key } from '../helpers/certificate.mjs';
import { wrapUpgrades } from '../helpers/wrapped.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const CORE = ['1.*', '2.*', '3.*', '4.*', '5.*', '6.*', '7.*', '9.*', '10.*'];
const ALL = ['*'];
/** The number of cases. */
const COUNTS = new Map([
  [CORE, 301],
  [ALL, 517],
]);
const WAYS = ['port', 'tls', 'server', 'stream', 'handover'];
/** Milliseconds from the start of a version to the start of the next, with `handover`. */
const DEPLOY_MS = 300;
// Section 9 sends messages of up to 16 MiB, and fragments of 64 bytes: both are above the limits.
const LIMITS = { maxPayload: 32 * 1024 * 1024, maxFragments: 0 };
const GOOD = new Set(['OK', 'INFORMATIONAL']);
const PATIENCE_MS = 60 * 60 * 1000;

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    cases: { type: 'string' },
    way: { type: 'string' },
    quiet: { type: 'boolean', default: false },
    serve: { type: 'boolean', default: false },
    url: { type: 'string' },
  },
});

await main();

async function main() {
  if (options.serve) return console.log(`port ${(await startServer('port')).address().port}`);
  const wstest = findWstest();
  if (wstest === null) {
    console.log(WSTEST_HINT);
    console.log('0 passed, 0 failed, 1 skipped');
    // With `--all`, a run without cases is a failure.
    process.exitCode = options.all ? 1 : 0;
    return;
  }
  const ways = options.way ? [options.way] : options.all ? ['port', 'tls', 'stream'] : ['port'];
  const unknown = ways.find((way) => !WAYS.includes(way));
  if (unknown !== undefined) {
    console.error(`--way: ${unknown} is none of ${WAYS.join(', ')}`);
    process.exit(1);
  }
  if (!options.url) await setup();
  const counts = { passed: 0, failed: 0 };
  for (const way of ways) {
    const { passed, failed } = await testWay(wstest, way);
    counts.passed += passed;
    counts.failed += failed;
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
  // The suite leaves connections behind that are never closed.
  process.exit(counts.failed > 0 ? 1 : 0);
}

async function testWay(wstest, way) {
  const cases = options.cases ? options.cases.split(',').map((text) => text.trim()) : options.all ? ALL : CORE;
  const agent = `reactor-ws-${way}`;
  const reports = join(here, 'reports', agent);
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });

  const server = options.url ? null : way === 'handover' ? await startVersions() : await startServer(way);
  const url = options.url ?? `${way === 'tls' ? 'wss' : 'ws'}://127.0.0.1:${server.address().port}`;
  const started = Date.now();
  const code = await runClient(wstest, reports, agent, url, cases);
  const verdicts = readVerdicts(join(reports, 'index.json'), agent);
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  await server?.stop?.();

  const bad = verdicts.filter((verdict) => !isGood(verdict));
  const missing = missingCases(cases, verdicts, code);
  for (const { id, behavior, behaviorClose, reportfile } of bad) {
    console.log(`failed: case ${id}: ${behavior}, close ${behaviorClose} (${join(reports, reportfile)})`);
  }
  if (missing) console.log(`failed: ${missing}`);
  console.log(`autobahn: ${verdicts.length} cases against ${agent} in ${seconds} s`);
  return { passed: verdicts.length - bad.length, failed: bad.length + (missing ? 1 : 0) };
}

async function startServer(way) {
  const port = { port: 0, host: '127.0.0.1' };
  const where = { port, tls: { ...port, tls: { cert, key } } }[way] ?? { server: createServer().listen(0, '127.0.0.1') };
  const server = new WebSocketServer({ ...where, ...LIMITS, perMessageDeflate: true });
  if (way === 'stream') wrapUpgrades(server);
  server.on('connection', (socket) => {
    // Every protocol error is an 'error' event here: the verdict on it is the fuzzing client's.
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  await once(server, 'listening');
  return server;
}

/** Processes, of which each takes over from the one before. */
async function startVersions() {
  const folder = mkdtempSync(join(tmpdir(), 'autobahn-'));
  const path = join(folder, 'handover.sock');
  const program = join(here, '../fixtures/movable.mjs');
  const settings = JSON.stringify({ echo: true, perMessageDeflate: true, ...LIMITS });
  const versions = [];
  const start = async (port) => {
    const child = spawn(process.execPath, [program, 'echo', port, path, settings], { stdio: ['ignore', 'pipe', 'inherit'] });
    versions.push(child);
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return Number(/^listening (\d+)$/.exec(line)[1]);
  };
  const port = await start(0);
  let isOver = false;
  const replaced = (async () => {
    while (!isOver) {
      await sleep(DEPLOY_MS);
      await start(port);
    }
  })();
  const stop = async () => {
    isOver = true;
    await replaced;
    for (const child of versions) child.kill();
    rmSync(folder, { recursive: true });
    console.log(`autobahn: ${versions.length} versions`);
  };
  return { address: () => ({ port }), stop };
}

async function runClient(wstest, reports, agent, url, cases) {
  const spec = {
    outdir: reports,
    servers: [{ agent, url }],
    cases,
    'exclude-cases': [],
    'exclude-agent-cases': {},
  };
  const file = join(reports, 'spec.json');
  writeFileSync(file, JSON.stringify(spec, null, 2));
  const args = ['--mode', 'fuzzingclient', '--spec', file];
  const client = spawn(wstest, args, {
    cwd: reports,
    stdio: ['ignore', options.quiet ? 'ignore' : 'inherit', 'inherit'],
  });
  const watchdog = setTimeout(() => client.kill('SIGKILL'), PATIENCE_MS);
  const [code, signal] = await once(client, 'exit');
  clearTimeout(watchdog);
  return code ?? signal;
}

function readVerdicts(file, agent) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
  return Object.entries(report[agent] ?? {}).map(([id, verdict]) => ({ id, ...verdict }));
}

function isGood({ id, behavior, behaviorClose }) {
  // 6.4.*: RFC 6455 allows to find invalid UTF-8 at the end of the message only.
  const allowed = (word) => GOOD.has(word) || (word === 'NON-STRICT' && id.startsWith('6.4.'));
  return allowed(behavior) && GOOD.has(behaviorClose);
}

function missingCases(cases, verdicts, code) {
  if (code !== 0) return `wstest ended with ${code}`;
  if (verdicts.length === 0) return 'wstest reported no case';
  const expected = COUNTS.get(cases) ?? verdicts.length;
  if (verdicts.length !== expected) return `${expected} cases expected, ${verdicts.length} reported`;
  return null;
}
