'use strict';

// Topics, and positions of those with history. The reactors have the messages; the count is here, for the calls of
// `publish()` make the order of a topic.

const { randomBytes } = require('node:crypto');

const { SLOW } = require('../base/layout');

/** @import { Position } from '../../types/topics' */
/** @import { Settings } from './settings' */

/** Bytes of randomness: 8 characters that need no escape in JSON or in a URL. */
const EPOCH_BYTES = 6;

/** @typedef {Topic} AnyTopic */

/** A topic, as long as it has subscribers or a history. */
class Topic {
  /** @param {string} name @param {Readonly<Settings>} settings */
  constructor(name, settings) {
    this.name = name;
    this.settings = settings;
    /** The number by which the reactors know the topic; 0 until they do. */
    this.number = 0;
    /** The number of subscribers. */
    this.size = 0;
    /** Of its history, if it has one. It differs each time: a position of a history that is lost recovers nothing. */
    this.epoch = settings.history === 0 ? null : randomBytes(EPOCH_BYTES).toString('base64url');
    /** Offset of the last message with a position; the first has 1. */
    this.offset = 0;
    /** The time at which that was published, by `Date.now()`. */
    this.publishedAt = Date.now();
    /** Whether the reactor of the streams knows it, if there is another one: for a history, or from its first member there on. */
    this.isForStreams = this.epoch !== null;
    /** Messages so far; of their copies, how many were dropped, and how many were in gaps. */
    this.published = 0;
    this.dropped = 0;
    this.missed = 0;
  }

  /** Of the last message; null without a history. @returns {Position | null} */
  get position() {
    return this.epoch === null ? null : { epoch: this.epoch, offset: this.offset };
  }

  /** @returns {boolean} Whether the reactors may report that something was dropped, or is missing */
  get reports() {
    return this.settings.slow !== SLOW.queue;
  }
}

module.exports = { Topic };
