'use strict';

const { addon } = require('../reactor/addon');
const { orThrow } = require('../base/errors');

/** Throws a SyntaxError unless the header is a list of different tokens. @type {(header: string) => Set<string>} */
function parse(header) {
  return new Set(orThrow(addon().parseSubprotocols(header)));
}

module.exports = { parse };
