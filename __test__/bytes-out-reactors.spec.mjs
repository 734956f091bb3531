// What is written, byte for byte, by several reactors. Over TLS there are none.
import test from 'ava';

import { bytesOut } from './helpers/bytes-out.mjs';
import { COMPRESSION } from './helpers/bytes-world.mjs';
import { isReference } from './helpers/impl.mjs';

const { plain, context } = COMPRESSION;

bytesOut(isReference ? test.skip : test.serial, {
  ways: ['port', 'server'],
  compressions: { plain, context },
  reactors: 2,
});
