'use strict';

const { randomBytes } = require('node:crypto');

/** 8 characters that need no escape in JSON or a URL, and are no colon. */
const BYTES = 6;

/** For a history that begins. */
function newEpoch() {
  return randomBytes(BYTES).toString('base64url');
}

module.exports = { newEpoch };
