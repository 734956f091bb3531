// The ports of this process on which clients speak TLS.
import tls from 'node:tls';

import { cert } from './certificate.mjs';

const ports = new Set();

/** Until the end of the test: a later server may get the port, and speak plain text. */
export function expectTls(t, port) {
  ports.add(port);
  t.teardown(() => ports.delete(port));
}

/** `ws:` or `wss:`. */
export function schemeOf(port) {
  return ports.has(Number(port)) ? 'wss:' : 'ws:';
}

/** A class of clients that trust the servers on these ports, and speak TLS to them whatever the address says. */
export function trusting(Client) {
  return class extends Client {
    constructor(address, protocols, options) {
      const isNamed = typeof protocols === 'string' || Array.isArray(protocols);
      const [names, rest] = isNamed ? [protocols, options] : [[], protocols ?? options];
      // null: the program gives it a stream.
      const { hostname, pathname, port, search } = address === null ? {} : new URL(String(address));
      if (!ports.has(Number(port))) super(...[address, protocols, options].slice(0, options === undefined ? (protocols === undefined ? 1 : 2) : 3));
      else super(`wss://${hostname}:${port}${pathname}${search}`, names, { ca: cert, ...rest });
    }
  };
}

/** The socket for the bytes of a client: that of the system, or TLS on it. */
export async function wrapped(socket, port) {
  if (!ports.has(port)) return socket;
  const secure = tls.connect({ socket, ca: cert, servername: 'localhost', allowHalfOpen: true });
  await new Promise((resolve) => {
    // Who is refused is closed.
    secure.on('secureConnect', resolve).on('close', resolve).on('error', () => {});
  });
  return secure;
}
