'use strict';

const {
  CLOSE_SENT,
  END_WAITS,
  ERROR_EMITTED,
  GONE,
  BUFFERING,
  ONE_BY_ONE,
  OWN_PONG,
  PAUSED,
  PEER_DONE,
  SENDS_WAIT,
  TERMINATED,
} = require('../base/bits');
const { inContext } = require('../base/async-context');
const { binaryTypeOf, convert } = require('./binary-type');
const { list } = require('./clients');
const { CLOSED, EMPTY_BUFFER, OPEN } = require('../base/constants');
const { limit } = require('../base/checks');
const { closed: reportClosed, emitMessage, failed: reportFailed } = require('../reactor/diagnostics');
const { payload, peek } = require('../reactor/batch');
const { currentBatch } = require('../reactor/dispatch');
const outbox = require('../reactor/outbox');
const { JUST_NOW, reportEnd } = require('../reactor/loop-turns');
const { closeArguments, connectionMoved, protocolError } = require('../base/errors');
const {
  ABNORMAL,
  AUX_SHIFT,
  CAUSE,
  CAUSES,
  FLAGS_SHIFT,
  IN_BINARY,
  IN_CLOSE,
  IN_CLOSED,
  IN_CLOSING,
  IN_DATA,
  IN_DRAIN,
  IN_END,
  IN_ERROR,
  IN_MOVED,
  IN_PING,
  IN_PONG,
  IN_SENT,
  IN_TEXT,
  KIND_MASK,
  NO_STATUS,
  OUT_ASK_END,
  OUT_END,
  OUT_HEAD,
  OUT_PAUSE,
  OUT_RESUME,
  PROTOCOL_ERRORS,
} = require('../base/layout');
const { log } = require('../base/log');
const { abandonSends, command, sent } = require('./enqueue');
const { onDrainRecord } = require('./backpressure');
const { Endpoint } = require('./endpoint');
const { RecordBuffer, causeOf, setCause, isCloseReceived, leaveTopics, startClosing, streamOf } = require('./state');
const { unref } = require('../reactor/lifetime');
const table = require('../reactor/table');
const { ended: endLeaves } = require('../reactor/defer-replies');

/** @import { ColdFields, WebSocket } from './state' */

/** @typedef {(ws: WebSocket, tag: number, offset: number, length: number) => void} TakeRecord */

/** @typedef {(ws: WebSocket, tag: number, data: Buffer) => void} TakeData */

/** Buffered records before the socket is no longer read. */
const MAX_BUFFERED = 1024;

/** Anything but a plain message. @type {TakeRecord} */
function onRecord(ws, tag, offset, length) {
  const kind = tag & KIND_MASK;
  if (kind === IN_SENT) sent(ws, length);
  else if (kind === IN_DRAIN) onDrainRecord(ws);
  else if (kind === IN_CLOSING) closing(ws);
  else if (kind === IN_CLOSED) closed(ws, tag);
  else if (kind === IN_MOVED) moved(ws);
  // On their way when a relayed connection became this WebSocket; none: that was all.
  else if (kind === IN_DATA) outbox.push(ws._slot, ws._generation, OUT_HEAD, length === 0 ? EMPTY_BUFFER : peek(tag, offset, length));
  // Reported during the handshake, and overtaken by its end: it comes again when everything before it has been read.
  else if (kind === IN_END && length !== 0) return;
  else if ((ws._bits & TERMINATED) === 0) onArrived(ws, tag, kind === IN_ERROR ? EMPTY_BUFFER : payload(tag, offset, length));
}

/** The data of an error that only waits for the next tick; terminate() does not revoke it. */
const DUE = Buffer.alloc(0);

/** A message, a control frame, or an error of the peer. @type {TakeData} */
function onArrived(ws, tag, data) {
  const kind = tag & KIND_MASK;
  // With nothing unread before it, the peer's end is reported even while paused.
  const isEnd = kind === IN_END && (ws._bits & BUFFERING) === 0;
  // In the next tick, as in ws, after ticks that a listener has asked for.
  const isLater = kind === IN_ERROR && (ws._bits & PAUSED) === 0;
  if (isLater && !mustBuffer(ws)) buffer(ws, tag, DUE);
  else if (isLater || (!isEnd && mustBuffer(ws))) buffer(ws, tag, data);
  else deliver(ws, tag, data);
}

/** @param {WebSocket} ws */
function mustBuffer(ws) {
  if ((ws._bits & (BUFFERING | ONE_BY_ONE)) !== 0) return true;
  // As in ws, messages from the same read as the one that paused are still delivered.
  return (ws._bits & PAUSED) !== 0 && ws._ensureExtra().pausedIn !== currentBatch();
}

/** @type {TakeData} */
function buffer(ws, tag, data) {
  const buffered = (ws._ensureExtra().buffered ??= new RecordBuffer());
  const count = buffered.records.push({ tag, data });
  if (count > MAX_BUFFERED && !buffered.isFull && (ws._bits & GONE) === 0) {
    buffered.isFull = true;
    if (log.enabled) log('connection %d: paused, %d messages wait', ws._order, count);
    command(ws, OUT_PAUSE);
  }
  if ((ws._bits & BUFFERING) !== 0) return;
  ws._bits |= BUFFERING;
  if ((ws._bits & PAUSED) === 0) scheduleNext(ws);
}

/** After resume(), and one by one without allowSynchronousEvents. @param {WebSocket} ws */
function deliverBuffered(ws) {
  const extra = /** @type {ColdFields} */ (ws._extra);
  const { buffered } = extra;
  // All were delivered after a handler had paused and resumed.
  if (buffered === null) return;
  if (buffered.isHeld) return void (buffered.isScheduled = false);
  const { records } = buffered;
  buffered.isScheduled = false;
  try {
    while (buffered.next < records.length && (ws._bits & PAUSED) === 0) {
      const { tag, data } = /** @type {{ tag: number, data: Buffer }} */ (records[buffered.next]);
      // Perhaps the last reference to the memory of its batch.
      records[buffered.next++] = undefined;
      ws._turn = JUST_NOW;
      deliver(ws, tag, data);
      if ((ws._bits & ONE_BY_ONE) !== 0 && isEvent(tag)) break;
    }
  } finally {
    if (buffered.next < records.length) {
      if ((ws._bits & PAUSED) === 0) scheduleNext(ws);
    } else if (extra.buffered === buffered) {
      extra.buffered = null;
      ws._bits &= ~BUFFERING;
      if (buffered.isFull && (ws._bits & (GONE | PAUSED)) === 0) command(ws, OUT_RESUME);
    }
  }
}

/** Delivers buffered records in the next tick, or, one by one, an event per turn of the event loop. @param {WebSocket} ws */
function scheduleNext(ws) {
  const buffered = ws._extra === null ? null : ws._extra.buffered;
  // None is left in the handler of the last one.
  const record = buffered?.records[buffered.next];
  if (!buffered || !record || buffered.isScheduled) return;
  buffered.isScheduled = true;
  if ((ws._bits & ONE_BY_ONE) !== 0 && isEvent(record.tag)) setImmediate(inContext, ws, deliverBuffered);
  else process.nextTick(inContext, ws, deliverBuffered);
}

/** @param {number} tag */
function isEvent(tag) {
  const kind = tag & KIND_MASK;
  return kind === IN_TEXT || kind === IN_BINARY || kind === IN_PING || kind === IN_PONG;
}

/** @type {TakeData} */
function deliver(ws, tag, data) {
  const kind = tag & KIND_MASK;
  if (kind === IN_CLOSED) finish(ws, (tag >>> FLAGS_SHIFT) & KIND_MASK);
  else if ((ws._bits & TERMINATED) !== 0 && data !== DUE) return;
  else if (kind === IN_TEXT) emitMessage(ws, data, false);
  else if (kind === IN_BINARY) emitMessage(ws, convert(binaryTypeOf(ws), data), true);
  else if (kind === IN_PING) pinged(ws, data);
  else if (kind === IN_PONG) ws.emit('pong', data);
  else if (kind === IN_END) peerEnded(ws, (tag >>> FLAGS_SHIFT) & KIND_MASK);
  else if (kind === IN_CLOSE) closeReceived(ws, tag >>> AUX_SHIFT, data);
  else if (kind === IN_ERROR) failed(ws, (tag >>> FLAGS_SHIFT) & KIND_MASK, tag >>> AUX_SHIFT);
}

/** The answer has the same code and reason. @type {(ws: WebSocket, code: number, reason: Buffer) => void} */
function closeReceived(ws, code, reason) {
  const extra = ws._ensureExtra();
  extra.closeCode = code;
  if (reason.length !== 0) {
    // A copy, so that no slab is kept.
    extra.closeMessage = Buffer.allocUnsafeSlow(reason.length);
    extra.closeMessage.set(reason);
  }
  peerDone(ws);
  if (extra.stream === null) endLeaves();
  if (code === NO_STATUS) ws.close();
  else ws.close(code, reason);
  extra.receiver?.emit('conclude', code, extra.closeMessage);
}

/** @type {(ws: WebSocket, data: Buffer) => void} */
function pinged(ws, data) {
  // Otherwise the reactor has answered.
  if ((ws._bits & OWN_PONG) !== 0 && ws._autoPong && ws.readyState === OPEN) answerPing(ws, data);
  ws.emit('ping', data);
}

/** @type {typeof pinged} */
function answerPing(ws, data) {
  const extra = ws._ensureExtra();
  const most = limit(ws._options.maxPendingAutoPongs);
  if (most > 0 && extra.pendingPongs >= most) {
    setCause(ws, CAUSE.TOO_MANY_PONGS);
    ws.terminate();
    return;
  }
  extra.pendingPongs++;
  ws.pong(data, !ws._isServer, () => extra.pendingPongs--);
}

/** Later bytes are read even while paused: the peer's end is after them. @param {WebSocket} ws */
function peerDone(ws) {
  ws._bits |= PEER_DONE;
  const stream = streamOf(ws);
  if (stream !== null) stream.stopReading();
  else if ((ws._bits & (PAUSED | GONE)) === PAUSED) command(ws, OUT_RESUME);
}

/**
 * The peer ended its side without a close frame. Frames that handlers send up to the end of this turn still leave; then
 * our side ends too.
 *
 * @type {(ws: WebSocket, cause: number) => void}
 */
function peerEnded(ws, cause) {
  // Any other cause is known at the end of our side.
  if (cause === CAUSE.RESET) setCause(ws, cause);
  // This is the second report, which the reactor was asked for.
  const isSecondReport = (ws._bits & END_WAITS) !== 0;
  ws._bits |= END_WAITS;
  reportEnd(isSecondReport ? ended : afterCallbacks, ws);
}

/** In Node, the callback of a send that the kernel takes is called in the same turn, and can send the answer. @param {WebSocket} ws */
function afterCallbacks(ws) {
  if ((ws._bits & (GONE | TERMINATED)) === 0 && streamOf(ws) === null && ws._extra?.callbacks?.length) command(ws, OUT_ASK_END);
  else ended(ws);
}

/** @param {WebSocket} ws */
function ended(ws) {
  if ((ws._bits & END_WAITS) === 0) return;
  ws._bits &= ~END_WAITS;
  if ((ws._bits & TERMINATED) !== 0) return;
  const wasOpen = ws._readyState === OPEN;
  startClosing(ws);
  command(ws, OUT_END);
  ws._extra?.socket?._onEnd();
  // Nothing else can arrive, so 'close' need not wait for the reactor.
  if (wasOpen && streamOf(ws) === null && isDone(ws)) inContext(ws, leave);
}

/** @param {WebSocket} ws */
function isDone(ws) {
  if ((ws._bits & (GONE | TERMINATED | BUFFERING | SENDS_WAIT)) !== 0) return false;
  // Published messages can still be under way to the reactor.
  if (ws._extra?.topics) return false;
  return !ws._extra?.callbacks?.length && ws.bufferedAmount === 0;
}

/** The reactor has nothing left to do. @param {WebSocket} ws */
function leave(ws) {
  ws._bits |= GONE;
  const rest = new Endpoint();
  rest._slot = ws._slot;
  table.place(ws._slot, rest);
  finish(ws, CAUSE.FIN);
}

/** @type {(ws: WebSocket, kind: number, detail: number) => void} */
function failed(ws, kind, detail) {
  peerDone(ws);
  if ((ws._bits & TERMINATED) === 0) ws.close(...closeArguments(kind));
  if ((ws._bits & ERROR_EMITTED) !== 0) return;
  ws._bits |= ERROR_EMITTED;
  setCause(ws, PROTOCOL_ERRORS[kind]?.cause ?? CAUSE.PROTOCOL_ERROR);
  ws._owner?._counts.broke(kind);
  const error = protocolError(kind, detail);
  ws.emit('error', reportFailed(ws, error));
}

/** The reactor closes the connection by itself. @param {WebSocket} ws */
function closing(ws) {
  if (ws._readyState !== OPEN) return;
  ws._bits |= CLOSE_SENT;
  startClosing(ws);
}

/**
 * The socket has closed. 'close' follows the buffered records: after resume(), if the program has paused the WebSocket
 * without closing it, or 'drain' being due.
 *
 * @type {(ws: WebSocket, tag: number) => void}
 */
function closed(ws, tag) {
  const stream = streamOf(ws);
  if (stream !== null) {
    if (stream.closed === 0) table.forget(ws._slot);
    if (!stream.isClosed(tag)) return;
    tag = stream.closed;
  }
  const mayWait = (ws._bits & TERMINATED) === 0;
  // It is a client of its server until 'close'.
  if (mayWait && ws._owner !== null && (ws._bits & BUFFERING) !== 0) list(ws._owner);
  if (stream === null) {
    table.forget(ws._slot);
    endLeaves();
  }
  ws._bits |= GONE;
  leaveTopics(ws);
  if (mayWait && (ws._bits & BUFFERING) !== 0) {
    // A program that waits for 'drain' would wait for ever.
    if (ws._readyState !== OPEN || ws._extra?.isDrainDue) ws._bits &= ~PAUSED;
    ws._extra?.buffered?.records.push({ tag, data: EMPTY_BUFFER });
    if ((ws._bits & PAUSED) === 0) scheduleNext(ws);
    abandonSends(ws);
  } else {
    finish(ws, (tag >>> FLAGS_SHIFT) & KIND_MASK);
  }
}

/** The connection belongs to another process: it has not closed. @param {WebSocket} ws */
function moved(ws) {
  table.forget(ws._slot);
  ws._bits = (ws._bits | GONE | TERMINATED) & ~(PAUSED | BUFFERING);
  leaveTopics(ws);
  ws._readyState = CLOSED;
  const extra = ws._ensureExtra();
  extra.buffered = null;
  extra.isMoved = true;
  if (!extra.socket?._unreferenced) unref();
  abandonSends(ws, connectionMoved());
  ws._owner?._closed(ws);
  try {
    ws.emit('handover');
  } finally {
    extra.socket?._onClosed();
  }
}

/** @type {(ws: WebSocket, cause: number) => void} */
function finish(ws, cause) {
  // The peer's close frame might have arrived too late, after terminate().
  setCause(ws, cause === CAUSE.CLOSED && !isCloseReceived(ws) ? CAUSE.TERMINATE : cause);
  ws._owner?._drain?.explain(ws);
  ended(ws);
  startClosing(ws);
  if (streamOf(ws) === null && !ws._extra?.socket?._unreferenced) unref();
  abandonSends(ws);
  ws._owner?._closed(ws);
  try {
    reportClosed(ws, ws._extra?.closeCode ?? ABNORMAL, ws._extra?.closeMessage ?? EMPTY_BUFFER, CAUSES[causeOf(ws)]);
    ws.emitClose();
  } finally {
    ws._extra?.socket?._onClosed();
  }
}

module.exports = { buffer, closed, finish, onRecord, scheduleNext };
