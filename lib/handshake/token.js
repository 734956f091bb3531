'use strict';

/** Characters of a token (RFC 9110, 5.6.2), for use in a regular expression. */
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";

const whole = new RegExp(`^${TOKEN}$`);

/**
 * @param {unknown} value A value of any type
 * @returns {boolean} Whether it is a string that is a token
 */
function isToken(value) {
  return typeof value === 'string' && whole.test(value);
}

module.exports = { TOKEN, isToken };
