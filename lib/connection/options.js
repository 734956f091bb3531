'use strict';

const { delay, limit } = require('../base/checks');

/** @typedef {Pick<import('../../types/server').ServerOptions, 'closeTimeout' | 'idleTimeout' | 'maxPendingAutoPongs' | 'pingInterval'>} Given */

/**
 * For a reader of frames.
 *
 * @type {(options: { maxFragments?: number, maxPayload?: number, skipUTF8Validation?: boolean }) => { maxPayload: number, maxFragments: number, skipUtf8Validation: boolean }}
 */
function readingOptions({ maxFragments, maxPayload, skipUTF8Validation }) {
  return { maxPayload: limit(maxPayload), maxFragments: limit(maxFragments), skipUtf8Validation: !!skipUTF8Validation };
}

/**
 * For a reactor.
 *
 * @param {Given} options
 * @param {Parameters<typeof readingOptions>[0]} reading Of `setSocket()`, or the same
 * @param {boolean} autoPong
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
 * 0: never. Own properties only: a program might have extended Object.prototype.
 *
 * @type {(options: Given, name: 'pingInterval' | 'idleTimeout') => number}
 */
function milliseconds(options, name) {
  return Object.hasOwn(options, name) && Number(options[name]) > 0 ? delay(options[name]) : 0;
}

module.exports = { engineOptions, readingOptions };
