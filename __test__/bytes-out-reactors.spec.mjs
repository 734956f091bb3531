// What is written, byte for byte, by several reactors. Over TLS there are none.
import test from 'ava';

import { bytesOut } from './helpers/bytes-out.mjs';
import { isReference } from './helpers/impl.mjs';

bytesOut(isReference ? test.skip : test.serial, { ways: ['port', 'server'], reactors: 2 });
