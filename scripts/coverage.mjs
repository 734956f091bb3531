// npm run coverage: the lines of lib and src that the tests enter, merged over all processes, with
// the reactor on a thread, on the JavaScript thread, and with several reactors. Fails below LINES of lib.
// Reports: target/coverage/lib, and target/coverage/src if cargo-llvm-cov is installed.
//
//   npm run coverage                              all spec files
//   npm run coverage -- '__test__/topics/**'      some, without a bound

import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { root, run, tool } from './run.mjs';
import { setup } from './setup.mjs';
import { MODE_SPECS } from './steps.mjs';

/** Per cent of the lines of lib. */
const LINES = 97;
const RAW = 'target/coverage/v8';
const C8 = ['--include', 'lib/**', '--exclude', 'lib/native/**', '--temp-directory', RAW];
const AVA = 'ava/entrypoints/cli.mjs';
/** Without the file that waits for contexts to be collected: counted, they are not. */
const SPECS = ['__test__/**/*.spec.mjs', '!__test__/reactor/worlds.spec.mjs'];

const chosen = process.argv.slice(2);
await setup();
rmSync(join(root, 'target/coverage'), { recursive: true, force: true });

const built = await instrumented();
const env = built ?? {};
const codes = [await ava(chosen.length === 0 ? SPECS : chosen)];
if (chosen.length === 0) {
  for (const reactors of ['0', '3']) codes.push(await ava(MODE_SPECS, reactors));
}
codes.push((await tool('c8/bin/c8.js', ['report', ...C8, '--reports-dir', 'target/coverage/lib', '--reporter', 'text', '--reporter', 'html', ...(chosen.length === 0 ? ['--check-coverage', '--lines', String(LINES)] : [])])).code);
if (built !== null) {
  if (chosen.length === 0) codes.push((await run('cargo', ['test', '--workspace'], { env })).code);
  const addons = readdirSync(join(root, 'lib/native')).filter((name) => name.endsWith('.node')).map((name) => join(root, 'lib/native', name));
  // Cargo knows its tests; the addon that the specs have used is in another folder.
  const objects = { LLVM_COV_FLAGS: addons.map((addon) => `-object=${addon}`).join(' ') };
  codes.push((await run('cargo', ['llvm-cov', 'report', '--html', '--output-dir', 'target/coverage/src'], { env: { ...env, ...objects } })).code);
  // The next command must not find an addon that counts.
  for (const addon of addons) rmSync(addon);
}
process.exitCode = codes.every((code) => code === 0) ? 0 : 1;

async function ava(files, reactors) {
  const mode = reactors === undefined ? {} : { REACTOR_WS_REACTORS: reactors };
  return (await run(process.execPath, ['node_modules/c8/bin/c8.js', '--clean=false', '--reporter', 'none', ...C8, process.execPath, `node_modules/${AVA}`, ...files], { env: { ...env, ...mode } })).code;
}

/** The environment of an addon that counts, which is built; `null`: cargo-llvm-cov is not installed. */
async function instrumented() {
  const { code, output } = await run('cargo', ['llvm-cov', 'show-env', '--sh'], { capture: true });
  if (code !== 0) {
    console.log('no cargo-llvm-cov, so src is not measured: cargo install cargo-llvm-cov');
    return null;
  }
  const wanted = Object.fromEntries([...output.matchAll(/^export (\w+)='?(.*?)'?$/gm)].map(([, name, value]) => [name, value]));
  // Cargo reuses objects of an earlier build, which have no counters.
  await run('cargo', ['llvm-cov', 'clean', '--workspace'], { env: wanted });
  const { code: built } = await run('npm', ['run', 'build:debug'], { env: wanted });
  return built === 0 ? wanted : null;
}
