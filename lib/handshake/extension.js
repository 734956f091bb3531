'use strict';

const { Scanner } = require('./scanner');
const { isToken } = require('./token');

/**
 * The extensions in a `Sec-WebSocket-Extensions` header (RFC 6455, 9.1).
 *
 * @param {string} header The value of the header
 * @returns {Record<string, Array<Record<string, Array<string | true>>>>} For each extension its
 *   offers, for each parameter its values; true is a parameter without a value
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

/**
 * The value of a parameter: a token, or a quoted string whose content is one.
 *
 * @param {InstanceType<typeof Scanner>} scanner A scanner in front of the value
 * @returns {string} The token
 */
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

/**
 * @param {Record<string, unknown[]>} lists Lists by name, without a prototype
 * @param {string} name Name of the list
 * @param {unknown} element What is added at its end
 */
function add(lists, name, element) {
  if (lists[name] === undefined) lists[name] = [element];
  else lists[name].push(element);
}

/**
 * The `Sec-WebSocket-Extensions` header for extensions in the form that `parse` returns. Where
 * there is one offer or value, it need not be in an array.
 *
 * @param {import('../connection/state').Extensions} extensions The extensions by name
 * @returns {string} The value of the header
 */
function format(extensions) {
  const offers = Object.entries(extensions).flatMap(([name, list]) =>
    [list].flat().map((params) => [name, ...formatParams(params)].join('; ')),
  );
  return offers.join(', ');
}

/**
 * @param {Record<string, unknown>} params The parameters of one offer by name
 * @returns {string[]} The parameters as they stand in the header
 */
function formatParams(params) {
  return Object.entries(params).map(([name, values]) =>
    [values].flat().map((one) => (one === true ? name : `${name}=${one}`)).join('; '),
  );
}

module.exports = { format, parse };
