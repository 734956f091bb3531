// Functions that were written for @types/ws take our servers and sockets.
import { IncomingMessage } from 'node:http';
import { WebSocket, WebSocketServer } from 'reactor-ws';
import type * as Theirs from 'ws';

class Own extends WebSocket {
  room = '';
}

declare function takeServer(server: import('ws').WebSocketServer): void;
declare function takeClasses(server: Theirs.Server<typeof Theirs.WebSocket, typeof IncomingMessage>): void;
declare function takeAny<Server extends Theirs.Server<any, any>>(server: Server): Server;
declare function infer<Class extends typeof Theirs.WebSocket>(server: Theirs.Server<Class>): void;
declare function takeOptions(options: Theirs.ServerOptions): void;
declare function takeSocket(socket: import('ws').WebSocket, headers?: unknown): void;
declare function takeSockets(sockets: Iterable<Theirs.WebSocket>): void;
declare function make(options: { create?: (options: Theirs.ServerOptions) => Theirs.WebSocketServer }): void;
declare function connect(Class: new (url: string) => Theirs.WebSocket): void;

const server = new WebSocketServer({ port: 0 });
takeServer(server);
takeClasses(server);
takeAny(server);
infer(server);
takeOptions(server.options);
takeSockets(server.clients);
server.on('connection', (socket, { headers }) => void takeSocket(socket, headers));

const special = new WebSocketServer({ noServer: true, WebSocket: Own });
takeServer(special);
takeAny(special).on('connection', (socket: Own) => socket.room);
special.on('connection', takeSocket);

const client = new WebSocket('ws://localhost');
takeSocket(client);
connect(WebSocket);
make({ create: (options) => new WebSocketServer({ ...options, WebSocket }) });

// What is set is typed, and what is read fits @types/ws.
client.binaryType = 'blob';
client.onmessage = ({ data, target }) => target.send(data);
export const form: Theirs.WebSocket['binaryType'] = client.binaryType;
