// The documents: programs that are shown in them, links, and lists that must be complete.
//
//   node scripts/documents.mjs      writes the programs into the documents; npm run check compares

import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';

import { frameworkViolations } from '../__test__/ecosystem/frameworks.mjs';
import { sources } from './layers.mjs';
import { root } from './run.mjs';

const README_WORDS = 1500;
/** So that a newcomer has read README.md in ten minutes. */
const ARCHITECTURE_WORDS = 2600;
const FOLDERS = ['.', 'docs', 'examples', 'benchmark'];
/** `<!-- file: path -->`, and the block behind it. */
const SHOWN = /<!-- file: (\S+) -->\n(?:\n```[^]*?\n```\n)?/g;
const LANGUAGES = { '.cjs': 'js', '.mjs': 'js', '.ts': 'ts', '.rs': 'rust' };

/** Where options are declared, and the document that must have all of them. */
const OPTIONS = [
  ['types/server.d.ts', 'ServerOptions', 'docs/options.md'],
  ['types/running.d.ts', 'AdmissionOptions', 'docs/options.md'],
  ['types/tls.d.ts', 'SecureContextOptions', 'docs/options.md'],
  ['types/tls.d.ts', 'TlsOptions', 'docs/options.md'],
  ['types/running.d.ts', 'DrainOptions', 'docs/running.md'],
  ['types/redis.d.ts', 'RedisAdapterOptions', 'docs/adapters.md'],
  ['types/nats.d.ts', 'NatsAdapterOptions', 'docs/adapters.md'],
  ['types/cluster.d.ts', 'ClusterAdapterOptions', 'docs/adapters.md'],
  ['types/topics.d.ts', 'TopicsProtocolOptions', 'docs/client.md'],
  ['types/topics-client.d.mts', 'TopicsClientOptions', 'docs/client.md'],
  ['types/deflate.d.ts', 'Options', 'docs/compression.md'],
  ['types/deflate.d.ts', 'ServerOptions', 'docs/compression.md'],
];

/** Texts that are for developers of this package only, and never reach a user. */
const INTERNAL = [/^Protocol error /];
/**
 * Codes that no user sees: of a fault of ours, of a cause, and the name of an environment variable.
 */
const INTERNAL_CODES = ['WS_ERR_UNKNOWN', 'ERR_REACTOR_WS_VERSION', 'REACTOR_WS_REACTORS'];
/** Texts that are no errors: explanations and values of metrics, and the tests of adapters. */
const NO_ERRORS = ['lib/metrics/families.js', 'lib/adapters/adapter-test.js', 'lib/listen/routes.js'];

/** @returns {string[]} one line per fault */
export function documentViolations() {
  return [...programViolations(), ...linkViolations(), ...pathViolations(), ...nameViolations(), ...lengthViolations(), ...optionViolations(), ...errorViolations(), ...hoverViolations(), ...frameworkViolations()];
}

/** @returns {string[]} Paths from the root */
export function documents() {
  return FOLDERS.flatMap((folder) => {
    const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));
    return names.map((name) => join(folder, name));
  });
}

function programViolations() {
  const stale = documents().filter((document) => read(document) !== withPrograms(document));
  return stale.map((document) => `${document}: a program in it is not as in examples/; run npm run generate`);
}

function withPrograms(document) {
  return read(document).replace(SHOWN, (_, file) => {
    const language = LANGUAGES[extname(file)] ?? '';
    return `<!-- file: ${file} -->\n\n\`\`\`${language}\n${read(file).trimEnd()}\n\`\`\`\n`;
  });
}

function linkViolations() {
  return documents().flatMap((document) => {
    const links = [...prose(read(document)).matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g)].map(([, a, b]) => a ?? b);
    return links.filter((link) => !/^[a-z]+:/.test(link) && isBroken(document, link)).map((link) => `${document}: broken link ${link}`);
  });
}

function isBroken(document, link) {
  const [path, anchor] = link.split('#');
  const target = path === '' ? document : join(dirname(document), path);
  if (!existsSync(join(root, target))) return true;
  return anchor !== undefined && target.endsWith('.md') && !anchors(read(target)).has(anchor);
}

/** The anchors that GitHub makes of headings. */
function anchors(text) {
  const headings = [...prose(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
  return new Set(headings.map(slugOf));
}

/** @param {string} heading @returns {string} Its anchor */
export function slugOf(heading) {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

/** A document without its blocks of code. */
function prose(text) {
  return text.replace(/^ *```[^]*?^ *```$/gm, '');
}

/** The files of the code that a document names; those of past changes may be gone. */
function pathViolations() {
  const NAMED = /`((?:src|lib|scripts|types|examples|benchmark|__test__)\/[\w./-]+\.\w+)`/g;
  return documents()
    .filter((document) => !/(CHANGELOG|NOTES)\.md$/.test(document))
    .flatMap((document) =>
      [...read(document).matchAll(NAMED)]
        .filter(([, path]) => !existsSync(join(root, path)))
        .map(([, path]) => `${document}: no file ${path}`),
    );
}

/** The words between backticks that the code lacks, in the documents about the code. */
function nameViolations() {
  const folders = ['lib', 'src', 'crates', 'types', 'scripts', '__test__', 'benchmark'];
  const code = folders.flatMap((folder) => sources(folder)).map(read).join('\n');
  const known = new Set([code, read('package.json'), read('Cargo.toml')].join('\n').match(/\w+/g));
  return ['ARCHITECTURE.md', 'docs/internals.md'].flatMap((document) => {
    // Paths are checked above.
    const named = [...prose(read(document)).matchAll(/`([^`]+)`/g)].map(([, text]) => text).filter((text) => !/^[\w./-]*\/[\w./-]*$/.test(text));
    const words = new Set(named.flatMap((text) => text.match(/[A-Za-z_]\w{2,}/g) ?? []));
    return [...words].filter((word) => !known.has(word)).map((word) => `${document}: ${word} is not in the code`);
  });
}

function lengthViolations() {
  return [['README.md', README_WORDS], ['ARCHITECTURE.md', ARCHITECTURE_WORDS]].flatMap(([document, most]) => {
    const words = read(document).split(/\s+/).filter(Boolean).length;
    return words > most ? [`${document}: ${words} words, more than ${most}`] : [];
  });
}

function optionViolations() {
  return OPTIONS.flatMap(([file, name, document]) => {
    const [, body = ''] = new RegExp(`interface ${name}\\b[^{]*\\{\\n([^]*?)\\n\\}`).exec(read(file)) ?? [];
    const options = [...body.matchAll(/^ {2}(\w+)\??[:(]/gm)].map(([, option]) => option);
    if (options.length === 0) return [`${file}: ${name} is not found`];
    const text = read(document);
    return options.filter((option) => !text.includes(`\`${option}\``)).map((option) => `${document}: lacks ${option}`);
  });
}

/**
 * Codes of errors and warnings belong in docs/api.md, under "Error codes", and each
 * text in docs/troubleshooting.md.
 */
function errorViolations() {
  const sources = libFiles().map((file) => [file, read(file).replace(/^\s*(\/\/|\/\*|\*).*$/gm, '')]);
  const codes = new Set(sources.flatMap(([, source]) => [...source.matchAll(/'((?:WS_ERR|(?:ERR_)?REACTOR_WS|Z)_[A-Z]\w+)'/g)].map(([, code]) => code)));
  const [, section] = /^## Error codes\n([^]*?)^## /m.exec(read('docs/api.md'));
  const undocumented = [...codes].filter((code) => !INTERNAL_CODES.includes(code) && !section.includes(`\`${code}\``));
  const lacking = undocumented.map((code) => `docs/api.md: lacks ${code}`);
  const help = read('docs/troubleshooting.md');
  for (const text of sources.flatMap(([file, source]) => (NO_ERRORS.includes(file) ? [] : textsOf(source)))) {
    if (!INTERNAL.some((pattern) => pattern.test(text)) && !isExplained(help, text)) {
      lacking.push(`docs/troubleshooting.md: lacks "${text}"`);
    }
  }
  return lacking;
}

/**
 * What may be printed: arguments of errors, each `message` of some words, and
 * whatever else reads as a sentence.
 */
function textsOf(source) {
  const QUOTED = String.raw`(?:'([^'\n]{8,})'|"([^"\n]{8,})"|\`([^\`\n]{8,})\`)`;
  const behind = (before) => [...source.matchAll(new RegExp(before + QUOTED, 'g'))].map((match) => match.slice(1).find(Boolean));
  const messages = behind(String.raw`\bmessage: `).filter((text) => /^\S+(?: \S+){2}/.test(text));
  const sentences = behind('').filter((text) => /^[A-Z][\w']*(?: \S+){2}/.test(text));
  return [...new Set([...behind(String.raw`Error\(\s*`), ...messages, ...sentences])];
}

/** Whether the longest piece without a placeholder is there. */
function isExplained(help, text) {
  const pieces = text.split(/\$\{(?:[^{}]|\{[^}]*\})*\}|%d/).map((piece) => piece.trim());
  const [longest] = pieces.sort((a, b) => b.length - a.length);
  return help.includes(longest);
}

/** The types must not name a document that the package lacks. */
function hoverViolations() {
  const files = ['index.d.ts', ...readdirSync(join(root, 'types')).filter((name) => name.endsWith('.d.ts')).map((name) => join('types', name))];
  return files.filter((file) => read(file).includes('docs/')).map((file) => `${file}: names a document of docs/, which is not in the package`);
}

function libFiles() {
  const files = readdirSync(join(root, 'lib'), { recursive: true }).map(String);
  return files.filter((file) => file.endsWith('.js') && !file.startsWith('native')).map((file) => join('lib', file));
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

if (process.argv[1] === import.meta.filename) {
  for (const document of documents()) {
    const text = withPrograms(document);
    if (text === read(document)) continue;
    writeFileSync(join(root, document), text);
    console.log(relative('.', document));
  }
}
