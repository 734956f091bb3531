'use strict';

// The reactors have the messages. Offsets are counted here, as the order of `publish()` calls is the order of a topic.

const { newEpoch } = require('../base/epoch');
const { SLOW } = require('../base/layout');
const { SharedHistory } = require('../nodes/shared-history');
const records = require('./records');

/** @import { Position } from '../../types/topics' */

/** @typedef {Topic} AnyTopic */

/** Exists while it has subscribers or a history. */
class Topic {
  /**
   * `clusterNode`: null without an adapter. `onEmptied`: of a topic without a name, which is in no list.
   *
   * @param {string} name
   * @param {Readonly<import('./settings').Settings>} settings
   * @param {import('../nodes/node').ThisNode | null} [clusterNode]
   * @param {(() => void) | null} [onEmptied]
   */
  constructor(name, settings, clusterNode = null, onEmptied = null) {
    this.name = name;
    this.settings = settings;
    this.onEmptied = onEmptied;
    /** In the reactors; 0 until they know it. */
    this.number = 0;
    /** Subscribers. */
    this.size = 0;
    /** Epoch of its history, if any. A new one each time: a position in a lost history recovers nothing. */
    this.epoch = settings.history === 0 ? null : newEpoch();
    /** Earlier epochs of the same history, and their last offsets. @type {Position[]} */
    this.earlier = [];
    /** Whether other nodes publish in it, too. */
    this.isRemote = clusterNode !== null;
    /** The history that all nodes share, if there is one: its positions are the broker's. */
    this.shared = this.epoch !== null && clusterNode?.hasHistory ? new SharedHistory(this, clusterNode) : null;
    // Not known yet.
    if (this.shared !== null) this.epoch = '';
    /** By node: the number of its last message. @type {Map<number, number> | null} */
    this.latest = null;
    /** Offset of the last message with a position; the first has 1. */
    this.offset = 0;
    /** When that was published, by the clock of `performance.now()`. */
    this.publishedAt = performance.now();
    /** Whether a separate reactor of streams knows it: for a history, or from its first member there on. */
    this.isForStreams = this.epoch !== null;
  }

  /** Whether a position is of this history, as far as this node knows it. @param {Position} since */
  has({ epoch, offset }) {
    if (epoch === this.epoch) return offset <= this.offset;
    return this.earlier.some((one) => one.epoch === epoch && offset <= one.offset);
  }

  /** Position of the last message; null without a history, and before the broker's first answer. @returns {Position | null} */
  get position() {
    return this.epoch ? { epoch: this.epoch, offset: this.offset } : null;
  }

  /** Goes on after a position; in another epoch, earlier positions recover nothing. @type {(epoch: string | null, offset: number) => void} */
  restart(epoch, offset) {
    const isSame = epoch !== null && epoch === this.epoch;
    this.epoch = epoch;
    this.offset = offset;
    records.restart(this, isSame);
  }

  /** Messages of other nodes are missing in its own history, if it has one. */
  renew() {
    this.restart(this.epoch === null ? null : newEpoch(), this.offset);
  }

  /** Whether the reactors can report dropped or missing messages. */
  get reports() {
    return this.isRemote || this.settings.slow !== SLOW.queue;
  }
}

module.exports = { Topic };
