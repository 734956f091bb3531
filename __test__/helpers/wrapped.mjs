// Sockets that look like any other stream, so that JavaScript reads and writes them.
import { Duplex } from 'node:stream';

/** A stream over a socket that is only a Duplex. */
export class Wrapped extends Duplex {
  #socket;

  constructor(socket) {
    super();
    this.#socket = socket;
    socket.on('data', (chunk) => this.push(chunk) || socket.pause());
    socket.on('end', () => this.push(null));
    socket.on('close', () => this.destroy(socket.errored));
    socket.on('error', () => {});
  }

  _read() {
    this.#socket.resume();
  }

  _write(chunk, encoding, callback) {
    this.#socket.write(chunk, encoding, callback);
  }

  _writev(chunks, callback) {
    this.#socket.cork();
    for (const { chunk } of chunks.slice(0, -1)) this.#socket.write(chunk);
    this.#socket.write(chunks.at(-1).chunk, callback);
    this.#socket.uncork();
  }

  _final(callback) {
    this.#socket.end(callback);
  }

  _destroy(error, callback) {
    this.#socket.destroy();
    callback(error);
  }
}

/** Makes the upgrades of a WebSocketServer behind an HTTP server come with a mere Duplex. */
export function wrapUpgrades(wss) {
  wss.handleUpgrade = function wrapped(request, socket, head, callback) {
    Object.getPrototypeOf(this).handleUpgrade.call(this, request, new Wrapped(socket), head, callback);
  };
  return wss;
}
