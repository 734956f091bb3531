'use strict';

// TLS handshakes: decisions of the program, and events for it.

const { IN_HELLO, IN_SECURE } = require('../base/layout');
const { generationOf, protocolText, tailOf, tailText } = require('../connection/handshake-info');
const { Hello } = require('../tls/hello');
const { namesIn } = require('../tls/options');
const { failedSocket, beginPending } = require('./pending-tls');

/** @import { AnySocket, Server } from '../connection/state' */

/** For a HELLO, SECURE or TLS_ERROR record. @type {(server: Server, kind: number, slot: number, bytes: Buffer) => void} */
function onTls(server, kind, slot, bytes) {
  if (kind === IN_HELLO) {
    const hello = { slot, generation: generationOf(bytes, 0), servername: protocolText(bytes, 0), protocols: namesIn(tailOf(bytes, 0)) };
    /** @type {any} */
    const { settings } = server._tls;
    // Made now: when the callback answers, the memory of this record has others.
    const failed = failedSocket(server, bytes);
    new Hello(hello, settings, (error) => emit(server, 'tlsClientError', error, failed)).decide(server);
  } else if (kind === IN_SECURE) {
    const pending = beginPending(server, slot, bytes);
    if (pending.isReadable()) return emit(server, 'secureConnection', pending._socket);
    const failed = failedSocket(server, bytes);
    pending._socket.destroy();
    emitFailure('ERR_SSL_CERTIFICATE_VERIFY_FAILED', 'certificate verify failed (CERT_REJECTED)', server, failed);
  } else {
    emitFailure(protocolText(bytes, 0), tailText(bytes, 0), server, failedSocket(server, bytes));
  }
}

/** @type {(code: string, reason: string, server: Server, socket: AnySocket) => void} */
function emitFailure(code, reason, server, socket) {
  emit(server, 'tlsClientError', Object.assign(new Error(reason), { code, reason }), socket);
}

/** Also listeners of the stand-in for the server of Node. @type {(server: Server, event: string, ...args: unknown[]) => void} */
function emit(server, event, ...args) {
  server.emit(event, ...args);
  server._listener.emit(event, ...args);
}

module.exports = { onTls };
