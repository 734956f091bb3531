// npm start: from a fresh clone to the running demo. PORT chooses the port.

import { setup } from './setup.mjs';

await setup();
await import('../examples/demo/server.mjs');
