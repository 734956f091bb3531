// reactor-ws behind an HTTP server of Node, whose sockets it adopts: the same program as ws.mjs.
import { createServer } from 'node:http';

import { WebSocketServer } from '../../lib/index.mjs';
import { serve } from './contract.mjs';

const http = createServer();
serve(WebSocketServer, http);
http.listen(0, '127.0.0.1');
