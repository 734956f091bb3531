// The output of NODE_DEBUG=reactor-ws.

import { Child, test } from './helpers/index.mjs';

for (const [title, env, expected] of [
  ['handshakes, pauses and ends', 'reactor-ws', [/^handshake: refused with 400$/, /^connection 1 of 127\.0\.0\.1 port \d+: open$/, /^connection 1: paused$/, /^connection 1: resumed$/, /^connection 1 of 127\.0\.0\.1 port \d+: closed with 4000, closed$/]],
  ['nothing for another section', 'http-of-another', []],
]) {
  test(`NODE_DEBUG: ${title}`, async (t) => {
    const { code, stderr } = await new Child(t, 'logged.mjs', [], { env: { NODE_DEBUG: env } }).ended();
    t.is(code, 0, stderr);
    const lines = [...stderr.matchAll(/^REACTOR-WS \d+: (.*)$/gm)].map(([, line]) => line);
    t.is(lines.length, expected.length, stderr);
    expected.forEach((pattern, index) => t.regex(lines[index], pattern));
  });
}
