'use strict';

const { published } = require('../connection/pressure');
const { Ring } = require('./ring');
const { SLOW } = require('./settings');
const { Table, partOfNumber } = require('./table');

/** @import { WebSocket } from '../connection/state' */
/** @import { Settings } from './settings' */
/** @import { AnyMember } from './stream-member' */
/** @import { AnyTable } from './table' */

/** Number of the next topic that needs one of its own; 0 is none. */
let last = 0;
/**
 * Numbers that can be used again. An array of a million takes 8 ms to grow, in the middle of a turn,
 * so they are in parts.
 */
const free = /** @type {number[][]} */ ([[]]);
/** The most numbers of a part. */
const PART = 4096;

/** Topics that the reactors report on, by number. @type {AnyTable<number, Topic>} */
const reporting = new Table(partOfNumber);

/** @typedef {Topic} AnyTopic */

/** A topic, as long as it has subscribers or a history. */
class Topic {
  /**
   * @param {string} name Name of the topic
   * @param {Readonly<Settings>} settings Its settings
   */
  constructor(name, settings) {
    this.name = name;
    this.settings = settings;
    /** The number by which the reactors know the topic; 0 until they do. */
    this.number = 0;
    /** The number of subscribers with connections of the reactors. */
    this.members = 0;
    /** The other subscribers. @type {Map<WebSocket, AnyMember> | null} */
    this.streams = null;
    this.ring = settings.history === 0 ? null : new Ring(settings);
    /** Bytes of frames that the reactors have been given so far, for each member. */
    this.bytes = 0;
    /** Messages so far; of their copies, how many were dropped, and how many were in gaps. */
    this.published = 0;
    this.dropped = 0;
    this.missed = 0;
  }

  /** @returns {number} Subscribers */
  get size() {
    return this.streams === null ? this.members : this.members + this.streams.size;
  }

  /**
   * @returns {boolean} Whether the reactors may report that something was dropped, or is missing
   */
  get reports() {
    return this.settings.slow !== SLOW.queue;
  }

  /**
   * @param {number} bytes Length of the frame that the reactors were given
   * @param {WebSocket[]} others Members that the frame is not for
   */
  gave(bytes, others) {
    this.bytes += bytes;
    published.bytes += bytes;
    for (const ws of others) if (ws._extra?.topics) ws._extra.topics.heard -= bytes;
  }

  /** Gives it a number. */
  enlist() {
    this.number = takeFree() ?? next();
    if (this.reports) reporting.add(this.number, this);
  }

  /** The reactors forget it. If they report on it, its number is in use until `forgetReports`. */
  strike() {
    if (!this.reports) giveBack(this.number);
    this.number = 0;
  }
}

/** @returns {number | undefined} A number that can be used again; undefined: there is none */
function takeFree() {
  const part = free[free.length - 1];
  const number = part.pop();
  if (part.length === 0 && free.length > 1) free.pop();
  return number;
}

/** @param {number} number A number that no topic has any more */
function giveBack(number) {
  const part = free[free.length - 1];
  if (part.length < PART) part.push(number);
  else free.push([number]);
}

function next() {
  if (last === 2 ** 32 - 1) throw new RangeError('There are no more numbers for topics');
  return ++last;
}

/** @param {number} number The number of a topic on which no report comes any more */
function forgetReports(number) {
  reporting.delete(number);
  giveBack(number);
}

/**
 * @param {number} number The number in a report
 * @returns {Topic | undefined} undefined: the topic is forgotten
 */
function reportingTopic(number) {
  return reporting.get(number);
}

module.exports = { Topic, forgetReports, reportingTopic };
