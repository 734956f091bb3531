import WebSocket from './index.js';

export const { Server, WebSocketServer, subprotocol } = WebSocket;
export { WebSocket };
export default WebSocket;
