'use strict';

/** Node on POSIX: elsewhere a handle has no descriptor, or another event loop keeps it. */
const hasDescriptors = process.platform !== 'win32' && !process.versions.bun && !process.versions.deno;

/** Whether an HTTP server of the program gets sockets from the reactors; if not, these relay. Tests set it. */
const handoff = { asSockets: hasDescriptors };

module.exports = { handoff, hasDescriptors };
