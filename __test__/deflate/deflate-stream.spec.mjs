// permessage-deflate on connections over any Duplex.
import { deflateTests } from '../helpers/deflate-suite.mjs';
import { WAYS } from '../helpers/index.mjs';

deflateTests(WAYS.stream);
