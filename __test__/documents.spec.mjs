// The blocks of code in the documents can be parsed. Those that are whole programs are the files of examples/, which
// examples.spec.mjs runs; `npm run check` compares.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import test from 'ava';

import { documents } from '../scripts/documents.mjs';

/** Runs in a process of its own, since only a flag lets modules be parsed. */
const PARSER = `
  const vm = require('node:vm');
  const blocks = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
  const faults = blocks.flatMap(({ place, code }) => {
    try {
      new vm.SourceTextModule(code);
      return [];
    } catch (error) {
      return [place + ': ' + error.message];
    }
  });
  console.log(JSON.stringify(faults));
`;

function blocks(document, language) {
  const text = readFileSync(fileURLToPath(new URL(`../${document}`, import.meta.url)), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(({ 2: code, index }) => ({ place: `${document}:${text.slice(0, index).split('\n').length}`, code }));
}

test('blocks of JavaScript are modules', async (t) => {
  const all = documents().flatMap((document) => blocks(document, 'js'));
  t.true(all.length > 20);
  const child = promisify(execFile)(process.execPath, ['--no-warnings', '--experimental-vm-modules', '-e', PARSER]);
  child.child.stdin.end(JSON.stringify(all));
  const { stdout } = await child;
  t.deepEqual(JSON.parse(stdout), []);
});

test('blocks of JSON are JSON', (t) => {
  const all = documents().flatMap((document) => blocks(document, 'json'));
  t.true(all.length > 0);
  for (const { place, code } of all) t.notThrows(() => JSON.parse(code), place);
});
