'use strict';

const { debuglog } = require('node:util');

/** What `NODE_DEBUG=reactor-ws` prints: handshakes, ends and pauses, nothing for each message. */
const log = debuglog('reactor-ws');

/** Warnings that this process has had. */
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
 * Reports names that are not `known`: by a warning, as programs keep options of their own beside
 * those of ws. A name that differs from a known one in capitals or an s only is an error: a limit
 * that is not there would leave a server open.
 *
 * @type {(options: object, known: string[], label: string) => void}
 * @throws {TypeError}
 */
function reportUnknown(options, known, label) {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = known.find((other) => plain(other) === plain(name));
    if (meant !== undefined) throw new TypeError(`${label}.${name} is not an option. Its name is ${meant}`);
    warn('REACTOR_WS_UNKNOWN_OPTION', `${label}.${name} is not an option`);
  }
}

/** @type {(name: string) => string} */
function plain(name) {
  return name.toLowerCase().replaceAll('s', '');
}

module.exports = { log, reportUnknown, warn };
