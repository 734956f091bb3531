'use strict';

// A connection is CONNECTING until `open`, OPEN until `startClosing`, and CLOSING until it emits 'close'. Its socket may
// be TERMINATED by the program in any of these, and is GONE at last: before 'close', which comes after the messages that
// wait for `resume()`.

const { CAUSE_BITS, CAUSE_SHIFT } = require('../base/bits');
const { BINARY_TYPES, CLOSING, EMPTY_BUFFER, OPEN } = require('../base/constants');
const { ABNORMAL, HIGH_WATER_MARK } = require('../base/layout');
const { heedBinaryType } = require('./binary-type');

/** @import { AsyncResource } from 'node:async_hooks' */
/** @import EventEmitter from 'node:events' */
/** @import { Holder } from '../reactor/table' */
/** @import { AnyTopic } from '../topics/topic' */

/**
 * A WebSocket, or the handshake before there is one. The stand-in for its socket gets everything from it.
 *
 * @typedef {object} Sending
 * @property {number} _generation Which of the connections that its slot has had
 * @property {number} _accepted Bytes of frames, and of raw writes, that the reactor was given
 * @property {Sent | null} _extra
 * @property {() => Sent} _ensureExtra The same, made if need be
 * @property {number | string} _local Address of this side, as `Peer` of handshake/request.js keeps it
 * @property {number} _localPort
 * @property {number | string} _remote As `_local`
 * @property {number} _remotePort
 * @property {number} bufferedAmount
 * @property {boolean} isPaused
 * @property {() => void} pause
 * @property {() => void} resume
 * @property {() => void} _destroy Closes the socket at once
 */

/** @typedef {Pick<ExtraFields, 'callbacks' | 'stream'>} Sent */

/** @typedef {Holder & Sending} Connection */

/** Called with null when the kernel has all of a send, with an error when it never will. @typedef {(error: Error | null) => void} SentCallback */

/** @typedef {InstanceType<typeof import('../websocket')>} WebSocket */

/** @typedef {InstanceType<typeof import('../websocket-server')>} Server */

/** A server, whose emitter's own fields are read. @typedef {Server & { _events: Record<string, Function | Function[] | undefined> }} Emitting */

/** @typedef {InstanceType<typeof import('../duplex/pump').Pump>} StreamConnection */

/** Members that only a net.Socket has, or that are private, are looked for. @typedef {import('node:stream').Duplex & Record<PropertyKey, any>} AnySocket */

/** @typedef {import('../../index').ServerOptions & import('../../index').ClientOptions} Settings */

/**
 * Members that `install` of private-fields.js adds to a WebSocket.
 *
 * @typedef {object} Fields
 * @property {Extensions} _extensions
 * @property {boolean} _autoPong
 * @property {number} _closeTimeout Milliseconds
 * @property {boolean} _isServer
 * @property {unknown} _socket
 */

/** The negotiated extensions by name, and those that programs add. @typedef {Record<string, any>} Extensions */

/** What `send()` takes. @typedef {import('../../types/sending').BufferLike} Data */

/** @typedef {import('../client/client').ClientHandshake} Client */

/** @typedef {InstanceType<typeof Extra>} ExtraFields */

/** A send that waits for a Blob; it gets an error if it can never leave. @typedef {{ send: (error?: Error) => void, size: number }} Waiting */

/** Records that wait for their turn to be delivered: while HOLDING. */
class Held {
  /** @type {Array<{ tag: number, data: Buffer } | undefined>} */
  records = [];
  /** Index of the next one to deliver. */
  next = 0;
  isScheduled = false;
  /** Too many of them: the socket is not read. */
  isFull = false;
}

/**
 * The part of a connection in topics.
 *
 * @typedef {object} Membership
 * @property {() => void} leave Leaves all topics, and joins no other
 * @property {(topic: AnyTopic, count: number) => void} lost It missed this many messages
 * @property {(topic: AnyTopic, from: number, to: number) => void} passed It never gets the messages
 *   with these offsets
 */

/** Fields that few connections need, made on first use: an idle WebSocket takes as much memory as its fields. */
class Extra {
  constructor() {
    /** Of sends that are not in the kernel yet, the oldest first. @type {SentCallback[] | null} */
    this.callbacks = null;
    /** @type {Held | null} */
    this.held = null;
    /** A batch. */
    this.pausedIn = -1;
    /** Of a connection over a stream of Node. @type {StreamConnection | null} */
    this.stream = null;
    /** @type {Extensions | null} */
    this.extensions = null;
    /** @type {Client | null} */
    this.client = null;
    this.binaryType = BINARY_TYPES[0];
    /** Of the peer's close frame, which never says ABNORMAL. */
    this.closeCode = ABNORMAL;
    this.closeMessage = EMPTY_BUFFER;
    /** Stand-ins for `_socket`, `_receiver` and `_sender`. @type {AnySocket | null} */
    this.socket = null;
    /** @type {EventEmitter | null} */
    this.receiver = null;
    /** @type {unknown} */
    this.sender = null;
    /** @type {Waiting[] | null} */
    this.waiting = null;
    /** Bytes given to send() after the connection left OPEN, and bytes of Blobs being read. */
    this.lateBytes = 0;
    /** There is room while fewer bytes than this have been accepted. */
    this.roomUntil = HIGH_WATER_MARK;
    /** @type {AsyncResource | null} */
    this.context = null;
    /** send() has returned false, and 'drain' has not come since. */
    this.isDrainDue = false;
    /** A record is under way that reports when it has left. */
    this.isMarked = false;
    /** Answers to pings that have not left. */
    this.pendingPongs = 0;
    /** @type {Membership | null} */
    this.topics = null;
  }

  /** Leaves these fields out of the JSON of a WebSocket, to which some of them refer. */
  toJSON() {}
}

/** Null for a connection whose socket the reactor has. @type {(ws: Connection) => StreamConnection | null} */
function streamOf(ws) {
  return ws._extra === null ? null : ws._extra.stream;
}

/** Whether the peer's close frame has come. @type {(ws: WebSocket) => boolean} */
function isCloseReceived(ws) {
  return ws._extra !== null && ws._extra.closeCode !== ABNORMAL;
}

/** The connection ends for this reason, unless another came first. @type {(ws: { _bits: number }, cause: number) => void} */
function endsBy(ws, cause) {
  if ((ws._bits & CAUSE_BITS) === 0) ws._bits |= cause << CAUSE_SHIFT;
}

/** One of CAUSE; 0 while none is known. @type {(ws: { _bits: number }) => number} */
function causeOf(ws) {
  return (ws._bits & CAUSE_BITS) >>> CAUSE_SHIFT;
}

/** It leaves CONNECTING. @type {(ws: WebSocket) => void} */
function open(ws) {
  heedBinaryType(ws);
  ws._readyState = OPEN;
}

/** It leaves OPEN: nothing is sent to it any more. It leaves CLOSING when it emits 'close'. @type {(ws: WebSocket) => void} */
function startClosing(ws) {
  ws._readyState = CLOSING;
  leaveTopics(ws);
}

/** @param {WebSocket} ws */
function leaveTopics(ws) {
  if (ws._extra !== null && ws._extra.topics !== null) ws._extra.topics.leave();
}

module.exports = { Extra, Held, causeOf, endsBy, isCloseReceived, leaveTopics, open, startClosing, streamOf };
