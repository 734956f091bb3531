// The blocks of code in the documents. Those that are whole programs are the files of examples/,
// which `npm run check` compares, and examples.spec.mjs, ecosystem/ and tests/examples.rs run. The
// fragments run here.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

import { documents } from '../../scripts/documents.mjs';
import { Child, ownOnly, test } from '../helpers/index.mjs';

/** The tests that check blocks of a language which are not files of examples/. */
const CHECKED = {
  js: 'here: they run',
  json: 'here: they are parsed',
  ts: 'scripts/api.mjs: docs/api.md is made of the declarations',
  ini: 'systemd.spec.mjs: systemd verifies them',
  yaml: 'drain.spec.mjs: its program runs, and its times fit',
  nginx: 'proxy.spec.mjs: nginx runs with it',
  haproxy: 'proxy.spec.mjs: HAProxy runs with it',
};

/** Blocks that cannot run, and the reason. */
const PARSED_ONLY = [
  [/^\/\/ before\nuWS\.App/, 'a program of uWebSockets.js, which is no dependency'],
  [/\.handleConnect\(/, 'it needs a certificate; listen/http2.spec.mjs does the same'],
  [/^emitUpgrades\(/m, 'it needs socket.io; ecosystem/socket-io.test.mjs does the same'],
  [/reactorAdapter\(/, 'it needs socket.io; ecosystem/socket-io-rooms.test.mjs does the same'],
  [/redisAdapter\(\{ client \}\)/, 'it needs Redis: adapters/'],
  [/WebSocketServer\(.*handover: '/, 'it needs a folder of its own, and two processes: handover/'],
  [/^listen\(.*handover: '/m, 'the same, on the port of an HTTP server'],
  [/^wss\.on\('handover'/, 'the same'],
  [/^port\.on\('handover'/, 'it needs socket.io as well'],
  [/new TopicsClient\(/, 'it is a page: protocol/client.spec.mjs and browser/resume.test.mjs do the same'],
  [/adapterTests\(/, 'tests of an adapter that the reader writes: adapters/'],
];

/** The results of the fragments of a document, in their order; see fixtures/blocks.mjs. */
const EVENTS = {
  'docs/adapters.md': [{}],
  'docs/api.md': [{}],
  'docs/broadcast.md': [{ reader: ['data'] }, { reader: ['data'] }],
  'docs/client.md': [{}],
  'docs/compression.md': [{}],
  'docs/migrating-from-uwebsockets.md': [{ first: ['welcome', 'hello'], second: ['welcome'], prints: ['1005', '1005'] }],
  'docs/migrating-from-ws.md': [{}],
  'docs/presence.md': [{ first: ['{"presence":"lobby","state":{"ann":[{"device":"phone"}]},"count":1}'], prints: ['1 phone', '1 phone'], second: ['{"presence":"lobby","state":{"ann":[{"device":"phone"}]},"count":1}'] }],
  'docs/running.md': [
    {},
    {},
    { prints: ['1005 closed', '1005 closed'] },
    {},
    { answers: ['200 # HELP reactor_ws_connections Open connections'] },
    { prints: [' 1005', ' 1005', ' 1005', ' 1005', '/ 1005', '/ 1005'] },
  ],
  'docs/topics.md': [
    { second: ['hello'] },
    {},
    { reader: ['meanwhile'] },
    { first: ['{"symbol":"ACME","price":1}'], second: ['{"symbol":"ACME","price":1}'] },
  ],
};

function blocks(document) {
  const text = readFileSync(fileURLToPath(new URL(`../../${document}`, import.meta.url)), 'utf8');
  return [...text.matchAll(/(<!-- file: \S+ -->\n\n)?^ *```(\w+)\n([^]*?)^ *```$/gm)]
    .filter(([, shown]) => shown === undefined)
    .map(([, , language, code]) => ({ document, language, code }));
}

const all = documents().flatMap(blocks);
const inLanguage = (name) => all.filter(({ language }) => language === name);
const runs = ({ code }) => !PARSED_ONLY.some(([pattern]) => pattern.test(code));

test('blocks of every language are checked somewhere', (t) => {
  t.deepEqual([...new Set(all.map(({ language }) => language))].sort(), Object.keys(CHECKED).sort());
  t.deepEqual([...new Set(inLanguage('ts').map(({ document }) => document))], ['docs/api.md']);
  const parsed = inLanguage('js').filter((block) => !runs(block));
  t.is(parsed.length, PARSED_ONLY.length);
  for (const { code, document } of parsed) t.notThrows(() => new Script(code.replace(/^import .*$/gm, '')), document);
});

for (const document of new Set(inLanguage('js').filter(runs).map((block) => block.document))) {
  ownOnly(`fragments of ${document} run`, async (t) => {
    const fragments = inLanguage('js').filter((block) => runs(block) && block.document === document);
    const child = new Child(t, 'blocks.mjs', [], { nodeArgs: ['--no-warnings', '--experimental-vm-modules'], stdio: ['pipe', 'pipe', 'pipe'] });
    child.process.stdin.end(JSON.stringify(fragments.map(({ code }) => code)));
    const { stdout, ...end } = await child.ended();
    const events = stdout.trim().split('\n').map((line) => JSON.parse(line));
    t.deepEqual({ ...end, events }, { code: 0, signal: null, stderr: '', events: EVENTS[document] });
  });
}

test('blocks of JSON are JSON', (t) => {
  for (const { document, code } of inLanguage('json')) t.notThrows(() => JSON.parse(code), document);
});
