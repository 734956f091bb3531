'use strict';

/** A list of tokens (RFC 9110, 5.6.1) without empty elements. */
const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const list = new RegExp(`^${token}(?:[ \\t]*,[ \\t]*${token})*$`);

/**
 * The names in a `Sec-WebSocket-Protocol` header.
 *
 * @param {string} header
 * @returns {Set<string>}
 * @throws {SyntaxError} When it is no list of tokens, or names one twice
 */
function parse(header) {
  if (!list.test(header)) throw new SyntaxError('Invalid list of subprotocols');
  const names = header.split(/[ \t]*,[ \t]*/);
  const protocols = new Set(names);
  if (protocols.size !== names.length) throw new SyntaxError('A subprotocol is duplicated');
  return protocols;
}

module.exports = { parse };
