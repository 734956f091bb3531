// CPU time of the threads of a process, from /proc: only on Linux.

import { readdirSync, readFileSync } from 'node:fs';

/**
 * @param {number} pid
 * @returns {{ javascript: number, reactor: number, all: number } | null} Nanoseconds so far
 */
export function threadTimes(pid) {
  const times = { javascript: 0, reactor: 0, all: 0 };
  try {
    for (const id of readdirSync(`/proc/${pid}/task`)) {
      const thread = `/proc/${pid}/task/${id}`;
      const nanoseconds = Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[0]);
      times.all += nanoseconds;
      if (Number(id) === pid) times.javascript += nanoseconds;
      else if (readFileSync(`${thread}/comm`, 'utf8').startsWith('reactor')) times.reactor += nanoseconds;
    }
  } catch {
    return null;
  }
  return times;
}

/**
 * @param {number} pid
 * @returns {number | null} Resident memory in MiB
 */
export function memoryOf(pid) {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return null;
  }
}
