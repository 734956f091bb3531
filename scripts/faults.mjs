// The faults that the code has to bear, and the tests of each: `npm run generate` writes docs/faults.md. A test is one of a
// fault that its title, its function or a comment in its file names, such as `fn f07_...` or `// F07.`

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from './run.mjs';

const DOCUMENT = 'docs/faults.md';
const KINDS = {
  H: 'Handshakes',
  F: 'Frames',
  Z: 'Compression',
  R: 'Resources',
  J: 'Faults of the application',
  P: 'The process and its threads',
  O: 'The operating system and the network',
};

/** The title of each row; behind a bar the substitute for all or a part of it. */
const ROWS = `
H01 connections that say nothing | with a server of Node, its \`headersTimeout\`
H02 a header that never ends | with a server of Node, its \`headersTimeout\`
H03 a header byte by byte
H04 headers and request lines beyond the limit
H05 wrong keys
H06 wrong Upgrade and Connection
H07 versions
H08 other methods and protocols
H09 2,000 headers
H10 100,000 empty headers
H11 headers twice, folds, bare LF, spaces, NUL
H12 targets of every kind
H13 bytes from 0x80 on
H14 offers of extensions
H15 inputs on which regular expressions are slow
H16 pages of other sites
H17 the handshake cut everywhere, and much after it
H18 requests with a body
H19 resets at each stage
H20 hooks that misbehave
H21 a flood of handshakes
F01 frames cut everywhere
F02 reserved bits
F03 frames without a mask
F04 reserved opcodes
F05 unmasking at every alignment
F06 control frames that are long or fragmented
F07 a declared length without any bytes
F08 64-bit lengths
F09 lengths that are longer than needed
F10 fragments of nothing
F11 text that is not UTF-8
F12 a message that never ends
F13 many messages that stop below the limits | the bound of their memory: on a port, with \`unfinishedBudget\`; Node reads streams
F14 empty fragments
F15 a frame byte by byte
F16 a flood of pings
F17 a flood of pings from a peer that never reads
F18 a flood of pongs
F19 status codes
F20 the longest message, and a byte more
F21 a text longer than a string can be | on a port, as all ways share the engine; where 2.4 GB of memory are free; otherwise the test reports that and passes
F22 a flood of short messages
Z01 compression that was not negotiated
Z02 bombs
Z03 bombs in fragments
Z04 messages of every size both ways
Z05 windows
Z06 broken streams
Z07 contexts of many connections
Z08 inputs that broke other decoders
Z09 idle after a long message
Z10 messages that are slow to inflate
Z11 secrets beside what an attacker sends | nothing to test: docs/compression.md says not to
R01 a peer that does not read
R02 a peer that reads byte by byte
R03 a broadcast to peers of which some do not read
R04 a frame that comes slowly
R05 a long queue, then close()
R06 descriptors are used up | a port and an HTTP server of Node have tests; a stream needs no descriptor of ours
R07 errors of accept | on the other ways Node accepts
R08 many connections come and go | \`npm run soak\` has them for 30 minutes
R09 60,000 idle connections | both ends need a descriptor each; the test has 2,000, the benchmark up to the limit
R10 the number of threads
R11 JavaScript is blocked
R12 JavaScript is slow
R13 a paused connection
R14 many unfinished messages
R15 a flood of sends
R16 100,000 deadlines at once | the test has 1,124 connections, for the reason of R09, and 100,000 entries of the heap
R17 one connection that floods, and many others
R18 the limit of memory | for all ways: the process ends
J01 calls at the wrong time
J02 handlers that throw
J03 handlers that reject
J04 no 'error' listener
J05 close() and terminate() in a handler
J06 another connection is closed in a handler
J07 \`clients\` changes while it is iterated
J08 sends in callbacks, event loops in handlers
J09 a payload that changes behind send()
J10 a payload that is detached behind send()
J11 a message that is detached, kept or changed
J12 arguments of the wrong type
J13 lone surrogates, long and sliced strings
J14 unreferenced connections
J15 a polluted prototype
J16 methods that are replaced
J17 many servers, ports and ways to listen
J18 sockets of every kind for handleUpgrade()
J19 child processes and clusters
J20 async contexts
P01 the process ends by itself
P02 unref()
P03 process.exit() amid traffic
P04 uncaught errors, abort, signals
P05 process.exit() in a handler
P06 the process stands still | a suspended machine cannot be tested without suspending one
P07 worker.terminate() amid traffic
P08 the addon in a worker only
P09 many workers
P10 a worker ends while its thread is blocked
P11 a panic of the reactor
P12 a panic on the JavaScript thread | on the other ways no program can cause one
P13 a reactor that hangs | only tests in Rust can make one hang; it has adopted sockets too, and no streams
P14 fork without exec | Node cannot
P15 versions of Node | \`npm run test:node-versions\`
O01 resets
O02 SIGPIPE | its default action: Node and Rust's tests both ignore it; every write has MSG_NOSIGNAL
O03 the end at every byte
O04 a peer that vanishes
O05 half of a connection is closed
O06 interrupted calls | a mask for the signals of the reactor thread: it has none, handlers run wherever the kernel puts them
O07 short writes
O08 urgent bytes | the test is of the reactor, which has adopted sockets too; libuv never asks for urgent bytes
O09 a slot that is used again
O10 wake-ups
O11 the clock jumps
O12 listeners and interfaces that go | an interface: where network namespaces are allowed; otherwise the test reports that and passes
O13 a tenth of the CPU | of a container's quota: the test stops the process nine tenths of the time; R18 has the limit of memory
`
  .trim()
  .split('\n')
  .map((line) => {
    const [text, instead = ''] = line.slice(4).split(' | ');
    return { row: line.slice(0, 3), text, instead };
  });

const FOLDERS = ['__test__', 'src', 'crates', 'tests'];
const isTest = (path) => /\.spec\.mjs$|\.rs$|\/scenarios\/[^/]*\.mjs$/.test(path);
const named = (text) => new Set([...text.matchAll(/(?<![a-z0-9])([hfzrjpo]\d\d)(?![0-9a-z])/gi)].map(([, row]) => row.toUpperCase()));

/** The test files that name each row. */
function filesOf() {
  const found = new Map(ROWS.map(({ row }) => [row, []]));
  for (const folder of FOLDERS) {
    for (const path of filesUnder(folder)) {
      if (!isTest(path)) continue;
      const text = readFileSync(join(root, path), 'utf8');
      const rows = path.endsWith('.rs') ? inRust(text) : named(text);
      for (const row of rows) found.get(row)?.push(path.replaceAll('\\', '/'));
    }
  }
  for (const files of found.values()) files.sort();
  return found;
}

/** Without packages: among those of the ecosystem tests is a link to the repository itself. */
function filesUnder(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return [];
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

/** Only names in comments and of functions count: elsewhere such a word belongs to a frame. */
function inRust(text) {
  const places = [...text.matchAll(/^\s*\/\/.*$/gm), ...text.matchAll(/\bfn \w+/g)];
  return named(places.map(([place]) => place.replaceAll('_', ' ')).join('\n'));
}

function table() {
  const files = filesOf();
  const lines = ['# Faults', '', 'The faults that the code has to bear, with their tests. Where a test is impossible, the last column says what stands in for it.'];
  let kind = '';
  for (const { row, text, instead } of ROWS) {
    if (row[0] !== kind) {
      kind = row[0];
      lines.push('', `## ${KINDS[kind]}`, '', '| row | fault | tests | in its place |', '|---|---|---|---|');
    }
    const links = files.get(row).map((path) => `[${short(path)}](../${path})`);
    lines.push(`| ${row} | ${text} | ${links.join(', ')} | ${instead} |`);
  }
  return `${lines.join('\n')}\n`;
}

const short = (path) => path.replace(/^__test__\/|^src\//, '').replace(/\.spec\.mjs$|\.rs$|\.mjs$/, '');

if (process.argv[1] === import.meta.filename) writeFileSync(join(root, DOCUMENT), table());

/** @returns {string[]} Rows without a test, and whether docs/faults.md is out of date */
export function faultViolations() {
  const files = filesOf();
  const wrong = ROWS.filter(({ row, instead }) => instead === '' && files.get(row).length === 0).map(({ row }) => `${row}: no test names it`);
  if (readFileSync(join(root, DOCUMENT), 'utf8') !== table()) wrong.push(`${DOCUMENT}: out of date; run npm run generate`);
  return wrong;
}
