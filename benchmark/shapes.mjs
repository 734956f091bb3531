// The shapes: loads that are measured.

/**
 * @typedef {object} Shape
 * @property {string} text Description
 * @property {Record<string, string | number | boolean>} load Options of the
 *   load generator, without the dashes
 * @property {View} view The figures that mean something
 * @property {string} [task] Task of the server, with its numbers; an echo without it
 * @property {boolean} [unpinned] Whether server and load generator may use all CPUs
 * @property {number} [rounds] The most rounds that are worthwhile
 * @property {boolean} [fresh] Whether each round needs a new server; one
 *   runs through all rounds without it
 * @property {boolean} [full] Whether it is only measured with --full
 * @property {string[]} [candidates] The servers that take part unless others are chosen on
 *   the command line; all without it
 * @property {boolean} [quiet] Whether the first round also checks that
 *   the server uses no CPU afterwards
 */
/** @typedef {'cost' | 'throughput' | 'distribution' | 'oneWay' | 'idle' | 'rate' | 'blocked' | 'topics' | 'jitter' | 'avalanche'} View */

const NODE = ['ws', 'reactor', 'uws'];
const NODE_AND_INLINE = [...NODE, 'reactor_inline', 'reactors_2'];
const NODE_AND_FLOOR = [...NODE, 'reactor_echo'];
/** All shapes but those that need a second CPU to be of use. */
const ON_ONE_CPU = [
  ...NODE_AND_FLOOR,
  'reactor_adopted',
  'reactor_inline',
  'tokio_echo',
  'uws_cpp',
  'mio_echo',
  'uring_echo',
];
const MANY = [...NODE_AND_FLOOR, 'reactor_inline', 'tokio_echo', 'uws_cpp'];

/** Shapes whose round trips are shown with their tail; each also unpinned. */
export const TAILS = ['100x20', '100x20x32', '10x1024', '200x16384'].flatMap((name) => [name, `${name}-unpinned`]);

/**
 * @type {Record<string, Shape>} Named [what differs-]connections x payload
 * bytes [x in flight] [-what differs].
 */
export const shapes = {
  '100x20': { ...echo(100, 20), quiet: true },
  '100x20x32': echo(100, 20, 32),
  '10x1024': echo(10, 1024),
  '10x16384': echo(10, 16384),
  '200x16384': echo(200, 16384),
  '500x16384': echo(500, 16384),
  '1x20': { ...echo(1, 20), load: { mode: 'latency', payload: 20 } },
  '1x20-unpinned': { ...unpinned(1, 20), load: { mode: 'latency', payload: 20 }, full: false, candidates: undefined },
  'ingest-100x1024': { ...oneWay('one way in', 'ingest', 1024), full: false },
  rate: { ...rate(), text: 'handshakes, 20 at a time, of a new process', fresh: true },
  'idle-10000': idle(10_000),

  'rate-settled': full(rate()),
  '1000x20': full(echo(1000, 20), MANY),
  '5000x20': full(echo(5000, 20), MANY),
  '100x20x8': full(echo(100, 20, 8), MANY),
  '10x1024x8': full(echo(10, 1024, 8), NODE_AND_FLOOR),
  '10x1024x32': full(echo(10, 1024, 32), NODE_AND_FLOOR),
  '10x16384x8': full(echo(10, 16384, 8), NODE_AND_FLOOR),
  '10x16384x32': full(echo(10, 16384, 32), NODE_AND_FLOOR),
  '100x20-binary': full(echo(100, 20, 1, 'binary'), NODE_AND_FLOOR),
  '10x1024-text': full(echo(10, 1024, 1, 'text'), NODE_AND_FLOOR),
  '200x16384-text': full(echo(200, 16384, 1, 'text'), NODE_AND_FLOOR),

  '100x20-unpinned': unpinned(100, 20),
  '100x20x8-unpinned': unpinned(100, 20, 8),
  '100x20x32-unpinned': unpinned(100, 20, 32),
  '1000x20-unpinned': unpinned(1000, 20),
  '5000x20-unpinned': unpinned(5000, 20),
  '10x1024-unpinned': unpinned(10, 1024),
  '10x16384-unpinned': unpinned(10, 16384),
  '200x16384-unpinned': unpinned(200, 16384),
  '500x16384-unpinned': unpinned(500, 16384),

  'ingest-100x20': oneWay('one way in', 'ingest', 20),
  'ingest-100x16384': oneWay('one way in', 'ingest', 16384),
  'push-100x20': oneWay('one to each every 5 ms', 'push', 20),
  'push-100x1024': oneWay('one to each every 5 ms', 'push', 1024),
  'push-100x16384': oneWay('one to each every 5 ms', 'push', 16384),
  'hello-send': hello('sent', { mode: 'ingest' }, 'ingest'),
  'hello-echo': hello('echoed, 32 in flight', { 'in-flight': 32 }),
  'hello-receive': hello('received', { mode: 'push' }, 'burst 13 100000'),

  'latency-1': latency(1),
  'latency-64': latency(64),
  'latency-384': latency(384),
  'latency-1-timeouts': latency(1, 'timeouts'),
  'latency-64-timeouts': latency(64, 'timeouts'),
  'latency-384-timeouts': latency(384, 'timeouts'),

  'fanout-1000x20': fanout(20),
  'fanout-1000x1024': fanout(1024),
  'fanout-1000x1024-deflate': deflated(fanout(1024)),
  'tls-100x20': tls(echo(100, 20)),
  'tls-10x1024': tls(echo(10, 1024)),
  'tls-100x20x32': tls(echo(100, 20, 32)),
  'tls-10x16384': tls(echo(10, 16384)),
  'tls-200x16384': tls(echo(200, 16384)),
  'tls-rate': tls({ ...rate(), text: 'handshakes, 20 at a time' }),
  'tls-rate-resumed': resumed(tls({ ...rate(), text: 'resumed handshakes, 20 at a time' })),
  'tls-rate-rsa': rsa(tls({ ...rate(), text: 'handshakes, 20 at a time, RSA 2048' })),
  'tls-rate-rsa-resumed': resumed(rsa(tls({ ...rate(), text: 'resumed handshakes, 20 at a time, RSA 2048' }))),
  'tls-idle-10000': tls(idle(10_000)),
  'json-100x1024': {
    ...full(echo(100, 1024, 1, 'text'), NODE),
    text: '100 connections, 1 KiB JSON, parsed and made again',
    load: { connections: 100, payload: 1024, json: true },
    task: 'json',
  },
  'busy-100x20': {
    ...full(echo(100, 20), NODE),
    text: '100 connections, 20 B, the event loop busy for 2 of 10 ms',
    task: 'busy',
    view: 'distribution',
  },

  blocked: blocked(),
  'blocked-unpinned': { ...blocked(), text: `${blocked().text}, all CPUs`, unpinned: true },
  'idle-1000': full(idle(1000)),
  // As many as a limit of 20,000 open files allows; one round is enough to compare with the others.
  'idle-19000': { ...full(idle(19_000), NODE), rounds: 1 },
  'idle-10000-used': {
    ...full(idle(10_000), NODE),
    text: '10,000 connections idle after an echo',
    load: { mode: 'idle', connections: 10_000, touch: 1 },
  },
  'deflate-100x1024': deflate('100 connections, 1 KiB JSON, compressed', { connections: 100, payload: 1024 }),
  'deflate-100x16384': deflate('100 connections, 16 KiB JSON, compressed', { connections: 100, payload: 16384 }),
  'deflate-idle-10000': {
    ...deflate('10,000 connections idle after 20 compressed echoes of 1 KiB', {
      mode: 'idle',
      connections: 10_000,
      payload: 1024,
      touch: 20,
    }),
    view: 'idle',
    fresh: true,
    rounds: 1,
  },

  ...crossings(),
};

/**
 * Shapes that a run without a choice measures.
 *
 * @param {boolean} all Whether also those that are only measured with --full
 */
export function defaultShapes(all) {
  return Object.fromEntries(Object.entries(shapes).filter(([, shape]) => all || !shape.full));
}

/**
 * Every message comes back. Up to 20 B text, above that binary, unless `kind` says so.
 *
 * @param {number} connections
 * @param {number} payload
 * @param {number} [inFlight]
 * @param {'text' | 'binary'} [kind]
 * @returns {Shape}
 */
function echo(connections, payload, inFlight = 1, kind) {
  const binary = kind ? kind === 'binary' : payload > 20;
  return {
    text: [count(connections), size(payload) + (kind ? ` ${kind}` : ''), ...(inFlight > 1 ? [`${inFlight} in flight`] : [])].join(', '),
    load: { connections, payload, ...(inFlight > 1 && { 'in-flight': inFlight }), ...(binary && { binary }) },
    view: 'cost',
    candidates: ON_ONE_CPU,
  };
}

/**
 * @param {Shape} shape
 * @param {string[]} [candidates]
 * @returns {Shape}
 */
function full(shape, candidates = shape.candidates) {
  return { ...shape, full: true, candidates };
}

/**
 * @param {number} connections
 * @param {number} payload
 * @param {number} [inFlight]
 * @returns {Shape}
 */
function unpinned(connections, payload, inFlight) {
  const shape = full(echo(connections, payload, inFlight), NODE_AND_INLINE);
  return { ...shape, text: `${shape.text}, all CPUs`, unpinned: true, view: 'throughput' };
}

/**
 * More than may wait for JavaScript: 100 MB are under way. Pinned, the reactor has one CPU, and
 * shares it with a thread that never rests.
 *
 * @returns {Shape}
 */
function blocked() {
  return {
    text: '100 connections, 1 KiB, 1000 in flight, the event loop blocked for 5 s',
    load: { mode: 'blocked', connections: 100, payload: 1024, binary: true, 'in-flight': 1000, hold: 5, timeout: 30 },
    view: 'blocked',
    task: 'blocked',
    fresh: true,
    full: true,
    rounds: 3,
    candidates: ['ws', 'reactor'],
  };
}

/**
 * @returns {Shape}
 */
function rate() {
  return {
    text: 'handshakes, 20 at a time',
    load: { mode: 'rate', connections: 20 },
    view: 'rate',
    candidates: [...NODE, 'reactor_adopted', 'reactor_listened'],
  };
}

/**
 * @param {string} text
 * @param {'ingest' | 'push'} mode
 * @param {number} payload
 * @returns {Shape}
 */
function oneWay(text, mode, payload) {
  const { load } = echo(100, payload);
  return {
    text: `100 connections, ${size(payload)}, ${text}`,
    load: { mode, ...load },
    view: 'oneWay',
    task: mode === 'push' ? `push ${payload} 5` : mode,
    // Once asked, a server pushes for good.
    fresh: mode === 'push',
    full: true,
    candidates: mode === 'push' ? [...NODE, 'reactor_inline'] : NODE,
  };
}

/**
 * 100,000 messages as long as "Hello, World!" on one connection.
 *
 * @param {string} what
 * @param {Shape['load']} load
 * @param {string} [task]
 * @returns {Shape}
 */
function hello(what, load, task) {
  return {
    text: `100,000 messages of 13 B on one connection, ${what}`,
    load: { connections: 1, payload: 13, messages: 100_000, ...load },
    view: 'oneWay',
    task,
    full: true,
    candidates: NODE,
  };
}

/**
 * At least a millisecond between two requests of a connection: the server is not
 * saturated, unless it is very slow.
 *
 * @param {number} connections
 * @param {'timeouts'} [task]
 * @returns {Shape}
 */
function latency(connections, task) {
  return {
    text: `${count(connections)}, 20 B every ms${task ? ', time limits on each' : ''}`,
    // The generator polls: its own wake-up is not to be part of the round trip.
    load: { connections, payload: 20, 'pace-ms': 1, spin: true, seconds: connections === 1 ? 3 : 1.2 },
    view: 'distribution',
    task,
    full: true,
    candidates: task ? NODE : [...NODE, 'reactor_inline'],
  };
}

/**
 * @param {number} payload
 * @returns {Shape}
 */
function fanout(payload) {
  const { load } = echo(1000, payload);
  return {
    text: `${size(payload)} of one connection to 1,000`,
    load: { mode: 'fanout', ...load },
    view: 'cost',
    task: 'fanout',
    full: true,
    candidates: NODE,
  };
}

/**
 * @param {Shape} shape
 * @returns {Shape}
 */
function deflated({ text, load: { binary: _, ...load }, task, ...shape }) {
  return { ...shape, text: `${text}, compressed`, load: { ...load, deflate: true }, task: `${task} deflate` };
}

/**
 * @param {Shape} shape
 * @returns {Shape}
 */
function tls(shape) {
  const candidates = ['ws', 'reactor', 'reactor_tls', 'reactor_tls_auto', 'uws'];
  return { ...full(shape, candidates), text: `${shape.text}, TLS`, load: { ...shape.load, tls: true }, task: 'tls' };
}

/** @type {(shape: Shape) => Shape} */
function resumed(shape) {
  return { ...shape, load: { ...shape.load, resume: true } };
}

/** @type {(shape: Shape) => Shape} */
function rsa(shape) {
  return { ...shape, task: `${shape.task} rsa` };
}

/**
 * @param {number} connections
 * @returns {Shape}
 */
function idle(connections) {
  return {
    text: `${connections.toLocaleString('en')} idle connections`,
    load: { mode: 'idle', connections },
    view: 'idle',
    fresh: true,
    rounds: 3,
    candidates: [...NODE, 'reactor_adopted'],
  };
}

/**
 * @param {string} text
 * @param {Shape['load']} load
 * @returns {Shape}
 */
function deflate(text, load) {
  return { text, load: { ...load, deflate: true }, view: 'cost', task: 'deflate', full: true, candidates: NODE };
}

/**
 * The cost of a message that crosses to JavaScript together with others: many arrive in one write,
 * and the thread rests until the next ones.
 */
function crossings() {
  /** @type {Record<string, Shape>} */
  const made = {};
  for (const payload of [64, 1024]) {
    for (const batch of [1, 8, 64, 512]) {
      made[`crossing-${batch}x${payload}`] = {
        text: `${batch} of ${size(payload)} together, one way in`,
        load: { mode: 'ingest', connections: 1, payload, binary: true, batch, 'pace-ms': batch > 64 ? 4 : 1 },
        view: 'oneWay',
        task: 'ingest',
        full: true,
        rounds: 3,
        candidates: ['ws', 'reactor'],
      };
    }
  }
  return made;
}

/**
 * @param {number} connections
 */
function count(connections) {
  return `${connections.toLocaleString('en')} connection${connections === 1 ? '' : 's'}`;
}

/**
 * @param {number} payload
 */
function size(payload) {
  return payload < 1024 ? `${payload} B` : `${payload / 1024} KiB`;
}
