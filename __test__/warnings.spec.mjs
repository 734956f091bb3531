// Warnings about options, which ws does not have.

import { WebSocketServer } from 'ws';

import { Child, test } from './helpers/index.mjs';

/** The options of ws, but those by which the fixture listens. */
const OPTIONS = Object.keys(new WebSocketServer({ noServer: true, perMessageDeflate: true }).options).filter(
  (name) => !['WebSocket', 'host', 'noServer', 'port', 'server'].includes(name),
);

for (const [title, options, expected] of [
  ['an option that there is not', { pingIntervall: 1 }, ['REACTOR_WS_UNKNOWN_OPTION', 'options.pingIntervall is not an option']],
  ['what frameworks hand on', { cors: true }, ['REACTOR_WS_UNKNOWN_OPTION', 'options.cors is not an option']],
  ['compression', { perMessageDeflate: { treshold: 1 } }, ['REACTOR_WS_UNKNOWN_OPTION', 'options.perMessageDeflate.treshold']],
  ['every option of ws', Object.fromEntries(OPTIONS.map((name) => [name, null])), null],
  ['other reactors for a second server', { reactors: 3 }, ['REACTOR_WS_OPTION_IGNORED', 'reactors: 3', '2']],
  ['another spin for a second server', { spin: 7 }, ['REACTOR_WS_OPTION_IGNORED', 'spin: 7', '0']],
  ['the same for a second server', { reactors: 2, spin: 0 }, null],
]) {
  test(`a warning, once: ${title}`, async (t) => {
    const child = new Child(t, 'warnings.mjs', [JSON.stringify(options)]);
    const { code, stdout } = await ended(child);
    t.is(code, 0);
    const warnings = JSON.parse(stdout);
    if (expected === null) return t.deepEqual(warnings, []);
    t.is(warnings.length, 1);
    const [[warningCode, text]] = warnings;
    t.is(warningCode, expected[0]);
    for (const part of expected.slice(1)) t.true(text.includes(part), text);
  });
}

async function ended(child) {
  const stdout = await child.line(0);
  return { ...(await child.ended()), stdout };
}
