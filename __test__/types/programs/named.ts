// The named class stands where the default one is wanted, and the other way round.
import WebSocket, * as all from 'ws';
import type { Server, ServerOptions } from 'ws';

class OfDefault extends WebSocket {
  label = 1;
}

class OfNamed extends all.WebSocket {
  label = 1;
}

const make = <T extends typeof WebSocket>(Class: T): InstanceType<T> => new Class('ws://127.0.0.1:1/') as InstanceType<T>;
export const made: WebSocket[] = [make(WebSocket), make(all.WebSocket), make(OfDefault), make(OfNamed)];
export const labels: number[] = [make(OfDefault).label, make(OfNamed).label];
export const classes: Array<typeof WebSocket> = [WebSocket, all.WebSocket, OfDefault, OfNamed];
export const named: Array<typeof all.WebSocket> = [WebSocket, all.WebSocket, OfDefault, OfNamed];

const plain: Server = new all.WebSocketServer({ port: 0 });
export const ofDefault: Server<typeof WebSocket> = plain;
export const ofNamed: Server<typeof all.WebSocket> = ofDefault;
export const back: all.WebSocketServer = ofNamed;

const given: ServerOptions = { port: 0, WebSocket };
export const optionsOfDefault: ServerOptions<typeof WebSocket> = given;
export const optionsOfNamed: ServerOptions<typeof all.WebSocket> = optionsOfDefault;
export const same: ServerOptions = optionsOfNamed;
export const each: ServerOptions<typeof WebSocket>[] = [{ WebSocket: all.WebSocket }, { WebSocket: OfNamed }];
new all.WebSocketServer<typeof WebSocket>({ WebSocket: all.WebSocket }).on('connection', (ws: WebSocket) => ws.terminate());
