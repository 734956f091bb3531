'use strict';

const { addon } = require('../reactor/addon');
const { orThrow } = require('../base/errors');

/**
 * The names in a `Sec-WebSocket-Protocol` header.
 *
 * @type {(header: string) => Set<string>}
 * @throws {SyntaxError} When the header is no list of tokens, or names one token twice
 */
function parse(header) {
  return new Set(orThrow(addon().parseSubprotocols(header)));
}

module.exports = { parse };
