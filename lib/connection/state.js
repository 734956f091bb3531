'use strict';

// A connection is CONNECTING until `open`, OPEN until `startClosing`, and CLOSING until 'close'. The program can make
// its socket TERMINATED at any time. At last it is GONE: before 'close', which follows messages that wait for
// `resume()`.

const { CAUSE_BITS, CAUSE_SHIFT } = require('../base/bits');
const { BINARY_TYPES, CLOSING, EMPTY_BUFFER, OPEN } = require('../base/constants');
const { ABNORMAL, HIGH_WATER_MARK } = require('../base/layout');
const { applyBinaryType } = require('./binary-type');

/** @import EventEmitter from 'node:events' */
/** @import { FifoOf } from '../base/fifo' */
/** @import { AnyTopic } from '../topics/topic' */

/** @typedef {InstanceType<typeof import('./endpoint').Endpoint>} Endpoint */

/** The owner of a slot. @typedef {Endpoint} Connection */

/** Null when the kernel has all of a send; an error when it never will. @typedef {(error: Error | null) => void} SentCallback */

/** @typedef {InstanceType<typeof import('../websocket')>} WebSocket */

/** @typedef {InstanceType<typeof import('../websocket-server')>} Server */

/** With the fields of its emitter. @typedef {Server & { _events: Record<string, Function | Function[] | undefined> }} Emitting */

/** @typedef {InstanceType<typeof import('../transport/pump').Pump>} StreamConnection */

/** With members that only a net.Socket has, and private ones. @typedef {import('node:stream').Duplex & Record<PropertyKey, any>} AnySocket */

/** @typedef {import('../../index').ServerOptions & import('../../index').ClientOptions} Settings */

/**
 * From `install` of private-fields.js; `_closeTimeout` in milliseconds. `_options`: of the server or the client, over the
 * defaults.
 *
 * @typedef {{ _extensions: Extensions, _autoPong: boolean, _closeTimeout: number, _isServer: boolean, _options: Settings, _protocol: string, _socket: unknown }} Fields
 */

/** By name: negotiated, and added by programs. @typedef {Record<string, any>} Extensions */

/** What `send()` takes. @typedef {import('../../types/sending').BufferLike} Data */

/** @typedef {import('../client/client').ClientHandshake} Client */

/** @typedef {InstanceType<typeof ColdState>} ColdFields */

/** A send after a Blob; gets an error if it can never leave. @typedef {{ send: (error?: Error) => void, size: number }} PendingSend */

/** Records to deliver later, while BUFFERING. */
class RecordBuffer {
  /** @type {Array<{ tag: number, data: Buffer } | undefined>} */
  records = [];
  /** Index of the next record. */
  next = 0;
  isScheduled = false;
  /** Too many: the socket is not read. */
  isFull = false;
  /** They are on their way to another process. */
  isHeld = false;
}

/**
 * The topics of a connection. `leave()` leaves all of them and joins no other. `lost()` reports that `count` messages were
 * dropped, `passed()` that the messages from offset `from` to offset `to` will never arrive.
 *
 * @typedef {{ leave(): void, lost(topic: AnyTopic, count: number): void, passed(topic: AnyTopic, from: number, to: number): void }} Membership
 */

/** Made on first use: an idle WebSocket takes as much memory as its fields, and few connections need these. */
class ColdState {
  constructor() {
    /** Callbacks of sends that the kernel does not have yet, oldest first. @type {FifoOf<SentCallback> | null} */
    this.callbacks = null;
    /** @type {RecordBuffer | null} */
    this.buffered = null;
    /** A batch. */
    this.pausedIn = -1;
    /** Over a stream of Node. @type {StreamConnection | null} */
    this.stream = null;
    /** @type {Extensions | null} */
    this.extensions = null;
    /** @type {Client | null} */
    this.client = null;
    this.binaryType = BINARY_TYPES[0];
    /** From the peer's close frame, which never says ABNORMAL. */
    this.closeCode = ABNORMAL;
    this.closeMessage = EMPTY_BUFFER;
    /** Stand-ins for `_socket`, `_receiver` and `_sender`. @type {AnySocket | null} */
    this.socket = null;
    /** @type {EventEmitter | null} */
    this.receiver = null;
    /** @type {unknown} */
    this.sender = null;
    /** @type {PendingSend[] | null} */
    this.pendingSends = null;
    /** Bytes of sends after OPEN, and of Blobs being read. */
    this.lateBytes = 0;
    /** There is room while fewer bytes have been accepted. */
    this.roomUntil = HIGH_WATER_MARK;
    /** @type {import('node:async_hooks').AsyncResource | null} */
    this.context = null;
    /** send() has returned false, without 'drain' since. */
    this.isDrainDue = false;
    /** An empty write is under way that reports when it has left. */
    this.isMarked = false;
    /** Pongs that have not left. */
    this.pendingPongs = 0;
    /** @type {Membership | null} */
    this.topics = null;
    /** The protocol of topics has messages of it that it has not handled. */
    this.isBusy = false;
    /** Goes to the next process. @type {import('../handover/attachment').Packed | null} */
    this.attachment = null;
    /** The same, if the reactor has it and all else that goes there; undefined if not. @type {import('../handover/attachment').Packed | null | undefined} */
    this.attached = undefined;
    /** To the next process. */
    this.isMoved = false;
  }

  /** Keeps these fields out of the JSON of a WebSocket: some refer to it. */
  toJSON() {}
}

/** Null if the reactor has the socket. @type {(ws: Connection) => StreamConnection | null} */
function streamOf(ws) {
  return ws._extra === null ? null : ws._extra.stream;
}

/** @param {WebSocket} ws */
function isCloseReceived(ws) {
  return ws._extra !== null && ws._extra.closeCode !== ABNORMAL;
}

/** The first cause counts. @type {(ws: { _bits: number }, cause: number) => void} */
function setCause(ws, cause) {
  if ((ws._bits & CAUSE_BITS) === 0) ws._bits |= cause << CAUSE_SHIFT;
}

/** One of CAUSE; 0: none known. @param {{ _bits: number }} ws */
function causeOf(ws) {
  return (ws._bits & CAUSE_BITS) >>> CAUSE_SHIFT;
}

/** It leaves CONNECTING. @param {WebSocket} ws */
function open(ws) {
  applyBinaryType(ws);
  ws._readyState = OPEN;
}

/** It leaves OPEN, and CLOSING when it emits 'close'. Nothing is sent to it any more. @param {WebSocket} ws */
function startClosing(ws) {
  ws._readyState = CLOSING;
  leaveTopics(ws);
}

/** @param {WebSocket} ws */
function leaveTopics(ws) {
  if (ws._extra !== null && ws._extra.topics !== null) ws._extra.topics.leave();
}

module.exports = { ColdState, RecordBuffer, causeOf, setCause, isCloseReceived, leaveTopics, open, startClosing, streamOf };
