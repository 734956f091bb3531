'use strict';

/** @type {new (memory: ArrayBufferLike, start?: number, length?: number) => Buffer} */
const FastBuffer = Reflect.get(Buffer, Symbol.species);

module.exports = {
  CONNECTING: 0,
  OPEN: 1,
  CLOSING: 2,
  CLOSED: 3,
  READY_STATES: ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'],

  // Slot and generation of a WebSocket without a connection in the reactor, which never assigns them.
  NO_SLOT: -1,
  NO_GENERATION: 0,

  /** Key, on a socket of a handshake that JavaScript decides for a reactor: its `Upgrade`. */
  kUpgrade: Symbol('upgrade'),
  /** Key, on a socket of an HTTP server and a session of HTTP/2: the server of its port, if connections can move to another process. */
  kPort: Symbol('port'),
  /** Key, on such a socket: its session of HTTP/2. */
  kSession: Symbol('session'),
  /** Key, on a socket and on the stand-in for `_receiver`: its WebSocket. */
  kWebSocket: Symbol('websocket'),
  /** Key, on an error: the close code of the answer. */
  kStatusCode: Symbol('status-code'),

  /** The only empty Buffer: empty messages and close reasons are this object, as in ws. */
  EMPTY_BUFFER: Buffer.alloc(0),
  /** `Buffer` without its argument checks: `new FastBuffer(arrayBuffer, byteOffset, length)`. */
  FastBuffer,
  BINARY_TYPES: ['nodebuffer', 'arraybuffer', 'fragments', 'blob'],
};
