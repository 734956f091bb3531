#!/usr/bin/env node
'use strict';

// The command `reactor-ws`.

const { parseArgs } = require('node:util');

const { VERSION } = require('../base/layout');
const { examineAddon, examineSystem } = require('./system');
const { examineWs } = require('./ws');

const USAGE = `Usage: reactor-ws doctor [--json]

  doctor     examines this system, the addon, and which \`ws\` each package of the project in this folder has
  --json     prints the findings as JSON
  --version  prints the version of reactor-ws

The exit code is 0 if all is well, 1 if something is wrong, and 2 for another command.`;

/** `remedy` says what to do. @typedef {{ check: 'system' | 'addon' | 'ws', what: string, remedy: string }} Finding */

/** @typedef {ReturnType<typeof examine>} Report */

process.exitCode = main(process.argv.slice(2));

/** @type {(args: string[]) => number} The exit code */
function main(args) {
  const parsed = parse(args);
  if (parsed === null) {
    console.error(USAGE);
    return 2;
  }
  if (parsed.help || parsed.version) {
    console.log(parsed.help ? USAGE : VERSION);
    return 0;
  }
  const report = examine(process.cwd());
  console.log(parsed.json ? JSON.stringify(report, null, 2) : textOf(report));
  return report.ok ? 0 : 1;
}

/** @param {string} folder */
function examine(folder) {
  const [system, addon, ws] = [examineSystem(), examineAddon(), examineWs(folder)];
  const problems = [system, addon, ws].flatMap((check) => check.problems);
  const notes = [system, ws].flatMap((check) => check.notes);
  return { ok: problems.length === 0, version: VERSION, system: system.value, addon: addon.value, ws: ws.value, problems, notes };
}

/** @type {(report: Report) => string} */
function textOf({ addon, notes, problems, system, version, ws }) {
  const { cpus, descriptors, environment, name, os, runtime } = system;
  const facts = [
    ['runtime', runtime],
    ['system', `${os}, ${cpus} ${cpus === 1 ? 'CPU' : 'CPUs'}: ${name}`],
    ['descriptors', descriptors === null ? 'unknown' : `${descriptors.soft ?? 'unlimited'}, can be raised to ${descriptors.hard ?? 'any number'}`],
    ...Object.entries(environment),
    ['addon', addon.version === null ? 'none' : `${addon.version}, ${addon.path ?? 'its path is not known'}`],
    ['project', ws.folder],
    ...ws.dependants.map(({ name: its, version: of, gets }) => [`${its} ${of}`.trim(), gets === null ? 'no ws is installed' : `${gets.name} ${gets.version}, ${gets.folder}`]),
  ];
  return [
    `reactor-ws ${version}`,
    ...facts.map(([fact, value]) => `  ${fact.padEnd(12)} ${value}`),
    ...sectionOf('problem', problems),
    ...sectionOf('note', notes),
    ...(problems.length === 0 ? ['\nAll is well.'] : []),
  ].join('\n');
}

/** @type {(name: string, findings: Finding[]) => string[]} */
function sectionOf(name, findings) {
  if (findings.length === 0) return [];
  const lines = findings.map(({ check, what, remedy }) => `  ${check}: ${what}\n    what to do: ${remedy}`);
  return [`\n${findings.length} ${name}${findings.length === 1 ? '' : 's'}:`, ...lines];
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
