// What is written, byte for byte, by a reactor without a thread. Over TLS there is none.
import test from 'ava';

import { bytesOut } from './helpers/bytes-out.mjs';
import { isReference } from './helpers/impl.mjs';

bytesOut(isReference ? test.skip : test.serial, { ways: ['port', 'server'], reactors: 0 });
