// What is written, byte for byte, by a reactor without a thread. Over TLS there is none.
import test from 'ava';

import { bytesOut } from './helpers/bytes-out.mjs';
import { COMPRESSION } from './helpers/bytes-world.mjs';
import { isReference } from './helpers/impl.mjs';

const { plain, context } = COMPRESSION;

bytesOut(isReference ? test.skip : test.serial, {
  ways: ['port', 'server'],
  compressions: { plain, context },
  reactors: 0,
});
