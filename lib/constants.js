'use strict';

// Under the name of ws, where tracers look for the symbol that a Receiver has for its WebSocket.

module.exports = require('./base/constants');
