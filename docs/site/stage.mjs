// The documents as VitePress needs them: README.md is the index of its folder, and files that are no
// documents are beside the pages, as text.

import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';

import { documents } from '../../scripts/documents.mjs';
import { root } from '../../scripts/run.mjs';

/** Notes of measurements are for those who measure. */
const LEFT_OUT = ['benchmark/NOTES.md'];
const IMAGES = ['.png', '.svg'];
/** A link, or an image of HTML. */
const LINK = /(\]\()([^)\s]+)(\))|(\b(?:src|srcset)=")([^"]+)(")/g;

/** @returns {string[]} The documents that are pages, as paths from the root */
export function pages() {
  return documents().filter((document) => !LEFT_OUT.includes(document));
}

/** @param {string} folder Where the pages are written, anew */
export function stage(folder) {
  rmSync(folder, { force: true, recursive: true });
  for (const document of pages()) {
    const text = readFileSync(join(root, document), 'utf8');
    write(join(folder, pageOf(document)), withLinks(text, document, join(folder, 'public')));
  }
}

/** The file of a page. */
export function pageOf(document) {
  return document.replace(/(^|\/)README\.md$/, '$1index.md');
}

/** Blocks of code are left as they are. */
function withLinks(text, document, publicFolder) {
  const parts = text.split(/(^ *```[^]*?^ *```$)/m);
  return parts.map((part, index) => (index % 2 === 1 ? part : part.replace(LINK, (...match) => moved(match, document, publicFolder)))).join('');
}

function moved([whole, before, link, after, beforeSource, source, afterSource], document, publicFolder) {
  const target = link ?? source;
  if (/^([a-z]+:|#)/.test(target)) return whole;
  const [path, anchor] = target.split('#');
  const file = posix.join(posix.dirname(document), path);
  const to = placeOf(file, document, publicFolder);
  return `${before ?? beforeSource}${to}${anchor === undefined || to.startsWith('/files/') ? '' : `#${anchor}`}${after ?? afterSource}`;
}

/** Where a file of the repository is among the pages; a file that is none is copied there. */
function placeOf(file, document, publicFolder) {
  if (pages().includes(file)) {
    const relative = posix.relative(posix.dirname(pageOf(document)), pageOf(file));
    return relative.startsWith('.') ? relative : `./${relative}`;
  }
  // A folder is shown by the text about it.
  const isFolder = statSync(join(root, file)).isDirectory();
  const source = isFolder ? [posix.join(file, 'README.md'), posix.join(file, 'package.json')].find((one) => existsSync(join(root, one))) : file;
  if (source === undefined) return placeOf(posix.join(posix.dirname(file), 'README.md'), document, publicFolder);
  const copy = `files/${source}${IMAGES.includes(extname(source)) ? '' : '.txt'}`;
  mkdirSync(dirname(join(publicFolder, copy)), { recursive: true });
  cpSync(join(root, source), join(publicFolder, copy));
  return `/${copy}`;
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
