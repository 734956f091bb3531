'use strict';

const { Scanner } = require('./scanner');

/**
 * The names in a `Sec-WebSocket-Protocol` header.
 *
 * @type {(header: string) => Set<string>}
 * @throws {SyntaxError} When the header is no list of tokens, or names one token twice
 */
function parse(header) {
  const scanner = new Scanner(header);
  const protocols = new Set();
  do {
    const protocol = scanner.token();
    if (protocols.has(protocol)) throw new SyntaxError(`The "${protocol}" subprotocol is duplicated`);
    protocols.add(protocol);
  } while (scanner.separator(',') !== '');
  return protocols;
}

module.exports = { parse };
