import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ours = { ws: 'ws', 'reactor-ws': '../../lib/index.mjs' };

/** @type {import('node:module').ResolveHook} */
export function resolve(specifier, context, next) {
  const { SERVES_WS = 'ws', UWS_PATH } = process.env;
  if (specifier === 'ws') return next(ours[SERVES_WS], { ...context, parentURL: import.meta.url });
  if (specifier === 'uWebSockets.js') return { url: pathToFileURL(join(UWS_PATH, 'ESM_wrapper.mjs')).href, format: 'module', shortCircuit: true };
  return next(specifier, context);
}

/** @type {import('node:module').LoadHook} */
export function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  return { format: 'module', source: stripped(file), shortCircuit: true };
}

function stripped(file) {
  if (module.stripTypeScriptTypes !== undefined) return module.stripTypeScriptTypes(readFileSync(file, 'utf8'));
  return execFileSync(process.env.BUN_PATH, ['build', '--no-bundle', '--target=node', file], { encoding: 'utf8' });
}
