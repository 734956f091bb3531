// What is received, byte for byte, by a reactor without a thread. Over TLS there is none.
import test from 'ava';

import { bytesIn } from './helpers/bytes-in.mjs';
import { COMPRESSION } from './helpers/bytes-world.mjs';
import { isReference } from './helpers/impl.mjs';

const { plain, context } = COMPRESSION;

bytesIn(isReference ? test.skip : test.serial, {
  ways: ['port', 'server'],
  compressions: { plain, context },
  reactors: 0,
});
