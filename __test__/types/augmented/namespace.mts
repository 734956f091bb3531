// An ES module finds the types in the namespace of the named class, and adds members to them there.
import Default, { WebSocket } from 'ws';

declare module 'ws' {
  namespace WebSocket {
    interface ClientOptions {
      tenant?: string;
    }
    interface ServerOptions {
      shard?: number;
    }
  }
}

const options: WebSocket.ClientOptions = { tenant: 'a' };
export const kept: Default.ServerOptions<typeof Default> = { shard: 1 };
new WebSocket('ws://127.0.0.1:1/', options).on('message', (data: WebSocket.RawData) => console.log(data));
export const main: Default = new Default('ws://127.0.0.1:1/', { tenant: 'b' });
main.onclose = (event: WebSocket.CloseEvent) => console.log(event.code);
