// The same data to many connections that several reactors have.
import test from 'ava';

import { isReference } from './helpers/impl.mjs';
import { sameSuite } from './helpers/same-suite.mjs';

sameSuite(isReference ? test.skip : test, { reactors: 3 });
