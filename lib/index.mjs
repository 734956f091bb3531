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
  prepare,
  subprotocol,
} = WebSocket;
export { WebSocket };
export default WebSocket;
