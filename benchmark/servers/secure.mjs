// reactor-ws with TLS of its own: the same program as ws.mjs, whose TLS is that of node:https.
import { cert, key } from '../../__test__/helpers/certificate.mjs';
import { WebSocketServer } from '../../lib/index.mjs';
import { serve, silence } from './contract.mjs';

serve(WebSocketServer, { own: { idleTimeout: silence, tls: { cert, key } } });
