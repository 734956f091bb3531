// The server of y-websocket 3 is a package of its own.
import test from 'node:test';

import { docs, setupWSConnection } from '@y/websocket-server/utils';
import { WebsocketProvider } from 'y-websocket';
import { Doc } from 'yjs';

import { exerciseY } from '../helpers/documents.mjs';

test('y-websocket 3: two documents converge, and see each other come and go', (t) => exerciseY(t, { Doc, WebsocketProvider, docs, setupWSConnection }));
