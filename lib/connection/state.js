'use strict';

const { BINARY_TYPES, CLOSING, EMPTY_BUFFER } = require('../constants');
const { ABNORMAL, HIGH_WATER_MARK } = require('../reactor/layout');

/** @import { AsyncResource } from 'node:async_hooks' */
/** @import EventEmitter from 'node:events' */
/** @import { Holder } from '../reactor/table' */
/** @import { AnyMember } from '../topics/stream-member' */
/** @import { AnyTopic } from '../topics/topic' */

/**
 * A connection that can be sent to: a WebSocket, or the handshake before there is one. The stand-in
 * for its socket gets everything from it.
 *
 * @typedef {object} Sending
 * @property {number} _generation Which of the connections that its slot has had
 * @property {number} _accepted Bytes of frames, and of raw writes, that the reactor was
 *   given
 * @property {{ callbacks: SentCallback[] | null } | null} _extra Callbacks of sends; null if
 *   there are none
 * @property {() => { callbacks: SentCallback[] | null }} _ensureExtra The same, made if need be
 * @property {number | string} _local Address of this side, as `Peer` of compat/socket.js keeps it
 * @property {number} _localPort Port of this side
 * @property {number | string} _remote Address of the peer, as `_local`
 * @property {number} _remotePort Port of the peer
 * @property {number} bufferedAmount Bytes that wait to be sent
 * @property {boolean} isPaused Whether `pause()` was called last
 * @property {() => void} pause Stops reading
 * @property {() => void} resume Goes on reading
 * @property {() => void} _destroy Closes the socket at once
 */

/** @typedef {Holder & Sending} Connection */

/**
 * The callback of a send: gets null when the kernel has all of it, an error when it never will.
 *
 * @typedef {(error: Error | null) => void} SentCallback
 */

/** @typedef {InstanceType<typeof import('../websocket')>} WebSocket */

/**
 * A server, whose emitter's own fields are read.
 *
 * @typedef {Server & { _events: Record<string, Function | Function[] | undefined> }} Emitting
 */

/** @typedef {InstanceType<typeof import('../websocket-server')>} Server */

/**
 * @typedef {InstanceType<typeof import('../duplex/connection').StreamConnection>} StreamConnection
 */

/**
 * The socket of a request: any Duplex. Members that only a net.Socket has, or that are private, are
 * looked for.
 *
 * @typedef {import('node:stream').Duplex & Record<PropertyKey, any>} AnySocket
 */

/** @typedef {import('../../index').ServerOptions & import('../../index').ClientOptions} Settings */

/**
 * The members that `install` of common.js and of private-fields.js adds to a WebSocket, as far as
 * this package uses it.
 *
 * @typedef {object} Fields
 * @property {Settings} _options The options of the server over the defaults, or those of the client
 * @property {Server | null} _owner The server, or null
 * @property {string} _protocol
 * @property {Extensions} _extensions The negotiated ones by name
 * @property {boolean} _autoPong
 * @property {number} _closeTimeout Milliseconds
 * @property {boolean} _isServer
 * @property {unknown} _socket
 * @property {number | string} _local Address of this side, as `Peer` keeps it
 * @property {number} _localPort
 */

/**
 * The negotiated extensions by name: instances of PerMessageDeflate, and extensions that programs
 * add.
 *
 * @typedef {Record<string, any>} Extensions
 */

/** What `send()` takes. @typedef {import('../../types/sending').BufferLike} Data */

/** @typedef {import('../client/client').ClientHandshake} Client */

/** @typedef {InstanceType<typeof Extra>} ExtraFields */

/**
 * A record of a connection that waits for its turn to be delivered.
 *
 * @typedef {object} Held
 * @property {number} tag kind | flags << 8 | aux << 16
 * @property {Buffer} data Its payload
 */

/**
 * The part of a connection in topics.
 *
 * @typedef {object} Membership
 * @property {() => void} leave Leaves all topics, and joins no other
 * @property {(member: AnyMember) => void} wait A member waits for `drained`
 * @property {() => void} drained The bytes that waited for its stream have left, or are compressed
 * @property {(topic: AnyTopic, count: number) => void} lost It missed this many messages
 * @property {(topic: AnyTopic, from: number, to: number) => void} passed It never gets the messages
 *   with these offsets
 */

/**
 * Fields that few connections need, made on first use: an idle WebSocket takes as much memory as
 * its fields.
 */
class Extra {
  constructor() {
    /**
     * Callbacks of sends that are not in the kernel yet, the oldest first.
     *
     * @type {SentCallback[] | null}
     */
    this.callbacks = null;
    /** Records that wait. @type {Array<Held | undefined> | null} */
    this.held = null;
    /** Index of the next record to deliver. */
    this.heldNext = 0;
    /** Whether the call that delivers it is scheduled. */
    this.scheduled = false;
    /** Whether the socket is not read because too many records wait. */
    this.throttled = false;
    /** The batch in which pause() was called. */
    this.pausedIn = -1;
    /** The connection over a stream of Node. @type {StreamConnection | null} */
    this.stream = null;
    /** The negotiated extensions by name. @type {Extensions | null} */
    this.extensions = null;
    /** The handshake of a client. @type {Client | null} */
    this.client = null;
    this.binaryType = BINARY_TYPES[0];
    /** Code and reason of the peer's close frame. */
    this.closeCode = ABNORMAL;
    this.closeMessage = EMPTY_BUFFER;
    /** The stand-in for `_socket`. @type {AnySocket | null} */
    this.socket = null;
    /** The stand-in for `_receiver`. @type {EventEmitter | null} */
    this.receiver = null;
    /** The stand-in for `_sender`. @type {unknown} */
    this.sender = null;
    /**
     * Sends that wait for a Blob.
     *
     * @type {Array<{ send: (error?: Error) => void, size: number }> | null}
     */
    this.waiting = null;
    /** Bytes given to send() after the connection left OPEN, and bytes of Blobs being read. */
    this.lateBytes = 0;
    /**
     * There is room while fewer bytes than this have been accepted: what the kernel had taken at
     * the last look, and HIGH_WATER_MARK.
     */
    this.roomUntil = HIGH_WATER_MARK;
    /** The async context of its events. @type {AsyncResource | null} */
    this.context = null;
    /** Whether send() has returned false and 'drain' has not come since. */
    this.isDrainDue = false;
    /** Whether a record is under way that reports when it has left. */
    this.isMarked = false;
    /** Answers to pings that have not left. */
    this.pendingPongs = 0;
    /** @type {Membership | null} */
    this.topics = null;
  }

  /** Leaves these fields out of the JSON of a WebSocket, to which some of them refer. */
  toJSON() {}
}

/**
 * @param {WebSocket} ws One whose STREAM bit is set
 * @returns {StreamConnection} Its `_extra.stream`
 */
function streamOf(ws) {
  return /** @type {{ stream: StreamConnection }} */ (ws._extra).stream;
}

/**
 * The connection leaves OPEN: nothing is sent to it any more.
 *
 * @param {WebSocket} ws A WebSocket that is about to close
 */
function startClosing(ws) {
  ws._readyState = CLOSING;
  leaveTopics(ws);
}

/** @param {WebSocket} ws A WebSocket that is no member from now on */
function leaveTopics(ws) {
  if (ws._extra !== null && ws._extra.topics !== null) ws._extra.topics.leave();
}

module.exports = { Extra, leaveTopics, startClosing, streamOf };
