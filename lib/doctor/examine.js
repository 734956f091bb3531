'use strict';

const { VERSION } = require('../base/layout');
const { examineAddon } = require('./addon');
const { echo } = require('./echo');
const { findProject } = require('./project');
const { examineSystem } = require('./system');
const { examineWs } = require('./ws');

/**
 * What somebody can do about it: `remedy` may have several lines.
 *
 * @typedef {{ check: 'system' | 'addon' | 'echo' | 'ws', what: string, remedy: string }} Finding
 */

/**
 * The results of all checks. `problems` make the exit code 1, `notes` do not.
 *
 * @typedef {object} Report
 * @property {boolean} ok
 * @property {string} version Of reactor-ws
 * @property {string} folder Of the package that is examined
 * @property {import('./system').System} system
 * @property {import('./addon').FoundAddon} addon
 * @property {import('./echo').Echo | null} echo Null without an addon
 * @property {import('./ws').WsReport} ws
 * @property {Finding[]} problems
 * @property {Finding[]} notes
 */

/** @type {(folder: string) => Promise<Report>} */
async function examine(folder) {
  const project = findProject(folder);
  const system = examineSystem();
  const addon = examineAddon(project);
  const echoed = addon.value.version === null ? null : await echo();
  const ws = examineWs(project);
  const checks = [system, addon, ws, ...(echoed === null ? [] : [echoed])];
  const problems = checks.flatMap((check) => check.problems);
  return {
    ok: problems.length === 0,
    version: VERSION,
    folder: project.folder,
    system: system.value,
    addon: addon.value,
    echo: echoed === null ? null : echoed.value,
    ws: ws.value,
    problems,
    notes: checks.flatMap((check) => check.notes),
  };
}

module.exports = { examine };
