'use strict';

const subprotocol = require('./subprotocol');
const { WebSocket } = require('./websocket');
const { WebSocketServer } = require('./websocket-server');

// The names and the shape of ws: the class WebSocket that carries the others.
module.exports = Object.assign(WebSocket, {
  Server: WebSocketServer,
  WebSocket,
  WebSocketServer,
  subprotocol,
});
