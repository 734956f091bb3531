// What is written, byte for byte.
import test from 'ava';

import { bytesOut } from './helpers/bytes-out.mjs';
import { COMPRESSION } from './helpers/bytes-world.mjs';
import { KNOWN, constants } from './helpers/thresholds.mjs';

test.serial('the lengths are those of the code', (t) => {
  for (const size of KNOWN) t.true(constants().includes(size), `${size}`);
});

bytesOut(test.serial);
bytesOut(test.serial, { ways: ['stream'], compressions: { plain: COMPRESSION.plain } });
