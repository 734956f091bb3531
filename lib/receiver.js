'use strict';

// Under the name of ws, where tracers look for it to replace `on`.

const { Receiver } = require('./compat/receiver');

module.exports = Receiver;
