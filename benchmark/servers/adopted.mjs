// reactor-ws behind an HTTP server of Node, whose sockets it adopts: the same program as ws.mjs.
import { createServer } from 'node:http';

import { WebSocketServer } from '../../lib/index.mjs';
import { serve, silence } from './contract.mjs';

const http = createServer();
serve(WebSocketServer, { http, own: { idleTimeout: silence } });
http.listen(0, '127.0.0.1');
