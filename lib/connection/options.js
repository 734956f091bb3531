'use strict';

const { delay, limit } = require('../base/checks');

/** Options that clients and servers have, with their initial values, in the order of ws. */
const DEFAULTS = {
  allowSynchronousEvents: true,
  autoPong: true,
  maxBufferedChunks: 256 * 1024,
  maxFragments: 16 * 1024,
  maxPayload: 100 * 1024 * 1024,
  maxPendingAutoPongs: 60,
  skipUTF8Validation: false,
};

/** Those that are numbers. */
const NUMBERS = ['closeTimeout', 'maxBufferedChunks', 'maxFragments', 'maxPayload', 'maxPendingAutoPongs'];

/**
 * For a reader of frames.
 *
 * @type {(options: { maxFragments?: number, maxPayload?: number, skipUTF8Validation?: boolean }) => { maxPayload: number, maxFragments: number, skipUtf8Validation: boolean }}
 */
function readingOptions({ maxFragments, maxPayload, skipUTF8Validation }) {
  return { maxPayload: limit(maxPayload), maxFragments: limit(maxFragments), skipUtf8Validation: !!skipUTF8Validation };
}

/**
 * For a reactor. `reading`: of `setSocket()`, or the same; `settings`: of a server.
 *
 * @type {(options: { closeTimeout?: number, maxPendingAutoPongs?: number }, reading: Parameters<typeof readingOptions>[0], settings: Readonly<{ idleTimeout?: number, pingInterval?: number }> | undefined, autoPong: boolean) => import('../native/binding').ConnectionOptions}
 */
function engineOptions({ closeTimeout, maxPendingAutoPongs }, reading, { idleTimeout = 0, pingInterval = 0 } = {}, autoPong) {
  // Without `...`, with which V8 takes 3 us here.
  const { maxPayload, maxFragments, skipUtf8Validation } = readingOptions(reading);
  return {
    maxPayload,
    maxFragments,
    skipUtf8Validation,
    autoPong,
    maxPendingAutoPongs: limit(maxPendingAutoPongs),
    closeTimeout: delay(closeTimeout),
    pingInterval,
    idleTimeout,
  };
}

module.exports = { DEFAULTS, NUMBERS, engineOptions, readingOptions };
