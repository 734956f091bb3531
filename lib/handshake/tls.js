'use strict';

// Of handshakes of TLS: what the program decides, and what it is told.

const { IN_HELLO, IN_SECURE, OPENED_GENERATION } = require('../base/layout');
const { Hello } = require('../tls/hello');
const { headOf, protocolText } = require('./request');
const { failedSocket, secure } = require('./secured');

/** @import { AnySocket, Server } from '../connection/state' */
/** @import { ReactorTls } from '../tls/listener' */

/** For a HELLO, SECURE or TLS_ERROR record. @type {(server: Server, kind: number, slot: number, bytes: Buffer) => void} */
function onTls(server, kind, slot, bytes) {
  if (kind === IN_HELLO) {
    const hello = { slot, generation: bytes.readUInt32LE(OPENED_GENERATION), servername: protocolText(bytes, 0), protocols: protocolsIn(headOf(bytes, 0)) };
    const { settings } = /** @type {InstanceType<typeof ReactorTls>} */ (server._tls);
    new Hello(hello, settings, (error) => tell(server, 'tlsClientError', error, failedSocket(server, bytes))).ask(server);
  } else if (kind === IN_SECURE) {
    tell(server, 'secureConnection', secure(server, slot, bytes).socket);
  } else {
    const [code, reason] = [protocolText(bytes, 0), headOf(bytes, 0).toString('latin1')];
    tell(server, 'tlsClientError', Object.assign(new Error(reason), { code, reason }), failedSocket(server, bytes));
  }
}

/** Also listeners of the stand-in for the server of Node. @type {(server: Server, event: string, ...args: unknown[]) => void} */
function tell(server, event, ...args) {
  server.emit(event, ...args);
  server._listener.emit(event, ...args);
}

/** Each after its length. @param {Buffer} bytes */
function protocolsIn(bytes) {
  const protocols = [];
  for (let at = 0; at < bytes.length; at += 1 + bytes[at]) protocols.push(bytes.toString('latin1', at + 1, at + 1 + bytes[at]));
  return protocols;
}

module.exports = { onTls };
