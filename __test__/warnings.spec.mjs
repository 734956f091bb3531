// Warnings about options, which ws does not have.

import test from 'ava';

import { Child } from './helpers/child.mjs';

for (const [title, options, expected] of [
  ['one letter too many', { pingIntervall: 1 }, ['REACTOR_WS_UNKNOWN_OPTION', 'pingIntervall', 'pingInterval']],
  ['other capitals', { idletimeout: 1 }, ['REACTOR_WS_UNKNOWN_OPTION', 'idletimeout', 'idleTimeout']],
  ['one letter missing', { reactor: 1 }, ['REACTOR_WS_UNKNOWN_OPTION', 'reactor', 'reactors']],
  ['what programs keep there, and what ws has', { pingTimeout: 1, name: 'a', cors: {}, timeout: 1, pin: 1, maxPayLoad: 1, maxPayload: 1 }, null],
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
