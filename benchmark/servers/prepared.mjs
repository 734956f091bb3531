// reactor-ws, which prepares messages for many connections: the same program as ws.mjs.
import { WebSocketServer, prepare } from '../../lib/index.mjs';
import { serve } from './contract.mjs';

serve(WebSocketServer, { prepare });
