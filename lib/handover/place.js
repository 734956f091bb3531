'use strict';

// The path at which a process gives its connections to the next one.

const { randomBytes } = require('node:crypto');
const { lstatSync, statSync } = require('node:fs');
const { dirname, isAbsolute, join } = require('node:path');

const { wrongType } = require('../base/checks');
const { hasDescriptors } = require('../base/descriptors');

/** Bytes of the longest path of a socket. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103;

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
  // It is made under another name in the same folder.
  if (path.includes('\0') || Buffer.byteLength(path) > MAX_PATH || Buffer.byteLength(ownName(path)) > MAX_PATH) {
    throw refuse(path, `longer than ${MAX_PATH} bytes`);
  }
  checkFolder(path);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false) throw refuse(path, 'something else is there');
}

/** Who can write there decides to whom connections go, and from whom they come. @param {string} path */
function checkFolder(path) {
  const folder = dirname(path);
  /** @type {import('node:fs').Stats | undefined} */
  let found;
  try {
    found = statSync(folder);
  } catch (error) {
    throw Object.assign(refuse(path, `the folder cannot be used (${/** @type {Error} */ (error).message})`), { cause: error });
  }
  if (!found.isDirectory()) throw refuse(path, 'not in a folder');
  if (found.uid !== process.geteuid?.() || (found.mode & OTHERS_WRITE) !== 0) {
    throw refuse(path, 'the folder must belong to the user of the process, and no other user can have the permission to write to it');
  }
}

/** A name under which this process makes the socket. @param {string} path */
function ownName(path) {
  return join(dirname(path), `.${randomBytes(6).toString('hex')}`);
}

module.exports = { checkPath, ownName };
