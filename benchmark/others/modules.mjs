// What the programs of a checkout import, without an installation there: `ws`, the package that SERVES_WS names, and uWebSockets.js
// from UWS_PATH. Strips the types where Node does not: before 22.18 Bun does it, from BUN_PATH.
import { register } from 'node:module';

register('./hooks.mjs', import.meta.url);
