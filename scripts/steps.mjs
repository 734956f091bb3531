// The steps of `npm test`, for which a contributor waits, and those that
// `npm test -- --all` and CI run beside or instead.

/**
 * Spec files whose result depends on the thread of the reactor and the number of
 * reactors: work of connections, the order of their events, wake-ups, ends. The others
 * have the same answer in each mode.
 */
export const MODE_SPECS = [
  'differential',
  'own-options',
  'websocket',
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
  'handshake/handshake',
  'handshake/hooks',
  'handshake/ways-in',
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
].map((name) => `__test__/${name}.spec.mjs`);

/** What it measures is the process: it has the machine to itself. Streams have the same reactor in each mode. */
const ALONE = '__test__/attacks/stream-bombs.spec.mjs';
const ALL_SPECS = ['__test__/**/*.spec.mjs', `!${ALONE}`];
/** Without the files that choose their mode themselves, and those whose connections have the same reactor in each mode, or none. */
const ALL_MODE_SPECS = [
  ...ALL_SPECS,
  ...[
    'adapters/**',
    'client/**',
    'crossws.spec.mjs',
    'deflate/deflate-client.spec.mjs',
    'doctor/**',
    'handshake/http2*.spec.mjs',
    'interop.spec.mjs',
    'reactor/inline.spec.mjs',
    'reactor/reactors.spec.mjs',
    'scripts/**',
  ].map((name) => `!__test__/${name}`),
];
/** Without the attacks. */
const OWN_SPECS = [...ALL_SPECS, '!__test__/attacks/**'];

/** Attacks whose clients can speak TLS. */
const SECURE_ATTACKS = ['floods', 'held-messages', 'held-uploads', 'inflated-messages', 'renewed-messages', 'unfinished-contexts'].map((name) => `__test__/attacks/${name}.spec.mjs`);

/** Whatever takes long, too: __test__/helpers/thresholds.mjs. */
const LONG = { BYTES: 'all' };
const INLINE = { REACTOR_WS_REACTORS: '0' };
const SEVERAL = { REACTOR_WS_REACTORS: '3' };

/**
 * `runs`: in `npm test`, or in `npm test -- --all`. A layer's step leaves
 * out what the layers below have run.
 *
 * @type {{ name: string, runs: 'short' | 'all', kind: string, args?: string[], below?: string[], env?: Record<string, string> }[]}
 */
const STEPS = [
  // One build instead of three: the tests are those of the three layers.
  { name: 'rust', runs: 'short', kind: 'cargo', args: ['--workspace'] },
  { name: 'engine', runs: 'all', kind: 'cargo', args: ['--workspace', '--no-default-features'] },
  { name: 'reactor', runs: 'all', kind: 'cargo', args: ['--no-default-features', '--features', 'reactor'], below: ['engine::'] },
  { name: 'loom', runs: 'all', kind: 'loom' },
  { name: 'binding', runs: 'all', kind: 'cargo', below: ['engine::', 'bridge::', 'reactor::'] },
  { name: 'ava', runs: 'short', kind: 'ava', args: OWN_SPECS },
  { name: 'ava', runs: 'all', kind: 'ava', args: ALL_SPECS, env: LONG },
  { name: 'alone', runs: 'all', kind: 'ava', args: [ALONE] },
  { name: 'secure', runs: 'all', kind: 'ava', args: SECURE_ATTACKS, env: { ATTACK_TLS: '1' } },
  // The same with the reactor on the JavaScript thread, and with several.
  { name: 'inline', runs: 'short', kind: 'ava', args: MODE_SPECS, env: INLINE },
  { name: 'inline', runs: 'all', kind: 'ava', args: ALL_MODE_SPECS, env: INLINE },
  { name: 'reactors', runs: 'short', kind: 'ava', args: MODE_SPECS, env: SEVERAL },
  { name: 'reactors', runs: 'all', kind: 'ava', args: ALL_MODE_SPECS, env: SEVERAL },
  { name: 'soak', runs: 'all', kind: 'program', args: ['__test__/soak/run.mjs', '--seconds', '30'] },
  { name: 'nodes', runs: 'all', kind: 'program', args: ['__test__/nodes/run.mjs'] },
  { name: 'ecosystem', runs: 'all', kind: 'program', args: ['__test__/ecosystem/run.mjs'] },
  { name: 'packages', runs: 'all', kind: 'program', args: ['__test__/packages/run.mjs', 'tarballs'] },
  { name: 'browser', runs: 'all', kind: 'program', args: ['__test__/browser/run.mjs', 'demo', 'echo', 'http2', 'resume', 'sizes'] },
  { name: 'autobahn', runs: 'all', kind: 'program', args: ['__test__/autobahn/run.mjs', '--quiet'] },
];

/** The words of `npm test` for steps that it has not run. */
export const LEFT_OUT = 'left out: loom, attacks (one of them alone, some over TLS: secure), soak, nodes, ecosystem, packages, browser, autobahn, most spec files of inline and reactors, most lengths and repetitions of some; `npm test -- --all` runs them';

/**
 * @param {string[]} words Words of the command line: names of steps, `--all`
 * @returns {{ steps: typeof STEPS, isShort: boolean }}
 * @throws {Error} For a name that no step has
 */
export function choose(words) {
  const names = words.filter((word) => word !== '--all');
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    const known = [...new Set(STEPS.map((step) => step.name))];
    throw new Error(`no such step: ${unknown.join(', ')} (there are ${known.join(', ')})`);
  }
  // A step that is named on the command line is run whole.
  const isShort = names.length === 0 && !words.includes('--all');
  const of = isShort ? 'short' : 'all';
  const steps = STEPS.filter(({ name, runs }) => runs === of || (names.includes(name) && !hasOther(name, of)));
  return { steps: names.length === 0 ? steps : steps.filter(({ name }) => names.includes(name)), isShort };
}

/** @param {string} name @param {string} runs */
function hasOther(name, runs) {
  return STEPS.some((step) => step.name === name && step.runs === runs);
}
