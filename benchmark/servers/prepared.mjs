// reactor-ws, which makes messages ready that many connections get: the same program as ws.mjs.
import { WebSocketServer, prepare } from '../../lib/index.mjs';
import { serve } from './contract.mjs';

serve(WebSocketServer, { prepare });
