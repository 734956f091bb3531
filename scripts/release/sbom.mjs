// Bills of materials into target/sbom, as CycloneDX: of the crates in the addons of all systems, and
// of the main package. For the first one: cargo install cargo-cyclonedx.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { npm, root, run } from '../run.mjs';

const OUT = join(root, 'target/sbom');

mkdirSync(OUT, { recursive: true });
// It writes a file into the folder of each crate of the workspace.
const { code } = await run('cargo', ['cyclonedx', '--format', 'json', '--target', 'all', '--no-build-deps', '--override-filename', 'bom']);
if (code !== 0) giveUp('cargo cyclonedx failed; if it is missing: cargo install cargo-cyclonedx');
renameSync(join(root, 'crates/one-shot/bom.json'), join(OUT, 'one-shot.cdx.json'));
renameSync(join(root, 'bom.json'), join(OUT, 'addons.cdx.json'));

const { code: failed, output } = await npm(['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'library', '--omit', 'dev', '--package-lock-only', '--silent'], { capture: true });
if (failed !== 0) giveUp('npm sbom failed');
writeFileSync(join(OUT, 'reactor-ws.cdx.json'), output);
for (const name of ['addons', 'reactor-ws']) {
  const { components, metadata } = JSON.parse(readFileSync(join(OUT, `${name}.cdx.json`), 'utf8'));
  console.log(`${name}.cdx.json: ${metadata.component.name} ${metadata.component.version}, ${components.length} components`);
}

function giveUp(reason) {
  console.error(reason);
  process.exit(1);
}
