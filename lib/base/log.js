'use strict';

const { debuglog } = require('node:util');

/** What `NODE_DEBUG=reactor-ws` prints: handshakes, ends and pauses, nothing for each message. */
const log = debuglog('reactor-ws');

const given = new Set();

/**
 * Warns by `process.emitWarning`, the same text once.
 *
 * @param {string} code
 * @param {string} text Its message, without the name of the package
 */
function warn(code, text) {
  if (given.has(text)) return;
  given.add(text);
  process.emitWarning(`reactor-ws: ${text}`, { code });
}

/**
 * An unknown name causes a warning only, as programs keep their own options here. If it differs
 * from a known one in capitals, or by an s at the end of a word, such as `maxConnection`, it is an
 * error: a limit would be missing.
 *
 * @type {(options: object, known: string[], label: string) => void}
 * @throws {TypeError}
 */
function reportUnknown(options, known, label) {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = known.find((other) => other.toLowerCase() === name.toLowerCase() || plain(other) === plain(name));
    if (meant !== undefined) throw new TypeError(`${label}.${name} is not an option. Its name is ${meant}`);
    warn('REACTOR_WS_UNKNOWN_OPTION', `${label}.${name} is not an option`);
  }
}

/** @type {(name: string) => string} */
function plain(name) {
  return name.replaceAll(/s(?=[A-Z]|$)/g, '').toLowerCase();
}

module.exports = { log, reportUnknown, warn };
