'use strict';

const net = require('node:net');

const { ADDERS } = require('../base/emitter');
const { prototypeOf } = require('./tls-socket');

/** @import { AnySocket, WebSocket } from '../connection/state' */

/** Fields that a Socket keeps of a net.Socket: its listeners, and its place in the server's count. */
const KEPT = ['_events', '_eventsCount', '_maxListeners', '_server', 'server'];

/** Everything else that Node has put into a net.Socket. The prototype of a Socket has values for what can be seen of it. */
const LEFT = [...Reflect.ownKeys(new net.Socket()), '_closeAfterHandlingError', '_paused', '_peername', '_sockname', 'parser', 'setEncoding', 'timeout'].filter((key) => !KEPT.includes(String(key)));

/**
 * Turns a net.Socket of a reactor's connection, adopted or relayed, into the Socket of its WebSocket: the same
 * object, with its listeners and its place in the server's count. `early`: bytes from before the reactor reads;
 * `answered`: bytes from before the WebSocket writes.
 *
 * @type {(socket: AnySocket, ws: WebSocket, early: number, answered: number) => void}
 */
function become(socket, ws, early, answered) {
  const { _handle: handle, remoteAddress: address, remoteFamily: family, remotePort: port } = socket;
  socket.setTimeout(0);
  const adopted = { _early: early, _answered: answered, _peer: { address, family, port }, _here: socket.address() };
  // Before any is deleted: then all sockets share a layout, which saves V8 a slow look-up at each later access.
  Object.setPrototypeOf(socket, prototypeOf(ws));
  // The HTTP server has put methods on the socket that detach its parser when a listener is added.
  for (const name of ADDERS) {
    const own = Object.hasOwn(socket, name) ? socket[name] : null;
    if (own?.name === 'socketListenerWrap' || own === Reflect.get(net.Socket.prototype, name)) delete socket[name];
  }
  for (const key of LEFT) delete socket[key];
  if (socket._maxListeners === undefined) delete socket._maxListeners;
  Object.assign(socket, adopted);
  ws._adopt(socket);
  // A relayed socket has no handle.
  if (handle) {
    if (typeof handle.hasRef === 'function' && !handle.hasRef()) socket.unref();
    // The reactor has its own descriptor.
    handle.close();
  }
  // An error of `destroy(error)` is not the WebSocket's.
  socket.on('error', () => {});
}

module.exports = { become };
