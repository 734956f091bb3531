// Lengths on both sides of every number in the code that may be a threshold: all numeric constants of lib and src, so that
// a new one is tested by being there. That most of them are no thresholds costs a few milliseconds each.
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Larger ones are budgets of a turn: one message that is longer than all of them is enough. */
const MOST = 2 << 20;
const LONGEST = 5 << 20;

/** A constant whose value is a number, or an expression of numbers. */
const CONSTANT = /^\s*(?:pub(?:\([^)]*\))? )?const [A-Z][A-Z0-9_]*(?:: \w+)? = ([\d_ <*+()x]+);/gm;

function* sources() {
  for (const folder of ['lib', 'src']) {
    for (const name of readdirSync(ROOT + folder, { recursive: true })) {
      if (/\.(?:js|rs)$/.test(name) && !/tests?\b|native/.test(name)) yield readFileSync(`${ROOT}${folder}/${name}`, 'utf8');
    }
  }
}

/** The numbers in the code that are worth a message on both sides. */
export function constants() {
  const numbers = new Set();
  for (const source of sources()) {
    for (const [, expression] of source.matchAll(CONSTANT)) {
      const value = Number(new Function(`return ${expression}`)());
      if (value > 1 && value <= MOST) numbers.add(value);
    }
  }
  return [...numbers].sort((a, b) => a - b);
}

/** What must be among them, or the code is not read as it should be. */
export const KNOWN = [125, 2 << 10, 4 << 10, 16 << 10, 64 << 10, 320 << 10, 1 << 20];

/** Every length to be tested. */
export const SIZES = [
  ...new Set([0, 1, 65_535, 65_536, LONGEST, ...constants().flatMap((value) => [value - 1, value, value + 1])]),
].sort((a, b) => a - b);

/** Those of which all may be sent in one go; they end in many arenas, batches and turns. */
export const AT_ONCE = SIZES.filter((size) => size <= 400_000);

/** Those to be compressed, of which the longest take long. */
export const COMPRESSED = [...AT_ONCE, 1 << 20];
