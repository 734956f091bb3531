'use strict';

// The path at which a process gives its connections to the next one.

const { chmodSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmdirSync, statSync, unlinkSync } = require('node:fs');
const { dirname, isAbsolute, join } = require('node:path');

const { wrongType } = require('../base/checks');
const { hasDescriptors } = require('../base/descriptors');

/** Bytes of the longest path of a socket. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103;

/** A folder in which a process makes its socket: this, and six characters. */
const OWN_FOLDER = '.h';
const OWN_NAME = '/s';

/** Such a folder. Milliseconds for which no process needs it. */
const LEFT = /^\.h[A-Za-z0-9]{6}$/;
const OLD = 24 * 60 * 60 * 1000;

/** Permissions of others to write. */
const OTHERS_WRITE = 0o022;

/** @param {string} path @param {string} why */
function refuse(path, why) {
  return Object.assign(new Error(`options.handover: ${why}: ${path}`), { code: 'ERR_INVALID_ARG_VALUE' });
}

/** @type {(path: string) => void} @throws {Error} */
function checkPath(path) {
  if (!hasDescriptors) throw refuse(path, 'connections cannot move on this system');
  if (!isAbsolute(path)) throw wrongType('options.handover', 'an absolute path', path);
  if (path.includes('\0')) throw refuse(path.replaceAll('\0', '\\0'), 'has a null character');
  // It is made in a folder beside it.
  const made = `${join(dirname(path), OWN_FOLDER)}XXXXXX${OWN_NAME}`;
  if (Math.max(Buffer.byteLength(path), Buffer.byteLength(made)) > MAX_PATH) throw refuse(path, `longer than ${MAX_PATH} bytes`);
  checkFolder(path);
  const found = look(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (found?.isSocket() === false) throw refuse(path, 'something else is there');
}

/** @type {<T>(path: string, act: () => T) => T} @throws {Error} */
function look(path, act) {
  try {
    return act();
  } catch (error) {
    throw Object.assign(refuse(path, `the folder cannot be used (${/** @type {Error} */ (error).message})`), { cause: error });
  }
}

/** Who can write there decides to whom connections go, and from whom they come. @param {string} path */
function checkFolder(path) {
  const found = look(path, () => statSync(dirname(path)));
  if (!found.isDirectory()) throw refuse(path, 'not in a folder');
  if (found.uid !== process.geteuid?.() || (found.mode & OTHERS_WRITE) !== 0) {
    throw refuse(path, 'the folder must belong to the user of the process, and no other user can have the permission to write to it');
  }
}

/**
 * Listens beside the path: at no time can another user connect. `ready` gets a function that puts the socket at the path, in
 * place of another process or none, and returns its inode.
 *
 * @type {(server: import('node:net').Server, path: string, ready: (appear: () => number) => void) => void}
 */
function listenNear(server, path, ready) {
  /** @type {string} */
  let folder;
  removeLeftovers(dirname(path));
  try {
    folder = mkdtempSync(join(dirname(path), OWN_FOLDER));
  } catch (error) {
    return void process.nextTick(() => server.emit('error', error));
  }
  const made = folder + OWN_NAME;
  const leave = () => remove(made, folder);
  server.once('error', leave);
  server.once('close', leave);
  server.listen({ path: made }, () => {
    try {
      chmodSync(made, 0o600);
      const { ino } = statSync(made);
      ready(() => {
        renameSync(made, path);
        leave();
        return ino;
      });
    } catch (error) {
      server.emit('error', error);
    }
  });
}

/** Processes that were killed have left them. @param {string} beside */
function removeLeftovers(beside) {
  try {
    for (const one of readdirSync(beside, { withFileTypes: true })) {
      if (!LEFT.test(one.name) || !one.isDirectory()) continue;
      const folder = join(beside, one.name);
      const made = folder + OWN_NAME;
      const { mtimeMs, uid } = lstatSync(folder);
      const isOld = uid === process.geteuid?.() && Date.now() - mtimeMs > OLD;
      if (isOld && lstatSync(made, { throwIfNoEntry: false })?.isSocket() !== false) remove(made, folder);
    }
  } catch {
    // Another process removes them as well, or they cannot be seen.
  }
}

/** @type {(made: string, folder: string) => void} */
function remove(made, folder) {
  for (const act of [() => unlinkSync(made), () => rmdirSync(folder)]) {
    try {
      act();
    } catch {
      // It is not there.
    }
  }
}

module.exports = { checkPath, listenNear };
