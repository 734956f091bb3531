// Prints what CHANGELOG.md says about this version: the text of its release.

import { changesOf } from './ready.mjs';
import { manifest } from './systems.mjs';

console.log(changesOf(manifest.version));
