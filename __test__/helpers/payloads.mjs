// Payloads of all sizes, one kind that does not compress and one that does.
import { createHash, randomBytes } from 'node:crypto';

/** The first `bytes` characters of some JSON. */
export function json(bytes) {
  const rows = [];
  for (let n = 0, length = 2; length < bytes; n++) {
    rows.push({ id: n * 7919, name: `row ${n % 17}`, value: Math.sin(n), tags: ['a', 'b', `tag${n % 5}`] });
    length += 80;
  }
  return JSON.stringify(rows).slice(0, bytes);
}

export const hash = (data) => createHash('sha256').update(data).digest('hex');

/** Text and bytes of each size. */
export function* payloads(sizes) {
  for (const size of sizes) {
    yield json(size);
    yield randomBytes(size);
  }
}

export const SIZES = [0, 1, 100, 1024, 5000, 65_535, 65_536, 300_000, 4 << 20];
