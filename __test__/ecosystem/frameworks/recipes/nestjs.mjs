// Adapters of NestJS whose servers are ours: app.useWebSocketAdapter(new ReactorWsAdapter(app)).

import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { WebSocketServer } from 'reactor-ws';

export class ReactorWsAdapter extends WsAdapter {
  create(port, { path, ...options } = {}) {
    const isShared = port === 0; // on the port of the application
    const server = new WebSocketServer({ ...options, ...(isShared ? { noServer: true } : { port, path }) });
    if (isShared) {
      this.ensureHttpServerExists(port, this.httpServer);
      this.addWsServerToRegistry(server, port, path);
    }
    return this.bindErrorHandler(server);
  }
}

export class ReactorIoAdapter extends IoAdapter {
  createIOServer(port, options) {
    return super.createIOServer(port, { ...options, wsEngine: WebSocketServer });
  }
}
