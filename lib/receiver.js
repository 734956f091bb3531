'use strict';

// ws has this file: tracers replace `on` of the class.

const { Receiver } = require('./compat/receiver');

module.exports = Receiver;
