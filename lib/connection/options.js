'use strict';

const { delay, limit } = require('../base/checks');

/** @typedef {Partial<Record<'closeTimeout' | 'idleTimeout' | 'maxPendingAutoPongs' | 'pingInterval', number>>} Given */

/**
 * What a reader of frames may take.
 *
 * @type {(options: { maxFragments?: number, maxPayload?: number, skipUTF8Validation?: boolean }) => { maxPayload: number, maxFragments: number, skipUtf8Validation: boolean }}
 */
function readingOptions({ maxFragments, maxPayload, skipUTF8Validation }) {
  return { maxPayload: limit(maxPayload), maxFragments: limit(maxFragments), skipUtf8Validation: !!skipUTF8Validation };
}

/**
 * The options with which a reactor serves a connection.
 *
 * @param {Given} options
 * @param {Parameters<typeof readingOptions>[0]} reading Those of `setSocket()`, or the same
 * @param {boolean} autoPong Whether the reactor answers pings
 */
function engineOptions(options, reading, autoPong) {
  return {
    ...readingOptions(reading),
    autoPong,
    maxPendingAutoPongs: limit(options.maxPendingAutoPongs),
    closeTimeout: delay(options.closeTimeout),
    pingInterval: milliseconds(options, 'pingInterval'),
    idleTimeout: milliseconds(options, 'idleTimeout'),
  };
}

/**
 * 0 is never. Own properties only: a program may have extended Object.prototype.
 *
 * @type {(options: Given, name: 'pingInterval' | 'idleTimeout') => number}
 */
function milliseconds(options, name) {
  return Object.hasOwn(options, name) && Number(options[name]) > 0 ? delay(options[name]) : 0;
}

module.exports = { engineOptions, readingOptions };
