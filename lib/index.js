'use strict';

const { watchHooks } = require('./handshake/asking');
const extension = require('./handshake/extension');
const { PerMessageDeflate } = require('./deflate/permessage-deflate');
const { prepare } = require('./connection/prepared');
const { Sender } = require('./compat/sender');
const { handleWith } = require('./reactor/diagnostics');
const Receiver = require('./receiver');
const { createWebSocketStream } = require('./stream');
const subprotocol = require('./handshake/subprotocol');
const { installServer } = require('./topics/install');
const WebSocket = require('./websocket');
const WebSocketServer = require('./websocket-server');

installServer(WebSocketServer.prototype);
// Behind tracers, which replace methods as each of these files is loaded.
watchHooks(WebSocketServer.prototype);
handleWith(Receiver.prototype);

// The names and the shape of ws: the class WebSocket that carries the others.
module.exports = Object.assign(WebSocket, {
  PerMessageDeflate,
  Receiver,
  Sender,
  Server: WebSocketServer,
  WebSocket,
  WebSocketServer,
  createWebSocketStream,
  extension,
  prepare,
  subprotocol,
});
