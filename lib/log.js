'use strict';

const { debuglog } = require('node:util');

/** What `NODE_DEBUG=reactor-ws` prints: handshakes, ends and pauses, nothing for each message. */
const log = debuglog('reactor-ws');

module.exports = { log };
