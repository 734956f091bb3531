'use strict';

const { availableParallelism, release } = require('node:os');

const { addon, libc, systemName } = require('../reactor/addon');

const OLDEST_NODE = 20;
/** Below it a server of some thousand connections has too few. */
const FEW_DESCRIPTORS = 4096;
/** Below it Node itself and a test have hardly enough. */
const TOO_FEW_DESCRIPTORS = 128;
const VARIABLES = ['NAPI_RS_NATIVE_LIBRARY_PATH', 'REACTOR_WS_REACTORS', 'NODE_OPTIONS', 'NODE_DEBUG'];

/**
 * `descriptors`: how many this process can open, and how far it can raise that itself; null where the system does not
 * say, as on Windows. `environment`: variables that change what reactor-ws does.
 *
 * @typedef {object} System
 * @property {string} runtime Name and version, such as 'Node 22.12.0'
 * @property {string} name As in the name of the package with the addon: 'linux-x64-gnu'
 * @property {string} os The platform, its release, the architecture and the C library
 * @property {number} cpus How many threads can run at once
 * @property {{ soft: number | null, hard: number | null } | null} descriptors In each, null is no limit
 * @property {Record<string, string>} environment
 */

function examineSystem() {
  const { arch, env, platform } = process;
  const descriptors = descriptorLimits();
  /** @type {System} */
  const value = {
    runtime: runtime(),
    name: systemName(),
    os: `${platform} ${release()} ${arch}${libc()}`,
    cpus: availableParallelism(),
    descriptors,
    environment: Object.fromEntries(VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
  };
  const most = descriptors === null || descriptors.soft === null ? Infinity : descriptors.soft;
  const few = most < FEW_DESCRIPTORS ? [fewDescriptors(most)] : [];
  const tooFew = most < TOO_FEW_DESCRIPTORS;
  return { value, problems: [...oldNode(), ...(tooFew ? few : [])], notes: tooFew ? [] : few };
}

function runtime() {
  const { bun, deno, node } = process.versions;
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? `Node ${node}` : `Deno ${deno}`;
}

/** @type {() => import('./main').Finding[]} */
function oldNode() {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= OLDEST_NODE) return [];
  return [{ check: 'system', what: `Node ${node} is too old`, remedy: `use Node ${OLDEST_NODE} or later` }];
}

/** @type {(most: number) => import('./main').Finding} */
function fewDescriptors(most) {
  return {
    check: 'system',
    what: `this process may open ${most} descriptors, and each connection takes one`,
    remedy: 'raise the limit where the server starts: `ulimit -n 65536` in its shell, LimitNOFILE= in a unit of systemd, --ulimit nofile= of Docker',
  };
}

/** @typedef {{ excludeNetwork?: boolean, getReport?(): { userLimits?: { open_files?: { soft: string | number, hard: string | number } } } }} Reports */

/** @returns {System['descriptors']} */
function descriptorLimits() {
  /** @type {Reports} */
  const reports = Object(process.report);
  // It would look up host names.
  reports.excludeNetwork = true;
  const open = reports.getReport?.().userLimits?.open_files;
  return open === undefined ? null : { soft: limit(open.soft), hard: limit(open.hard) };
}

/** @type {(text: string | number) => number | null} */
function limit(text) {
  return text === 'unlimited' ? null : Number(text);
}

/** `path` is null where the runtime does not tell it. */
function examineAddon() {
  try {
    const loaded = addon();
    const [path = null] = Object.entries(require.cache).find(([, entry]) => entry?.exports === loaded) ?? [];
    return { value: { version: loaded.version(), path }, problems: [] };
  } catch (error) {
    // Its first line has the reason, its last the remedy.
    const lines = /** @type {Error} */ (error).message.split('\n');
    /** @type {import('./main').Finding} */
    const problem = { check: 'addon', what: lines[0].replace('reactor-ws: ', ''), remedy: /** @type {string} */ (lines.at(-1)).replace('  what to do: ', '') };
    return { value: { version: null, path: null }, problems: [problem] };
  }
}

module.exports = { examineAddon, examineSystem };
