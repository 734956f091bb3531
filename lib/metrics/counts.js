'use strict';

const { peerOf } = require('../connection/address');
const { causeOf } = require('../connection/state');
const { log } = require('../base/log');
const { ABNORMAL, CAUSES, NO_STATUS, PROTOCOL_ERRORS, isValidStatusCode } = require('../base/layout');

/** @import { CloseCause } from '../../types/events' */
/** @import { WebSocket } from '../connection/state' */

/**
 * A WebSocket, or its handshake, which has no number.
 *
 * @typedef {{ _bits: number, _order?: number, _extra: { callbacks: unknown, closeCode?: number, isMoved?: boolean } | null }} Counted
 */

/** First of the codes that programs choose (RFC 6455, 7.4.2). */
const PRIVATE = 3000;

/** Codes of 'close' without a code, and without a close frame (RFC 6455, 7.4.1). */
const WITHOUT_CODE = [NO_STATUS, ABNORMAL];

/** Usual answers to handshakes. */
const STATUSES = [400, 401, 403, 404, 405, 426, 429, 431, 503];

/** Topics counted by name: peers can choose the names. */
const MAX_TOPICS = 20;

/** Characters of such a name. */
const MAX_NAME = 200;

const CODES = Array.from({ length: PRIVATE }, (_, code) => code).filter((code) => isValidStatusCode(code) || WITHOUT_CODE.includes(code));

/** For `metrics()`. All keys exist from the beginning. */
class Counts {
  constructor() {
    this.open = this.opened = 0;
    /** By the code of 'close', or 'other': a peer can choose any code. */
    this.closed = zeros([...CODES, 'other']);
    /** By `closeCause`. */
    this.ended = /** @type {Record<CloseCause, number>} */ (zeros(/** @type {CloseCause[]} */ (CAUSES.slice(1))));
    /** By the code of 'error'. */
    this.failed = zeros(PROTOCOL_ERRORS.flatMap((row) => row?.code ?? []));
    /** Refusals by JavaScript, by status; a program can choose others. */
    this.refused = zeros(STATUSES);
    /** Closed at once, as no descriptors were left. */
    this.exhausted = 0;
    /** Messages that slow members missed, by topic. @type {Record<string, number>} */
    this.dropped = Object.create(null);
  }

  /** @param {WebSocket} ws */
  began(ws) {
    this.open++;
    this.opened++;
    if (log.enabled) log('%s: open', nameOf(ws));
  }

  /** @param {Counted} connection */
  left(connection) {
    if (!(/** @type {number} */ (connection._order) > 0)) return;
    this.open--;
    if (connection._extra?.isMoved) return;
    const code = connection._extra?.closeCode ?? ABNORMAL;
    const cause = /** @type {CloseCause} */ (CAUSES[causeOf(connection)]);
    this.closed[code in this.closed ? code : 'other']++;
    this.ended[cause]++;
    if (log.enabled) log('%s: closed with %d, %s', nameOf(/** @type {WebSocket} */ (connection)), code, cause);
  }

  /** @param {number} kind */
  broke(kind) {
    const row = PROTOCOL_ERRORS[kind];
    if (row !== undefined) this.failed[row.code]++;
  }

  /** @type {(topic: string, count: number) => void} */
  lost(topic, count) {
    // Lone surrogates are the same in a text: two series of one name would make it invalid.
    let key = topic.length > MAX_NAME ? 'other' : Buffer.from(topic).toString();
    if (!(key in this.dropped) && Object.keys(this.dropped).length >= MAX_TOPICS) key = 'other';
    this.dropped[key] = (this.dropped[key] ?? 0) + count;
  }

  /** @param {number} status */
  refusedWith(status) {
    this.refused[status] = (this.refused[status] ?? 0) + 1;
    if (log.enabled) log('handshake: refused with %d', status);
  }
}

/** @type {(keys: Array<string | number>) => Record<string, number>} */
function zeros(keys) {
  return Object.fromEntries(keys.map((key) => [key, 0]));
}

/** @param {WebSocket} ws */
function nameOf(ws) {
  const { address, port } = peerOf(ws);
  return address === undefined ? `connection ${ws._order}` : `connection ${ws._order} of ${address} port ${port}`;
}

module.exports = { Counts };
