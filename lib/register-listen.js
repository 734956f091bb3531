'use strict';

// `node --import reactor-ws/register-listen`: as reactor-ws/register, and HTTP servers listen on ports of the reactors.

require('./register');
require('./register/listen');
