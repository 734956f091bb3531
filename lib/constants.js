'use strict';

// ws has this file: tracers look in it for the symbol that leads from a Receiver to its WebSocket.

module.exports = require('./base/constants');
