// The same for the class that is a member of itself.
import WebSocket = require('ws');

class OfMember extends WebSocket.WebSocket {
  label = 1;
}

const server: WebSocket.Server = new WebSocket.WebSocket.Server({ port: 0 });
export const ofModule: WebSocket.Server<typeof WebSocket> = server;
export const ofMember: WebSocket.Server<typeof WebSocket.WebSocket> = ofModule;
export const classes: Array<typeof WebSocket> = [WebSocket, WebSocket.WebSocket, WebSocket.WebSocket.WebSocket, OfMember];
export const options: WebSocket.ServerOptions<typeof WebSocket> = { WebSocket: OfMember } as WebSocket.ServerOptions;
const handle = function (this: WebSocket, data: WebSocket.RawData): void {
  this.send(data);
};
server.on('connection', (ws) => ws.on('message', handle));
new OfMember('ws://127.0.0.1:1/').on('message', handle);
export const sockets: Set<WebSocket> = server.clients;
