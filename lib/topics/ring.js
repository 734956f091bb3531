'use strict';

// Positions of a topic with history. The reactors have the messages; the count is here, for the
// calls of `publish()` make the order of a topic.

const { randomBytes } = require('node:crypto');

/** @import { Position } from '../../types/topics' */
/** @import { Settings } from './settings' */

/** Bytes of randomness: 8 characters that need no escape in JSON or in a URL. */
const EPOCH_BYTES = 6;

/** The part of a stamp that differs between messages. */
const OFFSET = '$offset';
const EPOCH = '$epoch';

class Ring {
  /** @param {Readonly<Settings>} settings Settings of the topic */
  constructor(settings) {
    /** Different for every ring: the position of a lost ring recovers nothing. */
    this.epoch = randomBytes(EPOCH_BYTES).toString('base64url');
    /** Offset of the last message; the first has 1. */
    this.offset = 0;
    /** The time at which that was published, by `Date.now()`. */
    this.publishedAt = Date.now();
    this.stamp = settings.stamp === null ? null : new Stamp(settings.stamp, this.epoch);
  }

  /** @returns {Position} The position of the last message */
  position() {
    return { epoch: this.epoch, offset: this.offset };
  }
}

/** The text that is written around each message. */
class Stamp {
  /**
   * @param {{ before: string, after: string }} template The text before and after the message, with
   *   places for the position
   * @param {string} epoch Epoch of the history
   */
  constructor({ before, after }, epoch) {
    this.before = before.replaceAll(EPOCH, epoch).split(OFFSET);
    this.after = after.replaceAll(EPOCH, epoch).split(OFFSET);
  }

  /** @type {(text: string | Uint8Array, offset: number) => string | Uint8Array} */
  wrap(text, offset) {
    const before = this.before.join(String(offset));
    const after = this.after.join(String(offset));
    if (typeof text === 'string') return before + text + after;
    return Buffer.concat([Buffer.from(before), text, Buffer.from(after)]);
  }
}

module.exports = { Ring };
