#!/usr/bin/env node
'use strict';

// The command `reactor-ws`.

const { parseArgs } = require('node:util');

const { VERSION } = require('../base/layout');
const { examine } = require('./examine');
const { textOf } = require('./text');

const USAGE = `Usage: reactor-ws doctor [--json]

  doctor     examines this system, the addon, and which \`ws\` each package of the project in this folder has
  --json     prints the findings as JSON
  --version  prints the version of reactor-ws

The exit code is 0 if all is well, 1 if something is wrong, and 2 for another command.`;

main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

/** @type {(args: string[]) => Promise<number>} The exit code */
async function main(args) {
  const asked = parse(args);
  if (asked === null) {
    console.error(USAGE);
    return 2;
  }
  if (asked.help) console.log(USAGE);
  else if (asked.version) console.log(VERSION);
  else return doctor(asked.json);
  return 0;
}

/** @type {(json: boolean) => Promise<number>} */
async function doctor(json) {
  const report = await examine(process.cwd());
  console.log(json ? JSON.stringify(report, null, 2) : textOf(report));
  return report.ok ? 0 : 1;
}

/** @type {(args: string[]) => { help: boolean, json: boolean, version: boolean } | null} Null where it is not understood */
function parse(args) {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: { help: { type: 'boolean' }, json: { type: 'boolean' }, version: { type: 'boolean' } },
    });
    const { help = false, json = false, version = false } = values;
    return help || version || positionals.join(' ') === 'doctor' ? { help, json, version } : null;
  } catch {
    return null;
  }
}
