'use strict';

const { addon } = require('../reactor/addon');
const { orThrow } = require('../base/errors');

/**
 * The extensions in a `Sec-WebSocket-Extensions` header (RFC 6455, 9.1): offers, each with the values of its
 * parameters; true without a value.
 *
 * @type {(header: string) => Record<string, Array<Record<string, Array<string | true>>>>}
 */
function parse(header) {
  const offers = Object.create(null);
  for (const [name, ...words] of orThrow(addon().parseExtensions(header))) {
    const params = Object.create(null);
    for (let at = 0; at < words.length; at += 2) add(params, words[at], words[at + 1] || true);
    add(offers, name, params);
  }
  return offers;
}

/** @type {(lists: Record<string, unknown[]>, name: string, element: unknown) => void} */
function add(lists, name, element) {
  if (lists[name] === undefined) lists[name] = [element];
  else lists[name].push(element);
}

/**
 * The inverse of `parse`; a single offer or value can do without an array.
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
