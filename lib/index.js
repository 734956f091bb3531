'use strict';

const extension = require('./extension');
const { PerMessageDeflate } = require('./permessage-deflate');
const { prepare } = require('./prepared');
const { Receiver } = require('./receiver');
const { Sender } = require('./sender');
const { createWebSocketStream } = require('./stream');
const subprotocol = require('./subprotocol');
const { WebSocket } = require('./websocket');
const { WebSocketServer } = require('./websocket-server');

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
