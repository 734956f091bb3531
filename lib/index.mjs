import WebSocket from './index.js';

export const {
  PerMessageDeflate,
  Receiver,
  Sender,
  Server,
  WebSocketServer,
  createWebSocketStream,
  emitUpgrades,
  extension,
  listen,
  subprotocol,
} = WebSocket;
export { WebSocket };
export default WebSocket;
