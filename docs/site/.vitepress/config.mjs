// The menu is the tables of docs/README.md, under their headings.

import { readFileSync } from 'node:fs';

import { defineConfig } from 'vitepress';

import { slugOf } from '../../../scripts/documents.mjs';

const index = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const groups = index.split(/^## /m).slice(1).map((part) => ({ text: part.slice(0, part.indexOf('\n')), items: linksIn(part) }));
groups.at(-1).items.push({ text: 'Changelog', link: '/CHANGELOG' });

/** The links of the tables, in their order, as paths of pages. */
function linksIn(text) {
  return [...text.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)].map(([, title, path]) => ({
    text: title.replace(/\.md$/, ''),
    link: path.startsWith('../') ? path.slice(2).replace('README.md', '') : `/docs/${path}`,
  }));
}

const ICON = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='6' fill='none' stroke='#1d4fd7' stroke-width='4'/></svg>";

export default defineConfig({
  title: 'reactor-ws',
  description: 'A WebSocket server for Node.js with the API of ws that keeps the network off the JavaScript thread',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  // Where the pages are on their server.
  base: process.env.DOCS_BASE ?? '/',
  srcDir: 'pages',
  outDir: '../../target/site',
  cacheDir: '../../target/site-cache',
  // links.mjs looks at all others.
  ignoreDeadLinks: 'localhostLinks',
  markdown: { languageAlias: { haproxy: 'ini' }, anchor: { slugify: slugOf }, toc: { slugify: slugOf } },
  themeConfig: {
    nav: [
      { text: 'Documentation', link: '/docs/' },
      { text: 'API', link: '/docs/api' },
      { text: 'Recipes', link: '/docs/recipes' },
    ],
    sidebar: groups,
    outline: [2, 3],
    search: { provider: 'local' },
  },
});
