'use strict';

const { debuglog } = require('node:util');

/** Prints with `NODE_DEBUG=reactor-ws`: handshakes, ends and pauses, but no messages. */
const log = debuglog('reactor-ws');

const given = new Set();

/** `process.emitWarning`, once for each text. @type {(code: string, text: string) => void} */
function warn(code, text) {
  if (given.has(text)) return;
  given.add(text);
  process.emitWarning(`reactor-ws: ${text}`, { code });
}

/**
 * Only warns of an unknown name, as programs keep their own options here. But a name that differs from a known one in
 * case or by a plural s (`maxConnection`) is an error: a limit would be missing.
 *
 * @type {(options: object, known: string[], label: string) => void}
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
