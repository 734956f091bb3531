// How a reactor dies: the descriptor that it waits on suddenly belongs to a file.
import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs';

/** Descriptors of all epolls of the process, Node's own among them. */
export function polls() {
  const target = (fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  };
  return readdirSync('/proc/self/fd').filter((fd) => target(fd).includes('[eventpoll]'));
}

/**
 * The owner of the descriptor can close it without an error, which would end a debug build. And libuv can begin to watch it, as it does for
 * 'auto': it aborts the process for a file without `poll`, such as /dev/null.
 */
export function replace(fd) {
  closeSync(fd);
  while (openSync('/proc/self/mounts') !== fd);
}
