// For tests that close a port and use it again, or rely on its being closed.
const { pid, platform } = process;

/**
 * An address of the loopback that no other process uses, where there is more than one: a port of
 * 127.0.0.1 that is free may be given to anybody at any moment, also to a client.
 */
export const OWN_HOST = platform === 'linux' || platform === 'win32' ? `127.1.${(pid >> 8) & 0xff}.${pid & 0xff}` : '127.0.0.1';
