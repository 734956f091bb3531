// ws, with bufferutil: ws uses it by itself when it is installed, the import makes its absence an error.
import 'bufferutil';
import { WebSocketServer } from 'ws';
import { serve } from './contract.mjs';

serve(WebSocketServer);
