// Tracers that know `ws`: dd-trace, and opentelemetry-instrumentation-ws. They find `ws` by the
// name of its folder and by its version, which for this package has to be 8 or later
// (docs/running.md has the details): here the folder is a copy with the version of the first stable
// release. With `ws` itself the same program has the spans that ours are compared with.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const packages = fileURLToPath(new URL('node_modules', import.meta.url));
const STABLE = '8.0.0';
const NO_NETWORK = {
  DD_TRACE_WEBSOCKET_MESSAGES_ENABLED: 'true',
  DD_TRACE_EXPERIMENTAL_EXPORTER: 'log',
  DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false',
  DD_REMOTE_CONFIGURATION_ENABLED: 'false',
};

/** A server, and a client that sends a message, is answered and closes; after that, `done()`. */
const CONVERSATION = `
const { createServer } = require('node:http');
const { WebSocketServer } = require('ws');
const http = process.argv[2] === 'server' ? createServer() : null;
const wss = new WebSocketServer(http === null ? { port: 0, host: '127.0.0.1' } : { server: http });
wss.on('connection', (ws) => ws.on('message', () => ws.send('answer')));
(http ?? wss).on('listening', () => {
  const client = new Client('ws://127.0.0.1:' + (http ?? wss).address().port + '/path');
  client.on('open', () => client.send('question'));
  client.on('message', () => client.close(1000));
  client.on('close', () => wss.close(() => (http === null ? done() : http.close(done))));
});
http?.listen(0, '127.0.0.1');
`;

/** Spans are written as one line for each trace. */
const DATADOG = `
require('dd-trace').init({ startupLogs: false, flushInterval: 0 });
const { WebSocket: Client } = require('client');
// The last span is written when the client has gone, if there are any.
const { write } = process.stdout;
let written = '';
process.stdout.write = function (text, ...rest) {
  written += text;
  return Reflect.apply(write, process.stdout, [text, ...rest]);
};
const done = () => {
  const patience = Date.now() + (Number(process.argv[3]) || 0);
  setInterval(() => (written.includes('websocket.close') || Date.now() > patience) && setImmediate(() => process.exit()), 50);
};
${CONVERSATION}`;

const OPENTELEMETRY = `
const { context, trace } = require('@opentelemetry/api');
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const { WSInstrumentation } = require('opentelemetry-instrumentation-ws');
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
new WSInstrumentation().setTracerProvider(provider);
const Client = require('ws');
const done = () => setImmediate(() => console.log(JSON.stringify(exporter.getFinishedSpans().map(({ name }) => name))));
${CONVERSATION}`;

/** A folder with a `ws` that is ours, with that version, or the one of npm. */
function folderWith(t, version) {
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-tracers-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@opentelemetry'), { recursive: true });
  for (const name of ['dd-trace', 'opentelemetry-instrumentation-ws', '@opentelemetry/api', '@opentelemetry/context-async-hooks', '@opentelemetry/sdk-trace-base']) {
    symlinkSync(join(packages, name), join(modules, name));
  }
  symlinkSync(join(packages, 'ws-real'), join(modules, 'client'));
  if (version === null) cpSync(join(packages, 'ws-real'), join(modules, 'ws'), { recursive: true });
  else {
    cpSync(join(repository, 'lib'), join(modules, 'ws/lib'), { recursive: true });
    const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
    writeFileSync(join(modules, 'ws/package.json'), JSON.stringify({ ...manifest, version }));
  }
  writeFileSync(join(folder, 'datadog.cjs'), DATADOG);
  writeFileSync(join(folder, 'opentelemetry.cjs'), OPENTELEMETRY);
  return folder;
}

/** Milliseconds to wait for spans: the client's 'close' comes before the last span is written. */
const PATIENCE_MS = 60_000;

async function run(folder, program, way, patience = PATIENCE_MS) {
  const { stdout } = await promisify(execFile)(process.execPath, [program, way, String(patience)], {
    cwd: folder,
    env: { ...process.env, ...NO_NETWORK },
    timeout: 240_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

/** Names and resources of the spans of WebSockets that dd-trace has written. */
async function datadog(folder, way, patience) {
  const lines = (await run(folder, 'datadog.cjs', way, patience)).split('\n').filter((line) => line.startsWith('{"traces"'));
  const spans = lines.flatMap((line) => JSON.parse(line).traces.flat());
  const isOfServer = ({ name }) => name === 'web.request' || name.startsWith('websocket.');
  return spans.filter(isOfServer).map(({ name, resource }) => `${name} ${resource}`).sort();
}

async function opentelemetry(folder, way) {
  return JSON.parse((await run(folder, 'opentelemetry.cjs', way)).trim()).sort();
}

for (const way of ['port', 'server']) {
  test(`dd-trace, ${way}: connect, receive, send and close have spans, as with ws`, async (t) => {
    const spans = await datadog(folderWith(t, STABLE), way);
    for (const name of ['web.request GET /path', 'websocket.receive', 'websocket.send', 'websocket.close']) {
      assert.equal(spans.filter((span) => span.startsWith(name)).length, 1, `${name} in ${spans}`);
    }
    assert.deepEqual(spans, await datadog(folderWith(t, null), way));
  });

  test(`opentelemetry-instrumentation-ws, ${way}: spans as with ws`, async (t) => {
    const spans = await opentelemetry(folderWith(t, STABLE), way);
    const wanted = await opentelemetry(folderWith(t, null), way);
    // The tracer watches the HTTP server of Node, and with a port there is none.
    assert.deepEqual(spans, way === 'port' ? wanted.filter((name) => name !== 'HTTP GET WS') : wanted);
    for (const name of ['WS connect', 'WS upgrade', 'WS open', 'WS close']) assert.ok(spans.includes(name), `${name} in ${spans}`);
  });
}

test('with a version before 8 neither has spans of ours', async (t) => {
  const folder = folderWith(t, '0.1.0');
  assert.deepEqual(await datadog(folder, 'port', 1000), []);
  assert.deepEqual(await opentelemetry(folder, 'port'), []);
});
