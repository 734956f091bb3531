// Bills of materials into target/sbom, as CycloneDX: of the crates in the addons of all systems, and
// of the main package. For the first one: cargo install cargo-cyclonedx.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { npm, root, run } from '../run.mjs';
import { manifest, systems } from './systems.mjs';

const OUT = join(root, 'target/sbom');
const { version } = manifest;

rmSync(OUT, { force: true, recursive: true });
mkdirSync(OUT, { recursive: true });
const bills = { 'addons.cdx.json': await ofAddons(), 'reactor-ws.cdx.json': await ofMain() };
for (const [name, bill] of Object.entries(bills)) {
  const { components, metadata } = bill;
  writeFileSync(join(OUT, name), `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`${name}: ${metadata.component.name} ${metadata.component.version}, ${components.length} components`);
}

async function ofAddons() {
  // It writes a file into the folder of each crate of the workspace.
  const { code } = await run('cargo', ['cyclonedx', '--format', 'json', '--target', 'all', '--no-build-deps', '--override-filename', 'bom']);
  if (code !== 0) giveUp('cargo cyclonedx failed; if it is missing: cargo install cargo-cyclonedx');
  const bill = join(root, 'bom.json');
  // References are paths of this machine.
  const text = readFileSync(bill, 'utf8').replaceAll(`file://${root.replace(/\/$/, '')}`, 'file:///reactor-ws');
  for (const file of [bill, join(root, 'crates/one-shot/bom.json')]) rmSync(file);
  return JSON.parse(text);
}

/** npm takes the name of the folder for that of the package; the packages with the addons are dependencies only when it is packed. */
async function ofMain() {
  const folder = join(OUT, 'reactor-ws');
  mkdirSync(folder);
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(root, file), join(folder, file));
  const flags = ['--sbom-format', 'cyclonedx', '--sbom-type', 'library', '--omit', 'dev', '--package-lock-only', '--silent'];
  const { code, output } = await npm(['sbom', ...flags, '--prefix', folder], { capture: true });
  rmSync(folder, { recursive: true });
  if (code !== 0) giveUp('npm sbom failed');
  const bill = JSON.parse(output);
  const components = systems.map(({ name }) => ({
    'bom-ref': `reactor-ws-${name}@${version}`,
    type: 'library',
    name: `reactor-ws-${name}`,
    version,
    scope: 'optional',
    purl: `pkg:npm/reactor-ws-${name}@${version}`,
  }));
  const dependsOn = components.map((component) => component['bom-ref']);
  return { ...bill, components, dependencies: [{ ref: `reactor-ws@${version}`, dependsOn }] };
}

function giveUp(reason) {
  console.error(reason);
  process.exit(1);
}
