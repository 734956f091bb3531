'use strict';

const { debuglog } = require('node:util');

/** What `NODE_DEBUG=reactor-ws` prints: handshakes, ends and pauses, nothing for each message. */
const log = debuglog('reactor-ws');

/** Warnings that this process has had. */
const given = new Set();

/**
 * Warns by `process.emitWarning`, the same text once.
 *
 * @param {string} code `code` of the warning
 * @param {string} text Its message, without the name of the package
 */
function warn(code, text) {
  if (given.has(text)) return;
  given.add(text);
  process.emitWarning(`reactor-ws: ${text}`, { code });
}

/**
 * Warns of an option whose name is almost one of `known`. A name unlike all of them is not
 * ours to judge: programs keep options of their own beside those of ws.
 *
 * @param {object} options What the program has given
 * @param {string[]} known Names of the options that there are
 * @param {string[]} own The names that an option is compared with
 */
function warnOfMisspelt(options, known, own) {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = own.find((other) => isLike(name, other));
    if (meant !== undefined) {
      warn('REACTOR_WS_UNKNOWN_OPTION', `there is no option ${name}; did you mean ${meant}?`);
    }
  }
}

/**
 * @param {string} name Name of an unknown option
 * @param {string} other Name of a known option
 * @returns {boolean} Whether the two differ only in capitals, or in one letter of six
 */
function isLike(name, other) {
  if (name.toLowerCase() === other.toLowerCase()) return true;
  const most = Math.floor(other.length / 6);
  return Math.abs(name.length - other.length) <= most && distance(name, other) <= most;
}

/**
 * @param {string} a A word
 * @param {string} b Another word
 * @returns {number} The number of letters that have to be added, removed or changed
 */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1]));
    }
    row = next;
  }
  return row[b.length];
}

module.exports = { log, warn, warnOfMisspelt };
