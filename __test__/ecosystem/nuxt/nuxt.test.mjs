// Nuxt 4 is on Nitro 2, which imports crossws/adapters/node of crossws 0.3: a plugin of the build puts our adapter in
// its place.
import { fileURLToPath } from 'node:url';

import { testBuilt } from '../helpers/programs.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

testBuilt('Nuxt 4', path('.'), path('node_modules/nuxt/bin/nuxt.mjs'));
