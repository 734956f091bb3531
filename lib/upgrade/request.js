'use strict';

const { IncomingMessage } = require('node:http');

/** @type {new (socket: null) => any} */
const Base = /** @type {any} */ (IncomingMessage);

/**
 * The upgrade request as Node's HTTP server would make it. The reactor's form is `METHOD \0 url \0 minor version \0
 * name \0 value \0 name \0 value ...`.
 */
class UpgradeRequest extends Base {
  /**
   * @param {string} text
   * @param {{ _socket: unknown }} owner
   */
  constructor(text, owner) {
    super(null);
    const urlAt = text.indexOf('\0') + 1;
    const versionAt = text.indexOf('\0', urlAt) + 1;
    const minor = text.charCodeAt(versionAt) - 0x30;
    this.method = text.slice(0, urlAt - 1);
    this.url = text.slice(urlAt, versionAt - 1);
    this.httpVersionMajor = 1;
    this.httpVersionMinor = minor;
    this.httpVersion = `1.${minor}`;
    this.upgrade = true;
    this._owner = owner;
    // Without headers, nothing follows the version.
    const list = text.length === versionAt + 1 ? [] : text.slice(versionAt + 2).split('\0');
    // Lines added to a complete message would be trailers. Some versions of Bun lack the method.
    this._addHeaderLines?.(list, list.length);
    this.complete = true;
  }

  // IncomingMessage assigns these in its constructor, so they need setters.
  /** @returns {unknown} */
  get socket() {
    return this._replacedSocket === undefined ? this._owner._socket : this._replacedSocket;
  }

  set socket(socket) {
    if (socket !== null) this._replacedSocket = socket;
  }
}

module.exports = { UpgradeRequest };
