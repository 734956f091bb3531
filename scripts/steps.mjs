// The steps of `npm test`, for which a contributor waits, of `npm test -- --all`, for which each
// commit waits (CI), and of `npm test -- --night`.

/**
 * Spec files whose result depends on the thread of the reactor and the number of
 * reactors: work of connections, the order of their events, wake-ups, ends. The others
 * have the same answer in each mode.
 */
export const MODE_SPECS = [
  'differential',
  'own-options',
  'websocket-server',
  'connection/backpressure',
  'connection/bytes-in',
  'connection/bytes-out',
  'connection/callbacks',
  'connection/late-writes',
  'connection/peer-end',
  'connection/same',
  'connection/shared-memory',
  'connection/silence',
  'connection/socket-bytes',
  'connection/websocket-pause',
  'reactor/blocked',
  'reactor/dispatch',
  'reactor/order',
  'reactor/order-ends',
  'reactor/spin',
  'reactor/unfinished',
  'tls/ends',
  'tls/handshake',
  'tls/hostile',
  'tls/reload',
  'tls/server-names',
  'upgrade/hooks',
  'upgrade/ways-in',
].map((name) => `__test__/${name}.spec.mjs`);

/** It measures the process, so it has the machine to itself. Streams have the same reactor in each mode. */
const ALONE = '__test__/attacks/stream-bombs.spec.mjs';
const not = (names) => names.map((name) => `!__test__/${name}`);
const ALL_SPECS = ['__test__/**/*.spec.mjs', `!${ALONE}`];
/** Sweeps, waits for timeouts, ends of processes: up to half a minute each. */
const SLOW = ['adapters/redis-failover', 'adapters/redis-faults', 'adapters/redis-lives', 'faults/faults-process', 'handover/adapters', 'handover/foreign', 'handover/recipes', 'listen/http-finish', 'listen/http-limits', 'listen/http2-matrix', 'reactor/blocked', 'reactor/memory'].map((name) => `${name}.spec.mjs`);
/** Without the attacks. */
const OWN_SPECS = [...ALL_SPECS, ...not(['attacks/**', 'scripts/examples.spec.mjs', ...SLOW])];
const SHORT_MODE_SPECS = MODE_SPECS.filter((path) => !SLOW.some((name) => path.endsWith(name)));
/** Without the files that choose their mode themselves, and those with connections that have the same reactor in each mode, or none. */
const ALL_MODE_SPECS = [
  ...ALL_SPECS,
  ...not([
    'adapters/**',
    'client/**',
    'crossws.spec.mjs',
    'deflate/deflate-client.spec.mjs',
    'doctor/**',
    'listen/http2*.spec.mjs',
    'presence/nodes.spec.mjs',
    'reactor/inline.spec.mjs',
    'reactor/reactors.spec.mjs',
    'scripts/**',
  ]),
];

/** Attacks with clients that can speak TLS. */
const SECURE_ATTACKS = ['held-messages', 'held-uploads', 'inflated-messages', 'renewed-messages', 'unfinished-contexts'].map((name) => `__test__/attacks/${name}.spec.mjs`);

/** Every length and repetition: __test__/helpers/thresholds.mjs. */
const LONG = { BYTES: 'all' };
const INLINE = { REACTOR_WS_REACTORS: '0' };
const SEVERAL = { REACTOR_WS_REACTORS: '3' };
const ADAPTIVE = { REACTOR_WS_REACTORS: 'auto', REACTOR_WS_SWITCH: 'every-turn' };

/** @typedef {'short' | 'all' | 'night'} Run `npm test`, `npm test -- --all`, `npm test -- --night` */
/**
 * `runs`: without any, a step is run when it is named.
 *
 * @type {{ name: string, runs: Run[], kind: string, args?: string[], env?: Record<string, string> }[]}
 */
const STEPS = [
  // One build: clippy, in `npm run check`, proves that each layer stands without those above it.
  { name: 'rust', runs: ['short', 'all'], kind: 'cargo', args: ['--workspace'] },
  // For systems on which a test program cannot link to Node.
  { name: 'reactor', runs: [], kind: 'cargo', args: ['--workspace', '--no-default-features', '--features', 'reactor'] },
  { name: 'loom', runs: ['all'], kind: 'loom' },
  // Most of these files wait more than they work.
  { name: 'ava', runs: ['short'], kind: 'ava', args: ['--concurrency=3', ...OWN_SPECS] },
  { name: 'ava', runs: ['all'], kind: 'ava', args: ALL_SPECS },
  { name: 'ava', runs: ['night'], kind: 'ava', args: ALL_SPECS, env: LONG },
  { name: 'alone', runs: ['all'], kind: 'ava', args: [ALONE] },
  { name: 'secure', runs: ['all'], kind: 'ava', args: SECURE_ATTACKS, env: { ATTACK_TLS: '1' } },
  // The same with the reactor on the JavaScript thread, with several, and with one that changes its thread at every turn.
  { name: 'inline', runs: ['short'], kind: 'ava', args: SHORT_MODE_SPECS, env: INLINE },
  { name: 'inline', runs: ['all'], kind: 'ava', args: MODE_SPECS, env: INLINE },
  { name: 'inline', runs: ['night'], kind: 'ava', args: ALL_MODE_SPECS, env: { ...INLINE, ...LONG } },
  { name: 'reactors', runs: ['short'], kind: 'ava', args: SHORT_MODE_SPECS, env: SEVERAL },
  { name: 'reactors', runs: ['all'], kind: 'ava', args: MODE_SPECS, env: SEVERAL },
  { name: 'reactors', runs: ['night'], kind: 'ava', args: ALL_MODE_SPECS, env: { ...SEVERAL, ...LONG } },
  { name: 'adaptive', runs: ['night'], kind: 'ava', args: ALL_MODE_SPECS, env: { ...ADAPTIVE, ...LONG } },
  { name: 'soak', runs: ['all'], kind: 'program', args: ['__test__/soak/run.mjs', '--seconds', '30'] },
  { name: 'nodes', runs: ['all'], kind: 'program', args: ['__test__/nodes/run.mjs'], env: { NODES_STEPS: '500' } },
  { name: 'nodes', runs: ['night'], kind: 'program', args: ['__test__/nodes/run.mjs'] },
  { name: 'ecosystem', runs: ['all'], kind: 'program', args: ['__test__/ecosystem/run.mjs'] },
  { name: 'packages', runs: ['night'], kind: 'program', args: ['__test__/packages/run.mjs'] },
  { name: 'browser', runs: ['all'], kind: 'program', args: ['__test__/browser/run.mjs', 'demo'] },
  { name: 'browser', runs: ['night'], kind: 'program', args: ['__test__/browser/run.mjs'] },
  { name: 'autobahn', runs: ['all'], kind: 'program', args: ['__test__/autobahn/run.mjs', '--quiet'] },
];

/** The words of `npm test` for steps that it has not run. */
export const LEFT_OUT = 'left out: loom, attacks (one of them alone, some over TLS: secure), spec files of ava that take half a minute each, soak, nodes, ecosystem, browser, autobahn, which `npm test -- --all` runs; packages, adaptive, most lengths and repetitions, most spec files of inline and reactors, which `npm test -- --night` runs';

/**
 * @param {string[]} words Words of the command line: names of steps, `--all`, `--night`
 * @returns {{ steps: typeof STEPS, isShort: boolean }}
 * @throws {Error} For a name that no step has
 */
export function choose(words) {
  const names = words.filter((word) => !word.startsWith('--'));
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    const known = [...new Set(STEPS.map((step) => step.name))];
    throw new Error(`no such step: ${unknown.join(', ')} (there are ${known.join(', ')})`);
  }
  const isShort = names.length === 0 && !words.includes('--all') && !words.includes('--night');
  const wanted = words.includes('--night') ? 'night' : isShort ? 'short' : 'all';
  if (names.length === 0) return { steps: STEPS.filter(({ runs }) => runs.includes(wanted)), isShort };
  // A step that is named is run as in `wanted`, or as it is.
  const steps = [...new Set(names)].map((name) => {
    const same = STEPS.filter((step) => step.name === name);
    return same.find(({ runs }) => runs.includes(wanted)) ?? same[same.length - 1];
  });
  return { steps: STEPS.filter((step) => steps.includes(step)), isShort };
}
