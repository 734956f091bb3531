// The AI SDK's WebSocketChatTransport with the server of examples/ai-chat.mjs, on one node, and on two with Redis.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { readUIMessageStream, WebSocketChatTransport } from 'ai';

import { hasRedis, RedisServer } from '../../helpers/redis.mjs';
import { refusal } from '../helpers/clients.mjs';
import { RealWebSocket } from '../helpers/on-reactor.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));

for (const nodes of [1, 2]) {
  test(`ai: a response survives its page, ${nodes} nodes`, { skip: nodes > 1 && !hasRedis }, async (t) => {
    const [first, last] = await start(t, nodes);
    const page = tab(t, first);
    const chunks = (await page.ask('chat', '100')).getReader();
    while ((await chunks.read()).value.type !== 'text-delta');
    page.close();
    await assert.rejects(chunks.read());

    // Two tabs while it goes on, one of them on the node that generates.
    const tabs = [tab(t, first), tab(t, last)];
    await assert.rejects(drain(await tabs[1].ask('chat', '5')), /No response can begin now/);
    const streams = await Promise.all(tabs.map((one) => one.resume('chat')));
    for (const message of await Promise.all(streams.map((stream) => read(stream)))) assert.equal(text(message), numbers(100));
    // One that has ended comes again, and with the id that its page knows.
    const again = await Promise.all([first, last].map(async (node) => read(await tab(t, node).resume('chat'))));
    assert.equal(text(again[0]), numbers(100));
    assert.equal(again[0].id, again[1].id);
    // The chat is free again, and then has the other response.
    assert.equal(text(await read(await tabs[1].ask('chat', '7'))), numbers(7));
    assert.equal(text(await read(await tabs[0].resume('chat'))), numbers(7));
    assert.equal([...new Set([first, last])].flatMap(({ said }) => said).filter((line) => line === 'asked: 100').length, 1);
  });

  test(`ai: of two sends at once one is answered, and each tab can abort, ${nodes} nodes`, { skip: nodes > 1 && !hasRedis }, async (t) => {
    const [first, last] = await start(t, nodes);
    const asked = await Promise.all([first, last].map((node) => tab(t, node).ask('chat', '10000')));
    const begun = await Promise.all(asked.map((stream) => stream.getReader().read().then(() => true, () => false)));
    assert.deepEqual(begun.sort(), [false, true]);
    const control = new AbortController();
    const other = read(await tab(t, first).resume('chat'));
    await read(await tab(t, last).resume('chat', control.signal), () => control.abort());
    assert.match(text(await other), /^0 1 /);
    while (![...first.said, ...last.said].includes('aborted: 10000')) await new Promise(setImmediate);
    assert.equal(text(await read(await tab(t, first).ask('chat', '3'))), numbers(3));
  });
}

test('ai: chats belong to users, origins are looked at, and limits hold', async (t) => {
  const [node] = await start(t, 1);
  const page = tab(t, node);
  await drain(await page.ask('chat', '2'));
  assert.equal(await tab(t, node, 'eve').resume('chat'), null);
  assert.equal(await page.resume('another'), null);
  const parts = await drain(await page.ask('chat', 'refuse'));
  assert.ok(parts.some(({ errorText, type }) => type === 'error' && !errorText.includes('refuses')));
  const { url } = node;
  assert.equal(await refusal(t, url, { headers: { cookie: 'user=ada', origin: 'http://elsewhere.example' } }), 403);
  assert.equal(await refusal(t, url), 401);

  for (let n = 0; n < 3; n++) await (await page.ask(`chat ${n}`, '10000')).getReader().read();
  await assert.rejects(drain(await page.ask('one more', '1')), /No response can begin now/);
  assert.equal(text(await read(await tab(t, node, 'eve').ask('one more', '1'))), '0 ');

  for (const [bytes, code] of [['no JSON', 1008], ['{"type":"resume"}', 1008], [resume('x'.repeat(101)), 1008], ['x'.repeat(2 ** 20 + 1), 1009]]) {
    const socket = new RealWebSocket(url, { headers: { cookie: 'user=ada' } });
    await once(socket, 'open');
    socket.send(bytes);
    assert.equal((await once(socket, 'close'))[0], code, bytes.slice(0, 20));
  }
});

test('ai: only the connections of the response stay when its pages have gone', async (t) => {
  const [node] = await start(t, 1);
  const page = tab(t, node);
  await (await page.ask('chat', '10000')).getReader().read();
  page.close();
  for (let n = 0; n < 5; n++) {
    const socket = new RealWebSocket(node.url, { headers: { cookie: 'user=ada' } });
    await once(socket, 'open');
    for (let id = 0; id < 8; id++) socket.send(resume('chat', `${id}`));
    socket.close();
    await once(socket, 'close');
  }
  while (node.said.at(-1) !== 'open: 2') {
    process.kill(node.pid, 'SIGUSR2');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

/** Nodes, each with its process, its address and the lines that it prints. */
async function start(t, count) {
  const ends = [];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
  });
  const teardown = (end) => ends.push(end);
  const redis = count > 1 ? { REDIS_URL: `unix://${(await RedisServer.start({ teardown })).path}` } : {};
  const folder = mkdtempSync(join(HERE, '.example-')); // inside of this package, so that its packages are found
  teardown(() => rmSync(folder, { recursive: true }));
  cpSync(new URL('../../../examples/ai-chat.mjs', import.meta.url), join(folder, 'ai-chat.mjs'));
  const nodes = [];
  for (let n = 0; n < count; n++) {
    const args = ['--import', join(HERE, 'fake-model.mjs'), join(folder, 'ai-chat.mjs')];
    const child = spawn(process.execPath, args, { env: { ...process.env, ...redis, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
    teardown(() => child.kill('SIGKILL') && once(child, 'exit'));
    const said = [];
    const lines = createInterface(child.stdout).on('line', (line) => said.push(line));
    await once(lines, 'line');
    nodes.push({ pid: child.pid, said, url: `ws://127.0.0.1:${/\d+$/.exec(said[0])[0]}` });
  }
  return [nodes[0], nodes.at(-1)];
}

/** A tab of a user: a transport with a cookie. */
function tab(t, { url }, user = 'ada') {
  class Socket extends RealWebSocket {
    constructor(address, protocols) {
      super(address, protocols, { headers: { cookie: `user=${user}`, origin: 'http://localhost:3000' } });
    }
  }
  const transport = new WebSocketChatTransport({ url, webSocket: Socket });
  t.after(() => transport.close());
  const messages = (words) => [{ id: '1', role: 'user', parts: [{ type: 'text', text: words }] }];
  return {
    ask: (chatId, words) => transport.sendMessages({ chatId, trigger: 'submit-message', messages: messages(words) }),
    resume: (chatId, abortSignal) => transport.reconnectToStream({ chatId, abortSignal }),
    close: () => transport.close(),
  };
}

/** The last state of a streamed message. */
async function read(stream, seen = () => {}) {
  let message;
  for await (message of readUIMessageStream({ stream, terminateOnError: true })) if (text(message)) seen();
  return message;
}

/** All chunks. */
function drain(stream) {
  return Array.fromAsync(stream);
}

function text({ parts }) {
  return parts.map((part) => part.text ?? '').join('');
}

function numbers(count) {
  return Array.from({ length: count }, (_, n) => `${n} `).join('');
}

function resume(id, requestId = '1') {
  return JSON.stringify({ type: 'resume', requestId, id, headers: {}, body: {} });
}
