// Own classes of connections, servers and requests.
import { IncomingMessage, createServer } from 'node:http';

import WebSocket, { ServerOptions, WebSocketServer } from 'ws';
import type { Server } from 'ws';

class Player extends WebSocket {
  name = 'nobody';

  greet(): void {
    this.send(`Hello ${this.name}`);
  }
}

class Authenticated extends IncomingMessage {
  user = 'somebody';
}

const options: ServerOptions<typeof Player> = { port: 0, WebSocket: Player };
const game = new WebSocketServer(options);
game.on('connection', (player) => player.greet());
game.once('connection', (player, request) => console.log(player.name.length, request.url));
game.addListener('connection', (player) => player.greet());
game.off('connection', (player) => player.greet());
game.clients.forEach((player) => player.greet());
for (const player of game.clients) player.name = 'somebody';
// @ts-expect-error No such member.
game.on('connection', (player) => player.other);
game.options.WebSocket === Player;

const http = createServer<typeof Authenticated>({ IncomingMessage: Authenticated });
const behind = new WebSocketServer<typeof Player, typeof Authenticated>({
  server: http,
  WebSocket: Player,
  verifyClient: (info: { req: Authenticated }) => info.req.user !== '',
  handleProtocols: (_protocols, request) => request.user,
});
behind.on('connection', (player, request) => console.log(player.name, request.user.length));
behind.on('headers', (headers, request) => headers.push(request.user));
behind.on('wsClientError', (_error, _socket, request) => console.log(request.user));
behind.shouldHandle = (request) => request.user === 'root';

export function upgrade(request: Authenticated, socket: import('node:stream').Duplex): void {
  behind.handleUpgrade(request, socket, Buffer.alloc(0), (player, same) => {
    player.greet();
    console.log(same.user);
    behind.emit('connection', player, same);
  });
}

export const kept: Server<typeof Player>[] = [game];
export const each = <T extends typeof WebSocket>(server: Server<T>, act: (ws: InstanceType<T>) => void) => server.clients.forEach(act);
each(game, (player) => player.greet());

/** Methods that are written as @types/ws declares them. */
export class Encoded extends WebSocket {
  override send(data: any, ...rest: any[]) {
    return super.send(JSON.stringify(data), ...(rest as [() => void]));
  }

  override ping(data?: any, mask?: boolean, callback?: (error: Error) => void): void {
    super.ping(data, mask, callback);
  }

  override close(code?: number, data?: string | Buffer): void {
    super.close(code, data);
  }

  override on(event: string | symbol, listener: (...args: any[]) => void): this {
    return super.on(event, listener);
  }
}

/** A stand-in for a connection in a test of an application. */
export const fake: Pick<WebSocket, 'send' | 'close' | 'readyState'> = { send: () => true, close() {}, readyState: 1 };

export class Rooms extends WebSocketServer {
  readonly rooms = new Map<string, Set<WebSocket>>();

  constructor(given?: ServerOptions) {
    super({ ...given, noServer: true });
  }

  override shouldHandle(request: IncomingMessage): boolean {
    return request.url !== '/';
  }
}
