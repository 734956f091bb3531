import test from 'node:test';

import { Room, Server } from '@colyseus/core';
import { Client } from '@colyseus/sdk';
import { WebSocketTransport } from '@colyseus/ws-transport';

import { exercise } from '../helpers/colyseus.mjs';

test('Colyseus 0.17: messages of a room, to one and to all', (t) => exercise(t, { Client, Room, Server, WebSocketTransport }));
