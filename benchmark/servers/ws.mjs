// ws, with bufferutil: ws uses it by itself when it is installed, the
// import makes its absence an error.
import 'bufferutil';
import { WebSocketServer } from 'ws';
import { serve, silence } from './contract.mjs';

/**
 * ws has no time limit of its own: programs set that of the socket,
 * whose timer reads and writes restart.
 */
class Watched extends WebSocketServer {
  /** @param {import('ws').ServerOptions} options */
  constructor(options) {
    super(options);
    this.on('connection', (ws, request) => request.socket.setTimeout(silence, () => ws.terminate()));
  }
}

serve(silence ? Watched : WebSocketServer);
