'use strict';

const { CLOSING, FastBuffer, OPEN, OUT_END } = require('./constants');
const { ERROR_EMITTED, GONE, SENDS_WAIT, TERMINATED } = require('./inbound');
const { post } = require('./outgoing');
const outbox = require('./outbox');

/**
 * Reads a Blob and sends it; whatever is sent meanwhile waits for it.
 *
 * @param {any} ws
 * @param {number} tag
 * @param {Blob} blob
 * @param {any} callback
 */
function sendBlob(ws, tag, blob, callback) {
  const extra = ws._ensureExtra();
  const { size } = blob;
  ws._bits |= SENDS_WAIT;
  extra.lateBytes += size;
  blob.arrayBuffer().then(
    (bytes) => {
      if ((ws._bits & (GONE | TERMINATED)) !== 0) {
        const error = new Error('The socket was closed while the blob was being read');
        process.nextTick(abandon, extra, callback, error);
        return;
      }
      extra.lateBytes -= size;
      ws._bits &= ~SENDS_WAIT;
      post(ws, tag, new FastBuffer(bytes), callback);
      sendWaiting(ws);
    },
    (error) => process.nextTick(unreadable, ws, callback, error),
  );
}

/**
 * @param {any} ws
 * @param {(error?: Error) => void} send Sends now; gets an error instead when it never will be
 */
function sendLater(ws, send) {
  const extra = ws._ensureExtra();
  if (extra.waiting === null) extra.waiting = [];
  extra.waiting.push(send);
}

/** @param {any} ws */
function sendWaiting(ws) {
  const { waiting } = ws._ensureExtra();
  while (waiting !== null && waiting.length !== 0 && (ws._bits & SENDS_WAIT) === 0) waiting.shift()();
}

/**
 * @param {any} extra
 * @param {any} callback
 * @param {Error} error
 */
function abandon(extra, callback, error) {
  if (typeof callback === 'function') callback(error);
  for (const send of extra.waiting === null ? [] : extra.waiting.splice(0)) send(error);
}

/**
 * The Blob could not be read: the connection cannot go on in order.
 *
 * @param {any} ws
 * @param {any} callback
 * @param {Error} error
 */
function unreadable(ws, callback, error) {
  abandon(ws._ensureExtra(), callback, error);
  if ((ws._bits & GONE) !== 0) return;
  if (ws._readyState === OPEN) ws._readyState = CLOSING;
  outbox.pushEmpty(ws._slot, ws._generation, OUT_END);
  if ((ws._bits & ERROR_EMITTED) !== 0) return;
  ws._bits |= ERROR_EMITTED;
  ws.emit('error', error);
}

module.exports = { sendBlob, sendLater };
