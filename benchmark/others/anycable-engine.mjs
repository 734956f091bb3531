// Imported before the programs of AnyCable's benchmarks: gives Socket.IO's server the engine that WS_ENGINE names, as `wsEngine` would
// in `new Server(http, { wsEngine })`. A server that a client's program starts goes back to the CPU of servers.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const { SERVER_CPU, WS_ENGINE } = process.env;
if (process.argv[1].endsWith('/socketio/server.js')) {
  if (SERVER_CPU) spawnSync('taskset', ['-a', '-p', '-c', SERVER_CPU, `${process.pid}`]);
  const { Server } = createRequire(process.argv[1])('socket.io');
  if (WS_ENGINE === 'reactor-ws') {
    const { WebSocketServer } = await import('../../lib/index.mjs');
    const { initEngine } = Server.prototype;
    Server.prototype.initEngine = function (server, options) {
      return initEngine.call(this, server, { ...options, wsEngine: WebSocketServer });
    };
  }
  process.on('message', () => {
    const { system, user } = process.cpuUsage();
    process.send?.(system + user);
  });
  // The channel does not keep the process alive.
  process.channel?.unref();
}
