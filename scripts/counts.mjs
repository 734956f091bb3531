// Reads the output of test runners: adds up the counts, and finds the names of failed tests.

import { stripVTControlCharacters } from 'node:util';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/**
 * `failures`: the runner's words about each failed or unfinished test, its title first. One fault
 * can have several of them, such as a test and its file.
 * @typedef {Counts & { failures: string[] }} Result
 */

/** The one format in which every step and the whole run report. */
export function formatCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** The lines that name the failures of a step; `parseOwn` reads them. */
export function formatFailures({ failures }, step) {
  return failures.map((text) => `failed: ${step === undefined ? '' : `${step} › `}${text}`);
}

/** @param {Counts[]} list @returns {Counts} */
export function sum(list) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const counts of list) for (const name of Object.keys(total)) total[name] += counts[name];
  return total;
}

/**
 * The result of one step. A step that ended badly without a failed test, or ended
 * without any count, is one failure.
 * @param {(output: string) => Result | null} parse
 * @param {{ code: number, output: string, reason?: string }} ended
 * @returns {Result}
 */
export function resultOf(parse, { code, output, reason }) {
  const result = parse(withoutColors(output)) ?? { passed: 0, failed: 1, skipped: 0, failures: [] };
  if (code !== 0 && result.failed === 0) result.failed = 1;
  if (reason !== undefined) result.failures.push(reason);
  if (result.failed > 0 && result.failures.length === 0) result.failures.push(`no test named, exit code ${code}`);
  return result;
}

/** `test result: ok. 5 passed; 0 failed; 1 ignored; ...`, once per test binary. */
export function parseCargo(output) {
  const results = [...output.matchAll(/^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored;/gm)];
  const failures = titles(output, /^test (.+) \.\.\. FAILED$/gm);
  const ended = new Set(titles(output, /^test (.+) \.\.\. /gm));
  for (const title of titles(output, /^test (.+) has been running for over 60 seconds$/gm)) {
    if (!ended.has(title)) failures.push(`${title} (did not end)`);
  }
  if (results.length === 0) return failures.length === 0 ? null : { passed: 0, failed: 1, skipped: 0, failures };
  const counts = sum(results.map(([, passed, failed, skipped]) => ({ passed: +passed, failed: +failed, skipped: +skipped })));
  return { ...counts, failures };
}

/**
 * ava's own report, test by test: its summary hides the passed tests once one failed, and its TAP
 * reporter falls over a test that hangs.
 */
export function parseAva(output) {
  // A cross without brackets stands for a whole file: it crashed, or has no tests.
  const failures = [
    ...titles(output, /^\s*[✘×] (?:\[fail\]: )?(.+)/gm).map((title) => withReason(title, output)),
    ...titles(output, /^\s*((?:Uncaught exception|Unhandled rejection) in .+)/gm),
  ];
  const pending = titles(output, /^\s*(?:◌|\( \)) (.+)/gm);
  const counts = {
    passed: titles(output, /^\s*[✔√] (.+)/gm).length,
    failed: failures.length + pending.length,
    skipped: titles(output, /^\s*- \[(?:skip|todo)\] (.+)/gm).length,
  };
  if (counts.passed + counts.failed + counts.skipped === 0) return null;
  return { ...counts, failures: [...failures, ...pending.map((title) => `${title} (did not end)`)] };
}

const REJECTED = /(.+) Rejected promise returned by test$/;

/** Why a promise was rejected, from the part of the report about that test: its title does not tell. */
function withReason(title, output) {
  const [, name] = REJECTED.exec(title) ?? [];
  const part = name && output.split(`\n  ${name}\n`)[1];
  const [reason] = titles(part ?? '', /^ {2}(\w*Error\b.*: .+)/gm);
  return reason === undefined ? title : `${name}: ${reason}`;
}

/** The summary of `node --test` with its reporter `spec`. */
export function parseNodeTest(output) {
  const lines = [...output.matchAll(/^ℹ (pass|fail|cancelled|skipped|todo) (\d+)$/gm)];
  if (lines.length === 0) return null;
  const { pass, fail, cancelled, skipped, todo } = Object.fromEntries(lines.map(([, name, count]) => [name, +count]));
  // The names come once more below this title, each after the place of its test.
  const failures = titles(output.split(/^✖ failing tests:$/m).at(1) ?? '', /^✖ (.+)/gm);
  return { passed: pass, failed: fail + cancelled, skipped: skipped + todo, failures };
}

/**
 * A last line in our own format, from the runners of this
 * repository, and `failed:` lines before it.
 */
export function parseOwn(output) {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)];
  if (lines.length === 0) return null;
  const [, passed, failed, skipped] = lines.at(-1);
  return { passed: +passed, failed: +failed, skipped: +skipped, failures: titles(output, /^failed: (.+)/gm) };
}

function titles(output, pattern) {
  return [...output.matchAll(pattern)].map(([, title]) => title.trimEnd());
}

function withoutColors(text) {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n');
}
