// Reads what a test runner printed and adds it up.

import { stripVTControlCharacters } from 'node:util';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** The one format in which every step and the whole run report. */
export function formatCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** @param {Counts[]} list @returns {Counts} */
export function sum(list) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const counts of list) for (const name of Object.keys(total)) total[name] += counts[name];
  return total;
}

/**
 * The counts of one step. A step that ended badly without a failed test, or ended without any count, is one failure.
 * @param {(output: string) => Counts | null} parse
 * @param {{ code: number, output: string }} result
 * @returns {Counts}
 */
export function countsOf(parse, { code, output }) {
  const counts = parse(withoutColors(output)) ?? { passed: 0, failed: 1, skipped: 0 };
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** `test result: ok. 5 passed; 0 failed; 1 ignored; ...`, once per test binary. */
export function parseCargo(output) {
  const results = [...output.matchAll(/^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored;/gm)];
  if (results.length === 0) return null;
  return sum(results.map(([, passed, failed, skipped]) => ({ passed: +passed, failed: +failed, skipped: +skipped })));
}

/**
 * ava's own report, test by test: its summary hides the passed tests once one failed, and its TAP reporter falls over a
 * test that hangs.
 */
export function parseAva(output) {
  const count = (pattern) => [...output.matchAll(pattern)].length;
  const pending = /^\s*(\d+) tests? remained pending after a timeout/m.exec(output);
  const counts = {
    passed: count(/^\s*[✔√] /gm),
    // A cross without brackets is about a whole file: it crashed, or has no tests.
    failed:
      count(/^\s*[✘×] /gm) + count(/^\s*(Uncaught exception|Unhandled rejection) in /gm) + Number(pending?.[1] ?? 0),
    skipped: count(/^\s*- \[(skip|todo)\] /gm),
  };
  return counts.passed + counts.failed + counts.skipped === 0 ? null : counts;
}

/** The summary of `node --test` with its reporter `spec`. */
export function parseNodeTest(output) {
  const lines = [...output.matchAll(/^ℹ (pass|fail|cancelled|skipped|todo) (\d+)$/gm)];
  if (lines.length === 0) return null;
  const { pass, fail, cancelled, skipped, todo } = Object.fromEntries(lines.map(([, name, count]) => [name, +count]));
  return { passed: pass, failed: fail + cancelled, skipped: skipped + todo };
}

/** A last line in our own format, from the runners of this repository. */
export function parseOwn(output) {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)];
  if (lines.length === 0) return null;
  const [, passed, failed, skipped] = lines.at(-1);
  return { passed: +passed, failed: +failed, skipped: +skipped };
}

function withoutColors(text) {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n');
}
