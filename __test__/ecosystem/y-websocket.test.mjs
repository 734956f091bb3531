import { createRequire } from 'node:module';
import test from 'node:test';

import { exerciseY } from './helpers/documents.mjs';

// Its server is CommonJS, and there must be only one Yjs.
const require = createRequire(import.meta.url);
const { WebsocketProvider } = require('y-websocket');
const { docs, setupWSConnection } = require('y-websocket/bin/utils');
const { Doc } = require('yjs');

test('y-websocket: two documents converge, and see each other come and go', (t) => exerciseY(t, { Doc, WebsocketProvider, docs, setupWSConnection }));
