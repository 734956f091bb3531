// --import for programs of the AI SDK. The fake model counts to the number in the question, refuses 'refuse', and prints
// each step. On SIGUSR2 it prints the number of open connections.
import { createRequire } from 'node:module';
import { ReadableStream } from 'node:stream/web';
import { setTimeout as sleep } from 'node:timers/promises';

import { customProvider } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const model = new MockLanguageModelV4({
  async doStream({ abortSignal, prompt }) {
    const [{ text }] = prompt.findLast(({ role }) => role === 'user').content;
    if (text === 'refuse') throw new Error('a model that refuses');
    console.log(`asked: ${text}`);
    abortSignal.addEventListener('abort', () => console.log(`aborted: ${text}`));
    return { stream: ReadableStream.from(parts(Number(text), abortSignal)) };
  },
});
const fallbackProvider = { specificationVersion: 'v4', languageModel: () => model };
const installed = createRequire(import.meta.url).resolve('reactor-ws');
const { connections } = createRequire(installed)('./reactor/table.js');
process.on('SIGUSR2', () => console.log(`open: ${connections().length}`));
globalThis.AI_SDK_DEFAULT_PROVIDER = customProvider({ fallbackProvider });

async function* parts(count, signal) {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: 'text' };
  for (let n = 0; n < count; n++) {
    await sleep(5, undefined, { signal });
    yield { type: 'text-delta', id: 'text', delta: `${n} ` };
  }
  yield { type: 'text-end', id: 'text' };
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: count } };
  yield { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
}
