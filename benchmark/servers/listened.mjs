// reactor-ws on an HTTP server of Node whose port is the reactor's, by listen(): the same program as adopted.mjs.
import { createServer } from 'node:http';

import { WebSocketServer, listen } from '../../lib/index.mjs';
import { listening, serve, silence } from './contract.mjs';

const http = createServer();
serve(WebSocketServer, { http, own: { idleTimeout: silence } });
const port = listen(http, { port: 0, host: '127.0.0.1' }, () => listening(port.address().port));
