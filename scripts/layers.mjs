// The rules of ARCHITECTURE.md that neither the compiler nor clippy checks: the
// words that a layer may not contain.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from './run.mjs';

/**
 * For every layer: words that would show knowledge that it must not have. Comments
 * and test folders may contain them.
 */
const RULES = [
  { layer: 'src/engine', words: /\b(std::net|std::thread|mio|napi|crate::(bridge|reactor|binding))\b/ },
  { layer: 'src/engine', except: 'src/engine/mask/', words: /\bunsafe\s*(\{|fn|impl)/ },
  { layer: 'crates/one-shot', words: /\b(std::net|std::thread|mio|napi|reactor_ws|[Ww]eb_?[Ss]ocket\w*)\b/ },
  { layer: 'src/bridge', words: /\b(Tcp\w+|UdpSocket|socket2|mio|napi|crate::(reactor|binding))\b/ },
  { layer: 'src/reactor', words: /\b(napi|crate::binding)\b/ },
  { layer: 'src/binding', words: /\b(mio|crate::engine::(frame|mask|message|utf8))\b/ },
  // P12: a panic in a method becomes an exception; unwinding into Node would end the process.
  { layer: 'src/binding', words: /^\s+#\[napi\b(?!.*\bcatch_unwind\b).*/ },
  // Sender and Receiver are classes of the ws API that are defined in the words of the wire; the
  // layout has the sentences of errors.
  {
    layer: 'lib',
    except: /^lib\/(compat\/(sender|receiver)|base\/layout)\.js$/,
    words: /\b(op_?code|unmask|masking_?key|0x[89]|rsv[123])\b/i,
  },
];

const CODE = /\.(rs|js|mjs|cjs|ts|mts)$/;
const IGNORED = /(^|\/)(node_modules|native|target|reports|record|\.cache|ecosystem\/\.[^/]+)(\/|$)/;

/** @returns {string[]} one line per violation */
export function layerViolations() {
  return RULES.flatMap(({ layer, except, words }) =>
    sources(layer)
      .filter((file) => !matches(file, except) && !/(^|\/)tests?(\/|\.rs$)/.test(file))
      .flatMap((file) => linesWith(file, words)),
  );
}

function linesWith(file, words) {
  const found = [];
  for (const [index, line] of codeOf(file).split('\n').entries()) {
    const word = words.exec(line);
    if (word) found.push(`${file}:${index + 1}: ${word[0].trim()}`);
  }
  return found;
}

/** The file without comments and without the test module at its end; line numbers stay. */
export function codeOf(file) {
  return read(file)
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(^|\s)\/\/.*$/gm, '')
    .replace(/#\[cfg\(test\)\]\s*mod \w+ \{[\s\S]*$/, '');
}

function matches(file, except) {
  if (except === undefined) return false;
  return typeof except === 'string' ? file.startsWith(except) : except.test(file);
}

/** Files of the code in a folder and below it. */
export function sources(path) {
  if (IGNORED.test(path)) return [];
  let entries;
  try {
    entries = readdirSync(join(root, path), { withFileTypes: true });
  } catch (error) {
    // A file, or a folder that the tree does not have.
    return error.code === 'ENOTDIR' && CODE.test(path) ? [path] : [];
  }
  return entries.flatMap((entry) => sources(`${path}/${entry.name}`));
}

function read(file) {
  return readFileSync(join(root, file), 'utf8');
}
