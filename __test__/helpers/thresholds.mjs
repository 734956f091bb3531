// Lengths on both sides of every number in the code that may be a threshold: all numeric constants
// of crates, lib and src, and all numbers of some size wherever they stand, so that a new one is tested by
// being there. Most of them are no thresholds, which costs a few milliseconds each.
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Larger ones are budgets of a turn: one message that is longer than all of them is enough. */
const MOST = 2 << 20;
const LONGEST = 5 << 20;
/** Shorter ones count only with a name: there are flags, sizes of headers, statuses and codes. */
const LEAST_NAMELESS = 1024;

const NUMBER = String.raw`(?:0x[\da-f_]+|\d[\d_]*)`;
/** A constant whose value is a number, or an expression of numbers and other constants. */
const CONSTANT = /^\s*(?:pub(?:\([^)]*\))? )?(?:const|static) ([A-Z][A-Z0-9_]*)(?:: \w+)? = ([\w <*+()-]+);/gm;
const NAMELESS = new RegExp(String.raw`(?<![\w.])${NUMBER}(?:\s*(?:<<|\*\*?|\+)\s*${NUMBER})*(?![\w.])`, 'g');
/** Comments, and what follows the beginning of the tests of a file. */
const NO_CODE = /\/\*[^]*?\*\/|\/\/.*$|^#\[cfg\(test\)\]\nmod [^]*/gm;

/** The code of every file that is neither generated nor a test. */
function sources() {
  const folders = ['crates', 'lib', 'src'].flatMap((folder) => readdirSync(ROOT + folder, { recursive: true }).map((name) => `${folder}/${name}`));
  const names = folders.filter((name) => /\.(?:js|rs)$/.test(name) && !/tests?\b|native|reactor\/layout\.js/.test(name));
  return names.map((name) => readFileSync(ROOT + name, 'utf8').replaceAll(NO_CODE, ''));
}

/** The value of an expression, or NaN; a shift is no 32-bit one. */
function valueOf(expression, known) {
  const numbers = expression.replaceAll(/\b[A-Z]\w*\b/g, (name) => known.get(name) ?? 'NaN').replaceAll('_', '');
  try {
    return Number(new Function(`return ${numbers.replaceAll('<<', '* 2 **')}`)());
  } catch {
    return NaN;
  }
}

/** The numbers in the code that are worth a message on both sides. */
export function constants() {
  const [numbers, known] = [new Set(), new Map()];
  const files = sources();
  const named = files.flatMap((source) => [...source.matchAll(CONSTANT)]);
  // Twice: a constant may depend on one that is declared after it.
  for (const [, name, expression] of [...named, ...named]) {
    const value = valueOf(expression, known);
    if (Number.isNaN(value)) continue;
    known.set(name, value);
    numbers.add(value);
  }
  for (const [expression] of files.flatMap((source) => [...source.matchAll(NAMELESS)])) {
    const value = valueOf(expression, known);
    if (value >= LEAST_NAMELESS) numbers.add(value);
  }
  return [...numbers].filter((value) => value > 1 && value <= MOST).sort((a, b) => a - b);
}

/** Numbers that must be found, or the code is not read correctly. */
export const KNOWN = [125, 2 << 10, 4 << 10, 16 << 10, 64 << 10, (64 << 10) + 16, 320 << 10, 1 << 20];

/** `npm test -- --all` sets it, for what takes longer than a contributor should wait. */
export const isAll = process.env.BYTES === 'all';

const around = (values) => values.flatMap((value) => [value - 1, value, value + 1]);
const EVERY = [...new Set([0, 1, 65_535, 65_536, LONGEST, ...around(constants())])].sort((a, b) => a - b);

/**
 * For what takes a connection each, is compressed, or is tested elsewhere, too: the lengths around
 * the thresholds that everybody knows of.
 */
export const FEW_SIZES = isAll ? EVERY : EVERY.filter((size) => size < 2 || size === LONGEST || around(KNOWN).includes(size));

/** Every length to be tested; another mode of the reactors repeats few of them. */
export const SIZES = process.env.REACTOR_WS_REACTORS === undefined ? EVERY : FEW_SIZES;

/** The lengths that may all be sent in one go; they end in many arenas, batches and turns. */
export const AT_ONCE = SIZES.filter((size) => size <= 400_000);

/** The lengths to be compressed, of which the longest take long. */
export const COMPRESSED = [...FEW_SIZES.filter((size) => size <= 400_000), 1 << 20, ...(isAll ? [LONGEST] : [])];
