'use strict';

/** @typedef {import('./examine').Finding} Finding */
/** @typedef {import('./examine').Report} Report */

/** The report for a person. @type {(report: Report) => string} */
function textOf(report) {
  const { folder, notes, problems, version, ws } = report;
  const facts = [
    ...systemFacts(report),
    ['project', `${folder} (${ws.manager})`],
    ['ws', wsFact(report)],
  ];
  return [
    `reactor-ws ${version}`,
    ...facts.map(([name, value]) => `  ${name.padEnd(12)} ${value}`),
    ...ws.dependants.map(dependantLine),
    ...sectionOf('problem', problems),
    ...sectionOf('note', notes),
    problems.length === 0 ? '\nAll is well.' : '',
  ].join('\n').trimEnd();
}

/** @type {(report: Report) => [name: string, value: string][]} */
function systemFacts({ addon, echo, system }) {
  const { cpus, descriptors, environment, name, os, runtime } = system;
  const variables = Object.entries(environment).map(([key, value]) => `${key}=${value}`);
  return [
    ['runtime', runtime],
    ['system', `${os}, ${cpus} ${cpus === 1 ? 'CPU' : 'CPUs'}: ${name}`],
    ['descriptors', descriptors === null ? 'unknown' : `${descriptors.soft ?? 'unlimited'}, may be raised to ${descriptors.hard ?? 'any number'}`],
    ...(variables.length === 0 ? [] : [/** @type {[string, string]} */ (['environment', variables.join(' ')])]),
    ['addon', addon.version === null ? 'none' : `${addon.version}, ${addon.path ?? 'its path is not known'}`],
    ['packages', addon.packages.length === 0 ? 'none with an addon in node_modules' : addon.packages.join(', ')],
    ['echo', echo === null ? 'failed' : `two messages to 127.0.0.1 and back in ${echo.milliseconds} ms`],
  ];
}

/** @type {(report: Report) => string} */
function wsFact({ ws }) {
  const facts = {
    all: 'reactor-ws, for all that depend on it',
    some: 'reactor-ws for some that depend on it, ws for others',
    none: 'ws, for all that depend on it',
    unused: 'no package of this project depends on it',
  };
  return facts[ws.ours];
}

/** @type {(dependant: import('./dependants').Dependant) => string} */
function dependantLine({ name, version, via, gets }) {
  const way = via.length > 1 ? ` (of ${via.slice(0, -1).join(' > ')})` : '';
  const got = gets === null ? 'none is installed' : `${gets.name} ${gets.version}, ${gets.folder}`;
  return `${''.padEnd(15)}${[name, version].filter(Boolean).join(' ')}${way}: ${got}`;
}

/** @type {(name: string, findings: Finding[]) => string[]} */
function sectionOf(name, findings) {
  if (findings.length === 0) return [];
  const lines = findings.map(({ check, what, remedy }) => `  ${check}: ${what}\n    what to do: ${remedy}`);
  return [`\n${findings.length} ${name}${findings.length === 1 ? '' : 's'}:`, ...lines];
}

module.exports = { textOf };
