'use strict';

// Connections of a reactor for the program's HTTP server. The server gets the socket itself, or the reactor
// relays bytes. Bytes that the reactor has read come first, unchanged.

const { closeSync } = require('node:fs');
const net = require('node:net');

const { formatAddress } = require('../connection/address');
const { state } = require('../reactor/reactors');
const { Relay } = require('../sockets/relayed-socket');
const { Endpoint } = require('../connection/endpoint');
const { tailOf } = require('../connection/handshake-info');
const { optionsFor } = require('./http-option');
const { upgradesOf } = require('./routes');
const { IN_FLAG_SOCKET } = require('../base/layout');

/** @import { AnySocket, Server } from '../connection/state' */

/** The result for a connection that is relayed, or has died on the way. */
const NOTHING = { fd: -1, waiting: undefined };

/** The payload of the record is at `start`. @type {(wss: Server, slot: number, tag: number, bytes: Buffer, start: number) => void} */
function handOff(wss, slot, tag, bytes, start) {
  /** @type {any} */
  const { http } = wss.options;
  const isRelayed = (tag & IN_FLAG_SOCKET) === 0;
  // Before anything that can throw: the next connection of the slot would get it.
  const { fd, waiting } = (isRelayed ? null : state.native.takeSocket(slot)) ?? NOTHING;
  // With a later request of a pipeline, else a server that closes now would take the connection for an idle one.
  const read = waiting === undefined ? tailOf(bytes, start) : Buffer.concat([tailOf(bytes, start), waiting]);
  const options = optionsFor(http, wss._tls);
  const socket = isRelayed ? new Relay(wss, slot, bytes, start, read.length, options.highWaterMark)._socket : socketOf(fd, options, read);
  if (socket === null) return;
  wss._handover?.remains.add(socket);
  if (wss.options.proxyProtocol) showPeer(socket, new Endpoint()._read(slot, bytes, start, {}));
  upgradesOf(http).give(socket, read);
  wss._handover?.remains.watch(socket);
}

/** Null if it has died on the way. @type {(fd: number, options: ReturnType<typeof optionsFor>, read: Buffer) => AnySocket | null} */
function socketOf(fd, options, { length }) {
  if (fd === -1) return null;
  try {
    /** @type {AnySocket} */
    const socket = new net.Socket({ ...options, fd, readable: true, writable: true });
    const { _handle: handle } = socket;
    // For `bytesRead` of the socket, also after its end.
    Object.defineProperty(handle, 'bytesRead', { get: () => length + Reflect.get(Object.getPrototypeOf(handle), 'bytesRead', handle) });
    return socket;
  } catch {
    // Dead, or of no kind that Node knows.
    closeSync(fd);
    return null;
  }
}

/** The address that a proxy has named. @type {(socket: AnySocket, peer: InstanceType<typeof Endpoint>) => void} */
function showPeer(socket, { _remote: remote, _remotePort: port }) {
  const address = formatAddress(remote);
  if (address === socket.remoteAddress && port === socket.remotePort) return;
  const shown = { remoteAddress: address, remoteFamily: net.isIPv6(String(address)) ? 'IPv6' : 'IPv4', remotePort: port };
  for (const [name, value] of Object.entries(shown)) Object.defineProperty(socket, name, { configurable: true, enumerable: true, value });
}

module.exports = { handOff };
