// What is received, byte for byte, by several reactors. Over TLS there are none.
import test from 'ava';

import { bytesIn } from './helpers/bytes-in.mjs';
import { COMPRESSION } from './helpers/bytes-world.mjs';
import { isReference } from './helpers/impl.mjs';

const { plain, context } = COMPRESSION;

bytesIn(isReference ? test.skip : test.serial, {
  ways: ['port', 'server'],
  compressions: { plain, context },
  reactors: 2,
});
