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
    this.stamp = settings.stamp === null ? null : stamper(settings.stamp, this.epoch);
  }

  /** @returns {Position} The position of the last message */
  position() {
    return { epoch: this.epoch, offset: this.offset };
  }
}

/**
 * Writes text with the position around messages.
 *
 * @type {(template: { before: string, after: string }, epoch: string) => (text: string | Uint8Array, offset: number) => string | Uint8Array}
 */
function stamper(template, epoch) {
  const [before, after] = [template.before, template.after].map((text) => text.replaceAll(EPOCH, epoch));
  return (text, offset) => {
    const start = before.replaceAll(OFFSET, String(offset));
    const end = after.replaceAll(OFFSET, String(offset));
    return typeof text === 'string' ? start + text + end : Buffer.concat([Buffer.from(start), text, Buffer.from(end)]);
  };
}

module.exports = { Ring };
