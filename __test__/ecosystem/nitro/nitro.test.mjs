// Nitro 3 imports crossws/adapters/node in its presets: a plugin of the build puts our adapter in its place.
import { fileURLToPath } from 'node:url';

import { testBuilt } from '../helpers/programs.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

testBuilt('Nitro 3', path('.'), path('node_modules/nitro/dist/cli/index.mjs'));
