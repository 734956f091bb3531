// The paths of the benchmark.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const benchmarkDir = fileURLToPath(new URL('.', import.meta.url));
export const rootDir = join(benchmarkDir, '..');
export const targetDir = process.env.CARGO_TARGET_DIR ?? join(rootDir, 'target');
export const loadBinary = join(targetDir, 'release', 'load');
