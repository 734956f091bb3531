'use strict';

const { randomBytes } = require('node:crypto');

/** Names a history. 8 characters that need no escape in JSON or a URL, and are no colon. */
function newEpoch() {
  return randomBytes(6).toString('base64url');
}

module.exports = { newEpoch };
