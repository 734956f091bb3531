// The contents of the tarballs, compared with the expected ones.

import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { OUT, publishedFiles } from './pack.mjs';
import { manifest, systems } from './systems.mjs';

const { version } = manifest;
const ADDON_FILES = ['LICENSE', 'README.md', 'THIRD-PARTY.md', 'package.json'];
/** The size of the main package, unpacked: it has 1.06 MiB. */
const MOST_BYTES = 1.25 * 1024 * 1024;
/** Fields that have no use for users, or run something at their install. */
const FORBIDDEN = ['scripts', 'devDependencies', 'overrides', 'ava', 'napi', 'bundleDependencies'];
const LIBC = { gnu: 'glibc', musl: 'musl' };

/** @returns {string[]} One line for each fault of a tarball in target/packages */
export function contentFaults() {
  const names = [`reactor-ws-${version}.tgz`, ...systems.map(({ name }) => `reactor-ws-${name}-${version}.tgz`)];
  const strange = readdirSync(OUT).filter((name) => !names.includes(name)).map((name) => `${name}: not a package of this version`);
  return [...strange, ...mainFaults(names[0]), ...systems.flatMap((system, index) => addonFaults(names[index + 1], system))];
}

/** @param {string} name @returns {Map<string, Buffer>} The files of a tarball by their paths */
export function filesOf(name) {
  const archive = gunzipSync(readFileSync(join(OUT, name)));
  const files = new Map();
  for (let at = 0; at < archive.length && archive[at] !== 0; ) {
    const text = (from, length) => archive.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 12), 8);
    const path = posix.join(text(345, 155), text(0, 100));
    // '0': a file. npm packs nothing else; names of more than 255 characters would be in headers of another kind.
    if (text(156, 1) !== '0') throw new Error(`${name}: ${path} is no file`);
    files.set(posix.relative('package', path), archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

function mainFaults(name) {
  const files = filesOf(name);
  const own = JSON.parse(files.get('package.json'));
  const bytes = [...files.values()].reduce((sum, content) => sum + content.length, 0);
  const wanted = Object.fromEntries(systems.map((system) => [`reactor-ws-${system.name}`, version]));
  const entries = [...pathsIn(own.exports), ...pathsIn(own.bin), own.main, own.types, ...pathsIn(own.typesVersions)];
  return [
    ...differences(name, [...files.keys()], [...publishedFiles(), 'package.json']),
    ...manifestFaults(name, own, { name: 'reactor-ws', optionalDependencies: wanted }),
    ...entries.filter((path) => !files.has(posix.normalize(path))).map((path) => `${name}: package.json names ${path}, which is not in it`),
    ...[...files].flatMap(([path, content]) => requireFaults(name, files, path, content)),
    ...(bytes > MOST_BYTES ? [`${name}: ${bytes} bytes, more than ${MOST_BYTES}`] : []),
  ];
}

function addonFaults(name, { name: system, platform, arch }) {
  const files = filesOf(name);
  const libc = platform === 'linux' ? { libc: [LIBC[system.split('-')[2]]] } : {};
  const addon = `reactor-ws.${system}.node`;
  const wanted = { name: `reactor-ws-${system}`, main: addon, os: [platform === 'windows' ? 'win32' : platform], cpu: [arch === 'x86_64' ? 'x64' : 'arm64'], ...libc };
  return [
    ...differences(name, [...files.keys()], [...ADDON_FILES, addon]),
    ...manifestFaults(name, JSON.parse(files.get('package.json')), wanted),
  ];
}

function differences(name, has, wanted) {
  const missing = wanted.filter((path) => !has.includes(path)).map((path) => `${name}: lacks ${path}`);
  return [...missing, ...has.filter((path) => !wanted.includes(path)).map((path) => `${name}: has ${path}, which nobody named`)];
}

function manifestFaults(name, own, wanted) {
  const expected = { version, license: manifest.license, engines: manifest.engines, ...wanted };
  const wrong = Object.entries(expected).filter(([key, value]) => JSON.stringify(own[key]) !== JSON.stringify(value));
  return [
    ...wrong.map(([key, value]) => `${name}: ${key} is ${JSON.stringify(own[key])} and not ${JSON.stringify(value)}`),
    ...FORBIDDEN.filter((key) => key in own).map((key) => `${name}: package.json has ${key}`),
  ];
}

/** Every `require('./…')` of a file leads to a file; comments name types. */
function requireFaults(name, files, path, content) {
  if (!/^lib\/.*\.m?js$/.test(path)) return [];
  const code = content.toString().replace(/\/\*[^]*?\*\//g, '');
  const required = [...code.matchAll(/(?:\brequire\(|\bfrom )'(\.[^']*)'/g)].map(([, one]) => posix.join(posix.dirname(path), one));
  const lost = required.filter((one) => ![one, `${one}.js`, `${one}.json`, `${one}/index.js`].some((file) => files.has(file)));
  return lost.map((one) => `${name}: ${path} requires ${one}, which is not in it`);
}

/** All strings in a value that are paths. */
function pathsIn(value) {
  if (typeof value === 'string') return [value];
  return Object.values(value ?? {}).flatMap(pathsIn);
}
