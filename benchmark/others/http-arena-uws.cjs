// uWebSockets.js as an entry of HttpArena would be: one process for each CPU, which share the port.
'use strict';

const cluster = require('node:cluster');
const { availableParallelism } = require('node:os');
const uWS = require(process.env.UWS_PATH);

if (cluster.isPrimary) {
  for (let i = 0; i < availableParallelism(); i++) cluster.fork();
  console.log('Application started.');
} else {
  const app = uWS.App();
  app.ws('/ws', { message: (socket, message, isBinary) => socket.send(message, isBinary) });
  app.any('/*', (response) => response.writeStatus('404 Not Found').end());
  app.listen(8080, () => {});
}
