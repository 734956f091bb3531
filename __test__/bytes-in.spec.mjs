// What is received, byte for byte.
import test from 'ava';

import { bytesIn } from './helpers/bytes-in.mjs';

bytesIn(test.serial);
