// The path of Chromium, or of a browser based on it: CHROMIUM_PATH, then PATH,
// then the places of its installers.

import { delimiter, join } from 'node:path';

import { isExecutable } from './run.mjs';

export const CHROMIUM_HINT = 'Chromium was not found: put it on PATH or name it in CHROMIUM_PATH';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const PLACES = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
];

/** The path of the program, or null. */
export function findChromium() {
  const folders = (process.env.PATH || '').split(delimiter);
  const onPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [process.env.CHROMIUM_PATH, ...onPath, ...PLACES].find((file) => file && isExecutable(file)) ?? null;
}
