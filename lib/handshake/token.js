'use strict';

/** Characters of a token (RFC 9110, 5.6.2), for use in a regular expression. */
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";

const whole = new RegExp(`^${TOKEN}$`);

/** @type {(value: unknown) => boolean} */
function isToken(value) {
  return typeof value === 'string' && whole.test(value);
}

module.exports = { TOKEN, isToken };
