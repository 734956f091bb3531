// The rules for comments that a tool can check.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from './run.mjs';
import { sources } from './layers.mjs';

const MOST_COLUMNS = 100;
const WIDTH_OF = ['lib', 'src', '__test__', 'tests', 'fuzz', 'types', 'scripts', 'examples', 'benchmark', 'build.rs'];

/** A line that is nothing but comment. */
const LINE = { js: /^\s*(\/\/|\/\*|\*(\s|$))/, rs: /^\s*\/\// };

/** A type of some length behind a tag, which is code. */
const TYPE = /@\w+ \{.{40,}\}/;

/** A tag and its text, up to the next tag at the beginning of a line or behind a space. */
const TAG = /(?<![^\s])@(param|returns)\b([\s\S]*?)(?=(?<![^\s])@[a-z]|$)/g;

/**
 * @returns {string[]} one line per `@param` or `@returns` of lib that has nothing but type and name
 */
export function textViolations() {
  return sources('lib').flatMap((file) => {
    const text = read(file);
    return [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].flatMap((comment) => {
      const body = comment[1].replace(/^\s*\*/gm, (star) => ' '.repeat(star.length));
      return [...body.matchAll(TAG)].flatMap((tag) => {
        if (saysSomething(tag[1], tag[2])) return [];
        const line = text.slice(0, comment.index + 3 + tag.index).split('\n').length;
        return [`${file}:${line}: @${tag[1]} without text: meaning, unit, default`];
      });
    });
  });
}

/** @returns {string[]} one line per comment that is wider than a reader's window */
export function widthViolations() {
  return WIDTH_OF.flatMap(sources).flatMap((file) => {
    const comment = file.endsWith('.rs') ? LINE.rs : LINE.js;
    const lines = [...read(file).split('\n').entries()];
    const wide = lines.filter(([, line]) => line.length > MOST_COLUMNS && comment.test(line) && !TYPE.test(line));
    return wide.map(([index, line]) => `${file}:${index + 1}: a comment of ${line.length} columns`);
  });
}

/** `void` needs no text. */
function saysSomething(tag, text) {
  const { type, rest } = withoutType(text.trim());
  if (tag === 'returns') return type === 'void' || rest !== '';
  return rest.replace(/^(\[[^\]]*\]|[\w.$]+)/, '').trim() !== '';
}

/** Cuts the type in braces off, which may have braces in it. */
function withoutType(text) {
  if (!text.startsWith('{')) return { type: '', rest: text };
  let depth = 0;
  const end = [...text].findIndex((character) => {
    if (character === '{') depth++;
    if (character === '}') depth--;
    return depth === 0;
  });
  return { type: text.slice(1, end), rest: text.slice(end + 1).trim() };
}

function read(file) {
  return readFileSync(join(root, file), 'utf8');
}
