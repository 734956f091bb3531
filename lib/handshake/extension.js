'use strict';

const { Scanner, isToken } = require('./scanner');

/**
 * The extensions in a `Sec-WebSocket-Extensions` header (RFC 6455, 9.1).
 *
 * @param {string} header
 * @returns {Record<string, Array<Record<string, Array<string | true>>>>} The offers of each
 *   extension, with the values of each parameter: true if it has none
 * @throws {SyntaxError}
 */
function parse(header) {
  const scanner = new Scanner(header);
  const offers = Object.create(null);
  for (let next = ','; next === ','; ) {
    const name = scanner.token();
    const params = Object.create(null);
    next = scanner.separator(',;');
    while (next === ';') {
      const param = scanner.token();
      add(params, param, scanner.skip('=') ? value(scanner) : true);
      next = scanner.separator(',;');
    }
    add(offers, name, params);
  }
  return offers;
}

/** A token, or a quoted string that contains one. @type {(scanner: InstanceType<typeof Scanner>) => string} */
function value(scanner) {
  if (!scanner.skip('"')) return scanner.token();
  let text = '';
  while (text === '' || !scanner.skip('"')) {
    scanner.skip('\\');
    if (scanner.isAtEnd() || !isToken(scanner.text[scanner.at])) throw scanner.unexpected();
    text += scanner.text[scanner.at++];
  }
  return text;
}

/** @type {(lists: Record<string, unknown[]>, name: string, element: unknown) => void} */
function add(lists, name, element) {
  if (lists[name] === undefined) lists[name] = [element];
  else lists[name].push(element);
}

/**
 * The inverse of `parse`. A single offer or value need not be in an array.
 *
 * @type {(extensions: import('../connection/state').Extensions) => string}
 */
function format(extensions) {
  const offers = Object.entries(extensions).flatMap(([name, list]) =>
    [list].flat().map((params) => [name, ...formatParams(params)].join('; ')),
  );
  return offers.join(', ');
}

/** @type {(params: Record<string, unknown>) => string[]} */
function formatParams(params) {
  return Object.entries(params).map(([name, values]) =>
    [values].flat().map((one) => (one === true ? name : `${name}=${one}`)).join('; '),
  );
}

module.exports = { format, parse };
