// Runs a command so that its output is seen at once and can still be read afterwards.

import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The repository's root, where commands run. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** A command that works prints more often, even on a machine that is several times slower than others. */
const SILENCE_MINUTES = 15;
/** Milliseconds between SIGINT and SIGKILL. */
const GRACE = 5000;
const windows = process.platform === 'win32';

/**
 * Runs `command` with its output passed through.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string>, capture?: boolean, silence?: number, most?: number }} [options]
 *   `capture`: also return the output, and kill the command and its children when they have
 *   printed nothing for `silence` minutes or have run for `most`: they hang
 * @returns {Promise<{ code: number, output: string, reason?: string }>} code -1: it could not be
 *   started or was killed; `reason` says why
 */
export function run(command, args, { cwd = root, env = {}, capture = false, silence = SILENCE_MINUTES, most } = {}) {
  const shown = Object.entries(env).filter(([name]) => name !== 'PATH');
  console.log(`\n$ ${[...shown.map(([name, value]) => `${name}="${value}"`), command, ...args].join(' ')}`);
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    // A group of its own, so that a hanging grandchild can be killed with it.
    detached: !windows,
    shell: windows && command !== process.execPath,
  });
  return collect(child, capture ? { silence, most } : null);
}

/** Runs npm itself: the very npm that started us, if one did. */
export function npm(args, options) {
  const cli = process.env.npm_execpath;
  return cli ? run(process.execPath, [cli, ...args], options) : run('npm', args, options);
}

/** Runs the program of an installed development dependency: `bin` is a path inside node_modules. */
export function tool(bin, args, options) {
  return run(process.execPath, [`node_modules/${bin}`, ...args], options);
}

/** Whether there is an executable program at that path. */
export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function collect(child, limits) {
  let reason;
  const endAfter = (minutes, fault) => setTimeout(() => {
    reason = `killed: it had ${fault} for ${minutes} minutes`;
    console.error(reason);
    if (!windows) console.error(groupOf(child));
    // ava then names the tests that have not ended. Its own timeout may be off: a test that asks for a longer timeout switches it off.
    child.kill('SIGINT');
    setTimeout(killGroup, GRACE, child).unref();
  }, minutes * 60_000);
  const watchdog = limits && endAfter(limits.silence, 'printed nothing');
  const ending = limits?.most && endAfter(limits.most, 'run');
  const interrupted = () => {
    killGroup(child);
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupted);

  let output = '';
  for (const name of ['stdout', 'stderr']) {
    child[name]?.setEncoding('utf8').on('data', (text) => {
      output += text;
      watchdog?.refresh();
      process[name].write(text);
    });
  }
  return new Promise((settle) => {
    const done = (code) => {
      clearTimeout(watchdog);
      clearTimeout(ending);
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, interrupted);
      settle({ code, output, reason });
    };
    child.once('error', (error) => {
      reason = error.code === 'ENOENT' ? `${child.spawnfile} was not found` : error.message;
      console.error(reason);
      done(-1);
    });
    child.once('close', (code, signal) => {
      if (code === null) reason ??= `ended by ${signal}`;
      done(code ?? -1);
    });
  });
}

/** The remaining processes of a command, a line each: the log has no other trace of them. */
function groupOf(child) {
  const { stdout } = spawnSync('ps', ['-eo', 'pgid,pid,ppid,stat,wchan:20,etime,args'], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').filter((line) => parseInt(line, 10) === child.pid).map((line) => line.slice(0, 300)).join('\n');
}

function killGroup(child) {
  try {
    if (windows) child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The process ended by itself in the meantime.
  }
}
