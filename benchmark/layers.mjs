// The part of the server that a sample of a profile belongs to, by the place of
// the processor, not by its callers.

/** In the order of the tables. */
export const LAYERS = /** @type {const} */ ({
  tcp: 'kernel: TCP and system calls',
  copies: 'kernel: copying',
  waiting: 'kernel: sleeping, waking, switching',
  rust: 'Rust of reactor-ws',
  program: 'other Rust or C++ of the server',
  memory: 'copying and filling in the process',
  allocator: 'malloc and free',
  libc: 'C library',
  node: 'Node and libuv',
  api: 'V8: its API and the rest',
  builtins: 'V8: built-ins',
  collector: 'V8: collector',
  javascript: 'JavaScript',
});

/** @typedef {keyof typeof LAYERS} Layer */

/** The first layer that matches counts. @type {[Layer, RegExp][]} */
const KERNEL = [
  ['copies', /copy_(to|from)_iter|copy_user|rep_movs|copy_page|clear_page|check_object_size/],
  ['waiting', /switch|schedule|wake|wait|epoll|^ep_|eventfd|futex|hrtimer|enqueue|dequeue|pick_|update_curr|_entity|select_|yield/],
];

/** @type {[Layer, RegExp][]} */
const NODE = [
  ['builtins', /^Builtins_/],
  ['collector', /v8::internal::.*(Scaveng|Mark|Sweep|Heap|GC|Evacuat|Collector|Visitor|ObjectCache|SemiSpace|NewSpace|PageProcess)/],
  ['api', /^v8::|^non-virtual thunk to v8::|^v8impl|^napi_/],
];

/** Its callees are mostly inlined, and so are its own layers. @type {[Layer, RegExp][]} */
const ADDON = [['rust', /reactor_ws::|simdutf8|zlib_rs|flate2|httparse|napi|mio::/]];

/** @type {[Layer, RegExp][]} */
const LIBC = [
  ['memory', /mem(move|cpy|set|cmp)/],
  ['allocator', /malloc|free|calloc|realloc|unlink_chunk|arena_get|sysmalloc/],
];

/**
 * @param {string} image File that the code is from, as perf prints it
 * @param {string} symbol
 * @returns {Layer}
 */
export function layerOf(image, symbol) {
  if (image.includes('kernel.') || image.includes('[kernel')) return first(KERNEL, symbol) ?? 'tcp';
  if (/perf-\d+\.map|\[JIT\]|jitted/.test(image)) return symbol.startsWith('Builtins_') ? 'builtins' : 'javascript';
  if (/\/libc[.-]|vdso/.test(image)) return first(LIBC, symbol) ?? 'libc';
  if (/\/node$/.test(image)) return first(NODE, symbol) ?? 'node';
  return first(ADDON, symbol) ?? first(LIBC, symbol) ?? 'program';
}

/**
 * @param {[Layer, RegExp][]} rules
 * @param {string} symbol
 */
function first(rules, symbol) {
  return rules.find(([, rule]) => rule.test(symbol))?.[0];
}
