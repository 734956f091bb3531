// npm run docs: the documents as static pages, in target/site. They have no server part; any web
// server shows them, and `-- --serve` one of ours, on http://127.0.0.1:8081.
//
// VitePress is a package of this folder, so that only those who make the pages install it.

import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { root, run } from '../../scripts/run.mjs';
import { ensureDependencies } from '../../scripts/setup.mjs';
import { linkFaults } from './links.mjs';
import { stage } from './stage.mjs';

export const SITE = join(root, 'target/site');
const HERE = fileURLToPath(new URL('.', import.meta.url));
const TYPES = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json', '.png': 'image/png', '.svg': 'image/svg+xml', '.txt': 'text/plain; charset=utf-8', '.woff2': 'font/woff2' };

/** @returns {Promise<string[]>} One line for each fault of the pages */
export async function build() {
  await ensureDependencies(HERE);
  stage(join(HERE, 'pages'));
  const { code } = await run(process.execPath, [join(HERE, 'node_modules/vitepress/bin/vitepress.js'), 'build', HERE]);
  return code === 0 ? linkFaults(SITE) : ['vitepress build failed'];
}

/** A server for the pages, on 127.0.0.1. */
export function serve(port) {
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, 'http://127.0.0.1');
    const asked = join(SITE, normalize(decodeURIComponent(pathname)));
    const file = existsSync(asked) && statSync(asked).isDirectory() ? join(asked, 'index.html') : asked;
    if (!file.startsWith(SITE) || !existsSync(file)) return response.writeHead(404).end('not found\n');
    response.writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  return server.listen(port, '127.0.0.1');
}

if (process.argv[1] === import.meta.filename) {
  const faults = await build();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
  if (process.argv[2] === '--serve') serve(8081).on('listening', () => console.log('http://127.0.0.1:8081'));
}
