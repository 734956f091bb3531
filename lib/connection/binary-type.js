'use strict';

/**
 * A binary message in the form that was asked for.
 *
 * @param {string} binaryType
 * @param {Buffer} data The payload
 * @returns {any}
 */
function convert(binaryType, data) {
  switch (binaryType) {
    case 'arraybuffer':
      // Its own memory: a view's ArrayBuffer would show the neighbours.
      return data.length === data.buffer.byteLength
        ? data.buffer
        : data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
    case 'fragments':
      return data.length === 0 ? [] : [data];
    case 'blob':
      return new Blob([/** @type {any} */ (data)]);
    default:
      return data;
  }
}

module.exports = { convert };
