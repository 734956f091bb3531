// reactor-ws with TLS of its own: the same program as ws.mjs, whose TLS is that of node:https.
import { WebSocketServer } from '../../lib/index.mjs';
import { identity, serve, silence } from './contract.mjs';

serve(WebSocketServer, { own: { idleTimeout: silence, tls: identity } });
