// The servers that are measured.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { benchmarkDir, rootDir, targetDir } from './paths.mjs';

/**
 * @typedef {object} Candidate
 * @property {string} text Description
 * @property {string[]} command Program and arguments; {port} in them is replaced by a free port
 * @property {Record<string, unknown>} [options] Options of its WebSocketServer that differ
 * @property {string} [missing] The reason why it cannot run, and the remedy
 * @property {boolean} [optional] Whether it is left out even if it was chosen, where it cannot run
 * @property {boolean} [full] Whether it is only measured with --full
 * @property {boolean} [rough] Whether it is ad hoc: not asked for the closing handshake
 * @property {string[]} [tasks] The tasks that it can do; all without this
 * @property {string[]} [words] Behind the shape's task on its command line
 * @property {Record<string, string | number | boolean>} [load] Options
 *   of the load generator that differ
 * @property {boolean} [withoutJs] Whether it has no JavaScript thread
 */

const ECHO = ['echo'];
const URING_ECHO = join(targetDir, 'release', 'uring_echo');

/**
 * @returns {Record<string, Candidate>}
 */
export function candidates() {
  const reactor = { command: server('reactor'), missing: missingAddon() };
  const secure = { ...reactor, command: server('secure'), tasks: ['tls'], missing: reactor.missing ?? missingOption('tls'), full: true };
  return {
    ws: { text: 'ws', command: server('ws') },
    reactor: { ...reactor, text: 'reactor-ws' },
    reactor_adopted: { ...reactor, text: 'reactor-ws behind node:http', command: server('adopted'), full: true },
    reactor_listened: { ...reactor, text: 'reactor-ws, node:http by listen()', command: server('listened'), full: true },
    reactor_tls: { ...secure, text: 'reactor-ws, TLS on the reactor' },
    reactor_tls_auto: { ...secure, text: "reactor-ws, TLS, reactors: 'auto'", options: { reactors: 'auto' } },
    reactor_inline: {
      ...reactor,
      text: 'reactor-ws, no thread',
      options: { reactors: 0 },
      missing: reactor.missing ?? missingOption('reactors'),
      full: true,
    },
    reactor_auto: {
      ...reactor,
      text: "reactor-ws, reactors: 'auto'",
      options: { reactors: 'auto' },
      missing: reactor.missing ?? missingOption('reactors'),
      full: true,
    },
    reactors_2: {
      ...reactor,
      text: 'reactor-ws, 2 reactors',
      options: { reactors: 2 },
      missing: reactor.missing ?? missingOption('reactors'),
      full: true,
    },
    uws: {
      text: 'uWebSockets.js',
      command: server('uws'),
      tasks: ['echo', 'deflate', 'timeouts', 'ingest', 'push', 'burst', 'fanout', 'json', 'busy', 'tls'],
      missing: process.env.UWS_PATH ? undefined : 'npm install --no-save @btc-vision/uwebsockets.js (glibc 2.38 or later), or set UWS_PATH to its directory',
    },
    reactor_echo: { text: 'reactor without JavaScript', ...example('reactor_echo') },
    tokio_echo: { text: 'the same engine under tokio', ...example('tokio_echo'), full: true },
    uws_cpp: {
      text: 'uWebSockets, C++',
      command: [process.env.UWS_CPP_PATH ?? ''],
      tasks: ECHO,
      withoutJs: true,
      missing: process.env.UWS_CPP_PATH ? undefined : 'set UWS_CPP_PATH to an echo server of it that prints {"port":N}',
      full: true,
    },
    mio_echo: {
      text: 'bare mio loop',
      command: [join(targetDir, 'release', 'mio_echo')],
      tasks: ECHO,
      withoutJs: true,
      full: true,
    },
    uring_echo: {
      text: 'bare io_uring loop',
      optional: true,
      command: [URING_ECHO],
      tasks: ECHO,
      withoutJs: true,
      full: true,
      // Read once the package is built.
      get missing() {
        return missingUring();
      },
    },
  };
}

/**
 * The candidates that have rooms. A candidate named after what it leaves out is
 * compared with itself within one run.
 *
 * @returns {Record<string, Candidate>}
 */
export function topicCandidates() {
  const { ws, uws, reactor } = candidates();
  const rooms = (/** @type {string} */ name, /** @type {Candidate} */ candidate) => {
    return { text: candidate.text, missing: candidate.missing, command: server(join('topics', name)) };
  };
  const [ours, theirs] = [rooms('reactor', reactor), rooms('uws', uws)];
  const missing = isInstalled('socket.io') ? undefined : 'npm install --no-save socket.io, or set PEERS_PATH';
  const socketio = { text: 'Socket.IO', command: server(join('topics', 'socketio')), load: { protocol: 'socketio' }, missing };
  return {
    ws: rooms('ws', ws),
    uws: theirs,
    uws_drop: { ...theirs, text: 'uWebSockets.js, maxBackpressure', words: ['drop'] },
    socketio,
    socketio_recovery: { ...socketio, text: 'Socket.IO, connection state recovery', words: ['recovery'] },
    socketio_engine: { ...socketio, text: 'Socket.IO, wsEngine: reactor-ws', words: ['engine'] },
    socketio_rooms: { ...socketio, text: 'Socket.IO, rooms on topics', words: ['rooms'] },
    socketio_auto: { ...socketio, text: "Socket.IO, rooms on topics, reactors: 'auto'", words: ['rooms'], options: { reactors: 'auto' } },
    socketio_inline: { ...socketio, text: 'Socket.IO, rooms on topics, no thread', words: ['rooms'], options: { reactors: 0 } },
    reactor: ours,
    // At the rate that 10,000 connections allow: a thread that runs once in 30
    // ms begins cold, whatever its work.
    reactor_100: { ...ours, text: 'reactor-ws, 100 subscribers, 30 a second', load: { connections: 100, rate: 30 } },
    reactor_inline: { ...ours, text: 'reactor-ws, no thread', options: { reactors: 0 } },
    reactor_history: { ...ours, text: 'reactor-ws, history', words: ['history'], load: { protocol: 'topics' } },
    reactor_drop: { ...ours, text: "reactor-ws, slow: 'drop'", words: ['drop'] },
    reactor_drop_live: { ...ours, text: "reactor-ws, slow: 'drop', nobody stalled", words: ['drop'], load: { stalled: 0 } },
  };
}

/**
 * @param {string} name
 */
function isInstalled(name) {
  try {
    return Boolean(createRequire(process.env.PEERS_PATH ? `${process.env.PEERS_PATH}/` : import.meta.url).resolve(name));
  } catch {
    return false;
  }
}

/**
 * Candidates that come from the command line.
 *
 * @param {string[]} extras name=COMMAND
 * @returns {Record<string, Candidate>}
 */
export function extraCandidates(extras) {
  return Object.fromEntries(
    extras.map((extra) => {
      const [name, command] = extra.split(/=(.*)/s);
      return [name, { text: name, command: command.split(' '), rough: true, tasks: ECHO }];
    }),
  );
}

/**
 * @param {string} name
 */
export function candidateText(name) {
  return (candidates()[name] ?? topicCandidates()[name])?.text ?? name;
}

/**
 * @param {string} name
 */
function server(name) {
  return [process.execPath, join(benchmarkDir, 'servers', `${name}.mjs`)];
}

/**
 * @param {string} name
 */
function example(name) {
  const command = join(targetDir, 'release', 'examples', name);
  const missing = existsSync(command) ? undefined : `it was not built: ${command}`;
  return { command: [command], tasks: ECHO, withoutJs: true, missing };
}

/** Containers often forbid io_uring, and old kernels lack parts of it. */
function missingUring() {
  const { status, stderr, error } = spawnSync(URING_ECHO, ['--check'], { encoding: 'utf8' });
  if (error) return `it was not built: ${URING_ECHO}`;
  return status === 0 ? undefined : `needs Linux 6.1, and io_uring allowed by the container: ${stderr.trim()}`;
}

function missingAddon() {
  const addon = join(rootDir, 'lib', 'native');
  const built = existsSync(addon) && readdirSync(addon).some((name) => name.endsWith('.node'));
  return built ? undefined : 'build the addon: npm run build';
}

/**
 * @param {string} name
 */
function missingOption(name) {
  const known = new RegExp(`^ +${name}\\?:`, 'm').test(readFileSync(join(rootDir, 'types', 'server.d.ts'), 'utf8'));
  return known ? undefined : `this version has no option ${name}`;
}
