// Programs of `__test__/types`, compiled as a user compiles them: with this package installed as
// `ws`, and with @types/ws.
//
//   programs/   programs that compile with @types/ws and must compile with ours
//   augmented/  the same, with members that `declare module` adds to every file of a compilation
//   both/       one such program of CommonJS modules and ES modules
//   own/        programs that use what only ours has, and those of README.md
//   beside/     programs with this package under its own name beside @types/ws
//
// Each file is compiled as a CommonJS module and as an ES module; .cts and .mts as one of them.
//
//   node scripts/types.mjs      writes types/esm; npm run check compares

import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { root, tool } from './run.mjs';

/**
 * The declarations for ES modules, which are those of `types` again. Were they the same ones, a
 * program with modules of both kinds could not add members to them: the compiler makes two classes
 * of one to which `declare module` adds members under two paths.
 */
const TYPES = join(root, 'types');
const ESM = join(TYPES, 'esm');

const SOURCES = join(root, '__test__/types');
const TARGET = join(root, 'target/types');

const OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  esModuleInterop: true,
  noEmit: true,
};

if (process.argv[1] === import.meta.filename) {
  rmSync(ESM, { recursive: true, force: true });
  mkdirSync(ESM);
  for (const [file, text] of esmFiles()) writeFileSync(join(ESM, file), text);
}

/** @returns {string[]} one line, if types/esm is not what types says */
export function esmViolations() {
  const wanted = esmFiles();
  const same = readdirSync(ESM).length === wanted.length
    && wanted.every(([file, text]) => readFileSync(join(ESM, file), 'utf8') === text);
  return same ? [] : ['types/esm: not what types says; run npm run generate'];
}

/** @returns {[file: string, text: string][]} */
function esmFiles() {
  // Those that index.d.ts imports; the others are entries of their own.
  const names = [...readFileSync(join(root, 'index.d.ts'), 'utf8').matchAll(/'\.\/types\/(\w+)'/g)];
  return names.map(([, name]) => {
    const text = readFileSync(join(TYPES, `${name}.d.ts`), 'utf8');
    const imported = text.replace(/ from '\.\/(\w+)';/g, " from './$1.mjs';");
    return [`${name}.d.mts`, `// Made from types/${name}.d.ts by scripts/types.mjs.\n${imported}`];
  });
}

/** @returns {IterableIterator<RegExpExecArray>} path and name of each program that README.md shows */
function readmePrograms() {
  return readFileSync(join(root, 'README.md'), 'utf8').matchAll(/(?<=<!-- file: )(?:\S+\/)?(\S+)\.mjs(?= -->)/g);
}

/**
 * Compiles a folder of programs. CommonJS modules and ES modules are two compilations, unless the
 * folder has both: what one program adds to the classes is in all files of a compilation.
 *
 * @param {'ours' | 'theirs'} types The package of the types
 * @param {string} folder
 */
export async function compile(types, folder) {
  let code = 0;
  for (const type of folder === 'both' ? ['commonjs'] : ['commonjs', 'module']) {
    const home = join(TARGET, types, folder, type);
    rmSync(home, { recursive: true, force: true });
    mkdirSync(join(home, 'node_modules'), { recursive: true });
    // Nearer than node_modules/@types of the repository.
    if (types === 'ours') symlinkSync(root, join(home, 'node_modules/ws'), 'junction');
    writeFileSync(join(home, 'package.json'), JSON.stringify({ type }));
    const other = type === 'commonjs' ? '.mts' : '.cts';
    for (const file of readdirSync(join(SOURCES, folder))) {
      if (folder === 'both' || !file.endsWith(other)) cpSync(join(SOURCES, folder, file), join(home, file));
    }
    if (folder === 'own' || folder === 'beside') symlinkSync(root, join(home, 'node_modules/reactor-ws'), 'junction');
    if (folder === 'own') {
      for (const [path, name] of readmePrograms()) cpSync(join(root, path), join(home, `readme-${name}.mts`));
    }
    const project = join(home, 'tsconfig.json');
    writeFileSync(project, JSON.stringify({ compilerOptions: OPTIONS, include: ['*.ts', '*.cts', '*.mts'] }));
    code ||= (await tool('typescript/bin/tsc', ['--project', project])).code;
  }
  return { code };
}
