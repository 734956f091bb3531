// The paths of the benchmark.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const benchmarkDir = fileURLToPath(new URL('.', import.meta.url));
export const rootDir = join(benchmarkDir, '..');
export const targetDir = process.env.CARGO_TARGET_DIR ?? join(rootDir, 'target');
export const loadBinary = join(targetDir, 'release', 'load');

// uWebSockets.js: the directory that UWS_PATH names, or the prebuilt copy on npm, if it is installed.
try {
  process.env.UWS_PATH ??= dirname(createRequire(import.meta.url).resolve('@btc-vision/uwebsockets.js'));
} catch {
  // There is neither: its candidates say so.
}
