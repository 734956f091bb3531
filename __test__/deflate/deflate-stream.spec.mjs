// permessage-deflate on connections over any Duplex.
import { deflateTests } from '../helpers/deflate-suite.mjs';
import { ALL_WAYS as WAYS } from '../helpers/index.mjs';

deflateTests(WAYS.stream);
