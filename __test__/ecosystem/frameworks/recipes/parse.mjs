// Live queries of Parse on our server: `wssAdapter: ReactorAdapter` in the options of the live query server.

import { WebSocketServer } from 'reactor-ws';

export class ReactorAdapter {
  constructor(options) {
    this.options = options;
  }

  start() {
    this.server = new WebSocketServer({ server: this.options.server });
    this.server.on('listening', this.onListen).on('connection', this.onConnection).on('error', this.onError);
  }

  close() {
    this.server.close();
  }
}
