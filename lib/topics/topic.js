'use strict';

const { Ring } = require('./ring');
const { SLOW } = require('./settings');

/** @import { WebSocket } from '../connection/state' */
/** @import { Settings } from './settings' */

/** Number of the next topic that needs one of its own; 0 is none. */
let last = 0;
/** Numbers that can be used again. @type {number[]} */
const free = [];

/** Topics that the reactors report on, by number. @type {Map<number, Topic>} */
const reporting = new Map();

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
    this.ring = settings.history === 0 ? null : new Ring(settings);
    /** Whether the reactor of the streams knows it, if there is another one: for a history, or from its first member there on. */
    this.isForStreams = this.ring !== null;
    /** Messages so far; of their copies, how many were dropped, and how many were in gaps. */
    this.published = 0;
    this.dropped = 0;
    this.missed = 0;
  }

  /** @returns {boolean} Whether the reactors may report that something was dropped, or is missing */
  get reports() {
    return this.settings.slow !== SLOW.queue;
  }

  /** Gives it a number. */
  enlist() {
    this.number = free.pop() ?? next();
    if (this.reports) reporting.set(this.number, this);
  }

  /** The reactors forget it. If they report on it, its number is in use until `forgetReports`. */
  strike() {
    if (!this.reports) free.push(this.number);
    this.number = 0;
  }
}

function next() {
  if (last === 2 ** 32 - 1) throw new RangeError('There are no more numbers for topics');
  return ++last;
}

/** @param {number} number The number of a topic on which no report comes any more */
function forgetReports(number) {
  reporting.delete(number);
  free.push(number);
}

/** Undefined: the topic is forgotten. @type {(number: number) => Topic | undefined} */
function reportingTopic(number) {
  return reporting.get(number);
}

module.exports = { Topic, forgetReports, reportingTopic };
