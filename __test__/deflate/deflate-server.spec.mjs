// permessage-deflate on connections that an HTTP server has accepted.
import { deflateTests } from '../helpers/deflate-suite.mjs';
import { ALL_WAYS as WAYS } from '../helpers/index.mjs';

deflateTests(WAYS.server);
