// What is received, byte for byte, by several reactors. Over TLS there are none.
import test from 'ava';

import { bytesIn } from './helpers/bytes-in.mjs';
import { isReference } from './helpers/impl.mjs';

bytesIn(isReference ? test.skip : test.serial, { ways: ['port', 'server'], reactors: 2 });
