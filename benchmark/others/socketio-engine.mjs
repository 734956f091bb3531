// Imported before the programs of benchmarks of Socket.IO: gives its server the engine that WS_ENGINE names, as `wsEngine` would
// in `new Server(http, { wsEngine })`, and with "rooms" the adapter of `reactor-ws/socket.io`. A server that a client's program starts
// goes back to the CPU of servers.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { hrtime } from 'node:process';

const { SERVER_CPU, WS_ENGINE } = process.env;
if (/\/(socketio\/server|server-default|server-uws)\.js$/.test(process.argv[1])) {
  if (SERVER_CPU) spawnSync('taskset', ['-a', '-p', '-c', SERVER_CPU, `${process.pid}`]);
  const { Server } = createRequire(process.argv[1])('socket.io');
  const { bind, initEngine } = Server.prototype;
  let io;
  Server.prototype.bind = function (engine) {
    io = this;
    return bind.call(this, engine);
  };
  if (WS_ENGINE.startsWith('reactor-ws')) {
    const { WebSocketServer } = await import('../../lib/index.mjs');
    const { reactorAdapter } = createRequire(import.meta.url)('../../lib/socket.io.js');
    Server.prototype.initEngine = function (server, options) {
      if (WS_ENGINE.endsWith('rooms')) this.adapter(reactorAdapter());
      return initEngine.call(this, server, { ...options, wsEngine: WebSocketServer });
    };
  }
  process.on('message', (message) => {
    if (message === 'cpu') {
      const { system, user } = process.cpuUsage();
      process.send?.(system + user);
    } else if (message === 'no collections') {
      globalThis.gc = () => {};
    } else {
      broadcast(io, message);
    }
  });
  // The channel does not keep the process alive.
  process.channel?.unref();
}

function broadcast(io, { count, milliseconds, bytes }) {
  const text = 'x'.repeat(bytes);
  const timer = setInterval(() => {
    io.emit('news', Number(hrtime.bigint()) / 1e6, text);
    if (--count === 0) clearInterval(timer);
  }, milliseconds);
}
