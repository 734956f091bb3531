// The messages of the soak, made from their numbers, so that every byte can be compared.
import { randomNumbers } from '../helpers/random.mjs';

const KIB = 1024;
const MOST = 1024 * KIB;
const SHIFTS = 64 * KIB;
/** Lengths at which frames, batches and writes change. */
const EDGES = [0, 1, 125, 126, 127, 511, 512, 2047, 2048, 16_383, 16_384, 65_535, 65_536, MOST];

const random = randomNumbers(16);
const bytes = Buffer.from(Array.from({ length: MOST + SHIFTS }, () => random(256)));
/** Letters, so that no payload begins with '!'. */
const letters = Buffer.from(bytes.map((byte) => 97 + (byte % 26)));

/** A number from 0 to 2^32 - 1 that looks random and is the same for the same numbers. */
export function hash(...numbers) {
  let mixed = 0x9e3779b9;
  for (const number of numbers) {
    mixed = Math.imul(mixed ^ number, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    mixed ^= mixed >>> 16;
  }
  return mixed >>> 0;
}

/** Mostly short: 6 KiB in the mean, up to 1 MiB. */
function lengthOf(mixed) {
  const share = mixed % 1000;
  const part = hash(mixed, 1);
  if (share < 600) return part % 256;
  if (share < 880) return part % (4 * KIB);
  if (share < 900) return EDGES[part % EDGES.length];
  if (share < 985) return part % (64 * KIB);
  return share < 998 ? part % (256 * KIB) : part % MOST;
}

/** A timeout so long that a busy machine ends no connection. */
export const PATIENCE_MS = 24 * 3_600_000;
export const UP = 1;
export const DOWN = 2;
/** The messages that the server sends at once to a connection that does not read. */
export const BURST = { messages: 12, length: 256 * KIB };

/** Message number `n` of a connection in one direction: `{ data, isText }`. */
export function messageOf(id, direction, n) {
  const mixed = hash(id, direction, n);
  return cut(mixed, lengthOf(mixed));
}

/** The same, of a burst. */
export function burstOf(id, n) {
  return cut(hash(id, DOWN, n), BURST.length);
}

function cut(mixed, length) {
  const isText = mixed % 2 === 0;
  const start = hash(mixed, 2) % SHIFTS;
  return { data: (isText ? letters : bytes).subarray(start, start + length), isText };
}

/** The actions of a connection, and its ending. */
export function planOf(id) {
  const mixed = hash(id, 3);
  const endings = ['bye', 'bye', 'bye', 'bye', 'bye', 'bye', 'close', 'terminate', 'reset', 'cut', 'broken', 'end'];
  return {
    ending: endings[mixed % endings.length],
    steps: 1 + (hash(mixed, 1) % 20),
    way: wayOf(hash(mixed, 2) % 100),
    compression: [false, false, true, { serverNoContextTakeover: true, clientNoContextTakeover: true }][hash(mixed, 3) % 4],
    stalls: hash(mixed, 5) % 20 === 0,
  };
}

/** Half by the port, a quarter by a port with TLS, a fifth behind an HTTP server, 5 % behind one with TLS. */
function wayOf(percent) {
  if (percent < 50) return 'port';
  if (percent < 75) return 'tls';
  return percent < 95 ? 'server' : 'secure';
}

export const isSecure = (way) => way === 'secure' || way === 'tls';

/** Whether the handler of this message throws when it has answered. */
export const throws = (id, n) => hash(id, 4, n) % 40 === 0;
/** The number of messages that answer this one. */
export const answersTo = (id, n) => hash(id, 5, n) % 3;
/** The parts a message is sent in, as `[data, fin]`. */
export function partsOf({ data }, id, n) {
  const mixed = hash(id, 6, n);
  if (mixed % 4 !== 0) return [[data, true]];
  const count = 2 + ((mixed >>> 2) % 5);
  const size = Math.ceil(data.length / count);
  return Array.from({ length: count }, (_, i) => [data.subarray(i * size, (i + 1) * size), i === count - 1]);
}
