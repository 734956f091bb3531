'use strict';

// Under the name of ws, where tracers look for it: they replace `on` of the class, to have their
// own listener of 'message'.

const { Receiver } = require('./compat/receiver');

module.exports = Receiver;
