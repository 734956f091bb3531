'use strict';

/** Characters of a token (RFC 9110, 5.6.2), for use in a regular expression. */
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";

const token = new RegExp(TOKEN, 'y');
const whole = new RegExp(`^${TOKEN}$`);
const space = /[ \t]*/y;

/** Reads a header field piece by piece. Its errors name the place in the words of ws. */
class Scanner {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  isAtEnd() {
    return this.at === this.text.length;
  }

  /** @type {() => string} @throws {SyntaxError} When there is none here */
  token() {
    token.lastIndex = this.at;
    const match = token.exec(this.text);
    if (match === null) throw this.unexpected();
    this.at = token.lastIndex;
    return match[0];
  }

  /** Skips spaces and tabs, if there are any. */
  space() {
    space.lastIndex = this.at;
    space.test(this.text);
    this.at = space.lastIndex;
  }

  /** @type {(character: string) => boolean} */
  skip(character) {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  /**
   * Skips a separator of two elements, and the space around it.
   *
   * @param {string} characters
   * @returns {string} The separator found; '' at the end
   * @throws {SyntaxError} For anything else, and for space at the end
   */
  separator(characters) {
    const start = this.at;
    this.space();
    if (this.isAtEnd()) {
      if (this.at === start) return '';
      throw this.unexpected();
    }
    const found = this.text[this.at];
    if (!characters.includes(found)) throw this.unexpected();
    this.at++;
    this.space();
    return found;
  }

  unexpected() {
    return new SyntaxError(
      this.isAtEnd() ? 'Unexpected end of input' : `Unexpected character at index ${this.at}`,
    );
  }
}

/** @type {(value: unknown) => boolean} */
function isToken(value) {
  return typeof value === 'string' && whole.test(value);
}

module.exports = { Scanner, isToken };
