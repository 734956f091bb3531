// npm run test:fuzz: every fuzz target for a minute, or `-- --seconds 300 frames records` for some
// of them and that long. Needs a nightly toolchain and cargo-fuzz; without them it is skipped, with
// a line about it. Findings are in fuzz/artifacts, the corpora in fuzz/corpus.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { formatCounts } from './counts.mjs';
import { root, run } from './run.mjs';

const { values, positionals } = parseArgs({ options: { seconds: { type: 'string', default: '60' } }, allowPositionals: true });
const seconds = Number(values.seconds);
const all = [...readFileSync(join(root, 'fuzz/Cargo.toml'), 'utf8').matchAll(/^\[\[bin\]\]\nname = "(.*)"$/gm)].map(([, name]) => name);
/** The time and memory that one input may take. */
const LIMITS = ['-timeout=20', '-rss_limit_mb=2500'];

const { code: missing } = await run('cargo', ['+nightly', 'fuzz', '--version'], { capture: true });
if (missing !== 0) {
  console.log('no cargo-fuzz, or no nightly toolchain: cargo install cargo-fuzz; rustup toolchain install nightly');
  console.log('0 passed, 0 failed, 1 skipped');
} else {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const lines = [];
  for (const target of positionals.length > 0 ? positionals : all) {
    const dictionary = `fuzz/dictionaries/${target}.dict`;
    const options = [`-max_total_time=${seconds}`, '-print_final_stats=1', ...LIMITS];
    if (existsSync(join(root, dictionary))) options.push(`-dict=${dictionary}`);
    const args = ['+nightly', 'fuzz', 'run', '--fuzz-dir', 'fuzz', '-O', target, '--', ...options];
    const { code, output } = await run('cargo', args, { capture: true, silence: 30 + seconds / 60 });
    const rate = /average_exec_per_sec:\s+(\d+)/.exec(output)?.[1];
    const [, executions, coverage] = [...output.matchAll(/^#(\d+)\s+\S+\s+cov: (\d+)/gm)].at(-1) ?? [];
    counts[code === 0 ? 'passed' : 'failed']++;
    lines.push(`${target}: ${executions} executions, ${rate} a second, coverage ${coverage}${code === 0 ? '' : ', FAILED'}`);
  }
  for (const line of lines) console.log(line);
  console.log(formatCounts(counts));
  process.exitCode = counts.failed > 0 ? 1 : 0;
}
