// The reference of docs/api.md, made from index.d.ts and types/*.d.ts.
//
//   node scripts/api.mjs      writes it; npm run check compares

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { SyntaxKind } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

import { root } from './run.mjs';

const DOCUMENT = 'docs/api.md';
const BEGIN = '<!-- api:begin -->';
const END = '<!-- api:end -->';

/**
 * The items with sections of their own, in this order: name, the file that declares it, heading,
 * and the name of an instance. All others are among the types.
 */
const SECTIONS = [
  ['WebSocketServer', 'types/server.d.ts', 'Class: WebSocketServer', 'server'],
  ['WebSocket', 'types/websocket.d.ts', 'Class: WebSocket', 'socket'],
  ['ServerOptions', 'types/server.d.ts', 'Options of a server', ''],
  ['AdmissionOptions', 'types/running.d.ts', 'Options of a server: who may connect', ''],
  ['TlsOptions', 'types/tls.d.ts', 'Options of TLS', ''],
  ['SecureContextOptions', 'types/tls.d.ts', 'Options of a secure context', ''],
  ['ClientOptions', 'types/client.d.ts', 'Options of a client', ''],
  ['SendOptions', 'types/sending.d.ts', 'Options of send()', ''],
  ['DrainOptions', 'types/running.d.ts', 'Options of drain()', ''],
  ['Options', 'types/deflate.d.ts', 'Options of permessage-deflate', ''],
  ['ServerOptions', 'types/deflate.d.ts', 'Options of permessage-deflate of a server', ''],
  ['ClientOptions', 'types/deflate.d.ts', 'Options of permessage-deflate of a client', ''],
  ['listen', 'types/server.d.ts', 'listen()', ''],
  ['emitUpgrades', 'types/server.d.ts', 'emitUpgrades()', ''],
  ['createWebSocketStream', 'types/tools.d.ts', 'createWebSocketStream()', ''],
  ['Sender', 'types/tools.d.ts', 'Class: Sender', 'sender'],
  ['Receiver', 'types/tools.d.ts', 'Class: Receiver', 'receiver'],
  ['PerMessageDeflate', 'types/tools.d.ts', 'Class: PerMessageDeflate', 'perMessageDeflate'],
  ['extension', 'types/tools.d.ts', 'extension', 'extension'],
  ['subprotocol', 'types/tools.d.ts', 'subprotocol', 'subprotocol'],
];

/** Methods whose overloads repeat the same events. */
const SAME_AS_ON = /^(once|off|addListener|removeListener|prependListener|prependOnceListener|emit)$/;

/** @typedef {{ name: string, kind: number, file: string, doc: Doc, code: string, members: Declaration[] }} Declaration */
/** @typedef {{ text: string, params: [string, string][], returns: string, throws: string[] }} Doc */

/**
 * @returns {string[]} one line per document that is not what the types say,
 * and per member without a comment
 */
export function apiViolations() {
  const text = readFileSync(join(root, DOCUMENT), 'utf8');
  const silent = silentMembers(text).map((name) => `${DOCUMENT}: nothing is said of ${name}; add a comment to its type`);
  if (text === withReference(text)) return silent;
  return [...silent, `${DOCUMENT}: not what index.d.ts says; run npm run generate`];
}

/** Headings and rows of the reference that have a signature and no words. */
function silentMembers(text) {
  const reference = text.slice(text.indexOf(BEGIN), text.indexOf(END));
  const parts = reference.split(/^(?=###? )/m).map((part) => part.split(/\n([^]*)/));
  const members = parts.filter(([heading]) => heading.startsWith('### '));
  const silent = members.filter(([, body]) => body.replace(/```[^]*?```|^Listener: .*$/gm, '').trim() === '');
  const rows = [...reference.matchAll(/^\| `([^`]+)`.*\|\s*\|$/gm)];
  return [...silent.map(([heading]) => heading.slice('### '.length)), ...rows.map(([, name]) => name)];
}

/**
 * @param {string} text The document
 * @returns {string}
 */
function withReference(text) {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${DOCUMENT} has no place for the reference`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${reference()}\n${text.slice(end)}`;
}

/** @returns {string} Markdown */
function reference() {
  const declarations = readDeclarations();
  const shown = new Set();
  const lines = [];
  for (const [name, file, heading, instance] of SECTIONS) {
    const found = declarations.filter((each) => each.name === name && each.file === file);
    const described = found.filter((each) => each.members.length > 0 || each.kind === SyntaxKind.FunctionDeclaration);
    if (described.length === 0) throw new Error(`${file} has no ${name}`);
    found.forEach((each) => shown.add(each));
    lines.push(`## ${heading}`, '');
    for (const each of described) lines.push(...describe(each, instance));
  }
  lines.push('## Types', '');
  for (const each of declarations) {
    if (each.code.startsWith('export ') && !shown.has(each) && !isAlias(each, declarations)) lines.push(...typeLines(each));
  }
  return [...contents(lines), ...lines].join('\n').replace(/\n{3,}/g, '\n\n');
}

/** Links to the sections. */
function contents(lines) {
  const titles = lines.filter((line) => line.startsWith('## ')).map((line) => line.slice('## '.length));
  const slug = (title) => title.toLowerCase().replace(/[^\w -]/g, '').replaceAll(' ', '-');
  return [...titles.map((title) => `- [${title}](#${slug(title)})`), ''];
}

/** A type that only gives one of another file its public name. */
function isAlias({ name, code, members }, declarations) {
  if (members.length > 0) return false;
  if (/^(export )?import |\btypeof \w+(\.\w+)?;?$|^declare class \w+ extends [\w.]+ \{\}$/.test(code)) return true;
  const target = /= (?:\w+\.)?(\w+)(<.*>)?;?$/.exec(code)?.[1];
  return declarations.some((each) => each.name === target && (each.name !== name || each.code !== code));
}

/**
 * @param {Declaration} declaration
 * @param {string} instance
 */
function describe({ name, kind, doc, code, members }, instance) {
  const lines = [...docLines(doc)];
  if (kind === SyntaxKind.FunctionDeclaration) return [...fence([code]), ...lines];
  const callable = members.filter(isCallable);
  const events = callable.filter((member) => member.name === 'on');
  const methods = callable.filter((member) => member.name !== 'on' && !SAME_AS_ON.test(member.name));
  const values = members.filter((member) => !isCallable(member));
  lines.push(...valueTable(values, instance !== ''));
  for (const overloads of grouped(methods)) lines.push(...methodLines(overloads, instance, name));
  for (const event of events) lines.push(...eventLines(event));
  return lines;
}

function isCallable({ kind }) {
  return [SyntaxKind.MethodDeclaration, SyntaxKind.MethodSignature, SyntaxKind.Constructor, SyntaxKind.FunctionDeclaration].includes(kind);
}

/** Groups declarations of the same name, in the order of the first of each. */
function grouped(methods) {
  const groups = new Map();
  for (const method of methods) groups.set(method.name, [...(groups.get(method.name) ?? []), method]);
  return groups.values();
}

function methodLines(overloads, instance, owner) {
  const [{ name }] = overloads;
  const of = overloads[0].code.startsWith('static ') ? owner : instance;
  // Escaped: it would be a link.
  const method = of === '' ? `${name}()` : `${of}.${name}()`.replace('.[', '\\[');
  const title = name === 'constructor' ? `new ${owner}()` : method;
  const lines = [`### ${title}`, '', ...fence(overloads.map(({ code }) => code))];
  for (const { doc } of overloads) lines.push(...docLines(doc));
  return lines;
}

function eventLines({ doc, code }) {
  const names = /\(\s*event: ([^,]+),/.exec(code)?.[1] ?? '';
  if (!names.includes("'")) return [];
  const title = names.split('|').map((name) => name.trim()).join(', ');
  const parameters = /listener: \((?:this: [^,)]+,? ?)?([^)]*)\)/.exec(code)?.[1] ?? '';
  return [`### Event: ${title}`, '', ...(parameters === '' ? [] : [`Listener: \`(${parameters})\``, '']), ...docLines(doc)];
}

/** The fields of a class, or options. */
function valueTable(values, isClass) {
  if (values.length === 0) return [];
  // The type of a setter that takes more than its getter returns.
  const setters = new Map(values.filter(({ kind }) => kind === SyntaxKind.SetAccessor).map(({ name, code }) => [name, code.replace(/\);$/, '')]));
  const rows = values.filter(({ kind }) => kind !== SyntaxKind.SetAccessor).map(({ name, doc, code }) => {
    const type = givenType(/^[^:]*:\s*([^]*?);?$/.exec(setters.get(name) ?? code)?.[1] ?? '');
    const mark = /^(static )?readonly /.test(code) ? ' (read-only)' : '';
    const prefix = code.startsWith('static ') ? 'static ' : '';
    return `| \`${prefix}${name}\`${mark} | ${cell(`\`${oneLine(type)}\``)} | ${cell(oneLine([doc.text, ...doc.throws.map((text) => `Throws ${text}`)].join(' ')))} |`;
  });
  return [`| ${isClass ? 'property' : 'option'} | type | meaning |`, '|---|---|---|', ...rows, ''];
}

/** A type without the `undefined` and the `null` that stand for the default. */
function givenType(type) {
  const [, given = type] = /^([^]*?)\s*(?:\| null\s*)?\| undefined$/.exec(type) ?? [];
  return given.replace(/^\|\s*/, '').replace(/^\((.*)\)$/, '$1');
}

function typeLines({ name, doc, code }) {
  return [`### ${name}`, '', ...docLines(doc), ...fence([code])];
}

/** @param {Doc} doc */
function docLines({ text, params, returns, throws }) {
  const items = [
    ...params.map(([name, meaning]) => `- \`${name}\`: ${meaning}`),
    ...(returns === '' ? [] : [`- Returns: ${returns}`]),
    ...throws.map((meaning) => `- Throws ${meaning}`),
  ];
  return [...(text === '' ? [] : [text, '']), ...(items.length === 0 ? [] : [...items, ''])];
}

function fence(codes) {
  return ['```ts', ...codes.map((code) => code.replace(/^(export |declare )+/, '')), '```', ''];
}

function oneLine(text) {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}

function cell(text) {
  return text.replaceAll('|', '\\|');
}

/** @returns {Declaration[]} All declarations of the public files, in their order */
function readDeclarations() {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') }).getProjects();
    const files = ['index.d.ts', ...typeFiles()];
    return files.flatMap((file) => {
      const source = project.program.getSourceFile(join(root, file));
      if (source === undefined) throw new Error(`${file} is not part of tsconfig.json`);
      return declarationsOf(source.statements, source.text, file);
    });
  } finally {
    api.close();
  }
}

/** The files of types/ that index.d.ts imports. */
function typeFiles() {
  const text = readFileSync(join(root, 'index.d.ts'), 'utf8');
  return [...text.matchAll(/from '\.\/(types\/[\w-]+)'/g)].map(([, path]) => `${path}.d.ts`);
}

const NAMED = new Set([
  SyntaxKind.ClassDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.FunctionDeclaration,
]);

function declarationsOf(nodes, text, file) {
  return [...nodes].flatMap((node) => {
    if (node.kind === SyntaxKind.ModuleDeclaration) {
      const inner = declarationsOf(node.body.statements, text, file);
      // The namespace of a class is the names that it carries; any other
      // one is an object with functions.
      return node.name.text === 'WebSocket' ? inner : [{ ...declaration(node, text, file), members: inner }];
    }
    return NAMED.has(node.kind) ? [declaration(node, text, file)] : [];
  });
}

/** @returns {Declaration} */
function declaration(node, text, file) {
  const whole = text.slice(node.pos, node.end);
  const comments = /^(?:\s|\/\/.*\n|\/\*[^]*?\*\/)*/.exec(whole)?.[0] ?? '';
  const comment = [...comments.matchAll(/\/\*\*([^]*?)\*\//g)].at(-1)?.[1] ?? '';
  const members = [...(node.members ?? [])].map((member) => declaration(member, text, file));
  const name = node.kind === SyntaxKind.Constructor ? 'constructor' : (node.name?.text ?? /\[.*\]$/.exec(text.slice(node.name?.pos ?? 0, node.name?.end ?? 0))?.[0] ?? '');
  return { name, kind: node.kind, file, doc: parseDoc(comment), code: dedent(whole.slice(comments.length)), members };
}

/** @returns {Doc} */
function parseDoc(comment) {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trim());
  // A line of text may begin with the name of a package, `@types/ws`.
  const [text, ...tags] = lines.join('\n').trim().split(/^@(?=\w+\s)/m);
  /** @type {Doc} */
  const doc = { text: oneLine(text), params: [], returns: '', throws: [] };
  for (const tag of tags) {
    const [, word, type = '', rest] = /^(\w+)\s*(?:\{([^}]*)\})?\s*([^]*)$/.exec(tag) ?? [];
    const [name, ...words] = oneLine(rest).split(' ');
    if (word === 'param') doc.params.push([name, words.join(' ')]);
    else if (word === 'returns') doc.returns = oneLine(rest);
    else if (word === 'throws') doc.throws.push(`${type ? `\`${type}\`: ` : ''}${oneLine(rest)}`);
  }
  return doc;
}

/** The code without the indentation of its last line. */
function dedent(code) {
  const indent = /\n( *)[^\n]*$/.exec(code.trimEnd())?.[1] ?? '';
  return code.replaceAll(`\n${indent}`, '\n').trim();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const path = join(root, DOCUMENT);
  writeFileSync(path, withReference(readFileSync(path, 'utf8')));
}
