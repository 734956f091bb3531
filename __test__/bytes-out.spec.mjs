// What is written, byte for byte.
import test from 'ava';

import { bytesOut } from './helpers/bytes-out.mjs';

bytesOut(test.serial);
