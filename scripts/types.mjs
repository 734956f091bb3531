// Programs of `__test__/types`, compiled as a user compiles them: with this package installed as
// `ws`, and with @types/ws.
//
//   programs/   programs that compile with @types/ws and must compile with ours
//   augmented/  the same, with members that `declare module` adds to every file of a compilation
//   own/        programs that use what only ours has
//
// Each file is compiled as a CommonJS module and as an ES module; .cts and .mts as one of them.

import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { root, tool } from './run.mjs';

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

/**
 * Compiles a folder of programs. CommonJS modules and ES modules are two compilations: the compiler
 * makes two classes of one to which modules of both kinds add members.
 *
 * @param {'ours' | 'theirs'} types The package of the types
 * @param {string} folder
 * @param {{ compiler?: string, settings?: object }} [options]
 *   `compiler`: a path inside node_modules
 */
export async function compile(types, folder, { compiler = 'typescript/bin/tsc', settings = {} } = {}) {
  let code = 0;
  for (const type of ['commonjs', 'module']) {
    const home = join(TARGET, types, folder, type);
    rmSync(home, { recursive: true, force: true });
    mkdirSync(join(home, 'node_modules'), { recursive: true });
    // Nearer than node_modules/@types of the repository.
    if (types === 'ours') symlinkSync(root, join(home, 'node_modules/ws'), 'junction');
    writeFileSync(join(home, 'package.json'), JSON.stringify({ type }));
    const other = type === 'commonjs' ? '.mts' : '.cts';
    for (const file of readdirSync(join(SOURCES, folder))) {
      if (!file.endsWith(other)) cpSync(join(SOURCES, folder, file), join(home, file));
    }
    const project = join(home, 'tsconfig.json');
    writeFileSync(project, JSON.stringify({ compilerOptions: { ...OPTIONS, ...settings }, include: ['*.ts', '*.cts', '*.mts'] }));
    code ||= (await tool(compiler, ['--project', project])).code;
  }
  return { code };
}
