'use strict';

const { watchHooks } = require('./upgrade/hooks');
const { emitUpgrades } = require('./listen/http2');
const extension = require('./deflate/extension');
const { PerMessageDeflate } = require('./deflate/permessage-deflate');
const { Sender } = require('./compat/sender');
const { handleWith } = require('./reactor/diagnostics');
const Receiver = require('./receiver');
const { listen } = require('./listen');
const { createWebSocketStream } = require('./stream');
const subprotocol = require('./upgrade/subprotocol');
const { installServer } = require('./topics-install');
const WebSocket = require('./websocket');
const WebSocketServer = require('./websocket-server');

installServer(WebSocketServer.prototype);
// After the requires: tracers replace methods while those files load.
watchHooks(WebSocketServer.prototype);
handleWith(Receiver.prototype);

// The exports of ws: the class WebSocket with the others as properties.
module.exports = Object.assign(WebSocket, {
  PerMessageDeflate,
  Receiver,
  Sender,
  Server: WebSocketServer,
  WebSocket,
  WebSocketServer,
  createWebSocketStream,
  emitUpgrades,
  extension,
  listen,
  subprotocol,
});
