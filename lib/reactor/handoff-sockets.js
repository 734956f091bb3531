'use strict';

// Sockets that a reactor has handed off. Each waits until its record is delivered.

const { closeSync } = require('node:fs');

const { IN_FLAG_SOCKET } = require('../base/layout');
const { state } = require('./link');

/** Its descriptor, which the caller must close; -1: none. @param {number} slot */
function takeSocket(slot) {
  return state.native.takeSocket(slot);
}

/** Closes a socket without a taker: its server is gone, or its record is lost. @type {(slot: number, tag: number) => void} */
function discard(slot, tag) {
  if ((tag & IN_FLAG_SOCKET) === 0) return;
  const fd = takeSocket(slot);
  if (fd !== -1) closeSync(fd);
}

module.exports = { discard, takeSocket };
