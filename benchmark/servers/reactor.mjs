// reactor-ws: the same program as ws.mjs.
import { WebSocketServer } from '../../lib/index.mjs';
import { serve, silence } from './contract.mjs';

serve(WebSocketServer, { own: { idleTimeout: silence } });
