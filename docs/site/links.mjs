// Every link of the pages, with its anchor, and every file that they load.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';

/** @param {string} site The folder of the pages @returns {string[]} One line for each link that leads nowhere */
export function linkFaults(site) {
  const pages = readdirSync(site, { recursive: true }).map(String).filter((name) => name.endsWith('.html'));
  const texts = new Map(pages.map((page) => [page, readFileSync(join(site, page), 'utf8')]));
  const faults = pages.flatMap((page) =>
    linksOf(texts.get(page)).flatMap((link) => {
      const [path, anchor] = link.split('#');
      const target = path === '' ? page : posix.normalize(path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(page), path));
      const file = target === '' || target === '.' || target.endsWith('/') ? posix.join(target, 'index.html') : target;
      if (!existsSync(join(site, file))) return [`${page}: ${link} leads nowhere`];
      const isThere = anchor === undefined || anchor === '' || !texts.has(file) || texts.get(file).includes(`id="${decodeURIComponent(anchor)}"`);
      return isThere ? [] : [`${page}: ${link} has no such heading`];
    }),
  );
  console.log(`${pages.length} pages, ${[...texts.values()].flatMap(linksOf).length} links`);
  return faults;
}

function linksOf(text) {
  const own = [...text.matchAll(/\b(?:href|src|srcset)="([^"]*)"/g)].map(([, link]) => link.replaceAll('&amp;', '&'));
  return own.filter((link) => !/^([a-z]+:|\/\/)/.test(link));
}
