'use strict';

const net = require('node:net');

const { prototypeOf } = require('./tls-socket');

/** @import { AnySocket, WebSocket } from '../connection/state' */

/** What a Socket keeps of a net.Socket: its listeners, and its place in the server's count. */
const KEPT = ['_events', '_eventsCount', '_maxListeners', '_server', 'server'];

/** Everything else that Node has put into a net.Socket. The prototype of a Socket has values for what can be seen of it. */
const LEFT = [...Reflect.ownKeys(new net.Socket()), '_closeAfterHandlingError', '_paused', '_peername', '_sockname', 'parser', 'setEncoding', 'timeout'].filter((key) => !KEPT.includes(String(key)));

/** An error of `destroy(error)` is not the WebSocket's. */
const ignore = () => {};

/**
 * Turns a net.Socket whose connection a reactor has, adopted or relayed, into the Socket of its WebSocket: the same
 * object, with its listeners and its place in the server's count. `early`: bytes from before the reactor reads;
 * `answered`: bytes from before the WebSocket writes.
 *
 * @type {(socket: AnySocket & net.Socket, ws: WebSocket, early: number, answered: number) => void}
 */
function become(socket, ws, early, answered) {
  const { _handle: handle, remoteAddress: address, remoteFamily: family, remotePort: port } = socket;
  socket.setTimeout(0);
  const adopted = { _owner: ws, _early: early, _answered: answered, _peer: { address, family, port }, _here: socket.address() };
  forgetParser(socket);
  for (const key of LEFT) delete socket[key];
  if (socket._maxListeners === undefined) delete socket._maxListeners;
  Object.setPrototypeOf(Object.assign(socket, adopted), prototypeOf(ws));
  /** @type {AnySocket} */ (socket)._awaitFrames();
  // A relayed one has no handle.
  if (handle) {
    if (typeof handle.hasRef === 'function' && !handle.hasRef()) socket.unref();
    // The reactor has its own descriptor.
    handle.close();
  }
  socket.on('error', ignore);
}

/** Removes methods that the HTTP server has put on the socket: they detach its parser when a listener is added. @param {AnySocket} socket */
function forgetParser(socket) {
  for (const name of ['on', 'addListener', 'prependListener']) {
    const own = Object.hasOwn(socket, name) ? socket[name] : null;
    if (own?.name === 'socketListenerWrap' || own === /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (net.Socket.prototype))[name]) delete socket[name];
  }
}

module.exports = { become };
