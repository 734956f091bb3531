/**
 * For the option `adapter` of Socket.IO, beside `wsEngine: WebSocketServer` of this package: rooms are topics, so that JavaScript makes
 * one call for a broadcast.
 *
 * @param inner The adapter that carries broadcasts to other nodes, such as `createAdapter()` of `@socket.io/redis-adapter`. Default: the
 * one that Socket.IO has without this option
 * @throws {TypeError} If `inner` is no function
 */
export function reactorAdapter(inner?: ((nsp: any) => any) | (new (nsp: any) => any)): (nsp: any) => any;
