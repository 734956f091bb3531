// A release on a registry of its own, with the commands of a real one: all packages are staged, and approved.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { root, run } from '../run.mjs';
import { packageNames } from './pack.mjs';
import { manifest } from './systems.mjs';

const { version } = manifest;

/** @returns {Promise<string[]>} One line for each step that went wrong */
export async function rehearsalFaults() {
  const faults = [];
  const registry = new Registry();
  const port = await registry.listen();
  const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-rehearsal-'));
  writeFileSync(join(folder, 'npmrc'), `//127.0.0.1:${port}/:_authToken=trial\n`);
  const options = { capture: true, env: { NPM_CONFIG_USERCONFIG: join(folder, 'npmrc') } };
  const release = (script, ...args) => run(process.execPath, [join(root, 'scripts/release', script), '--registry', `http://127.0.0.1:${port}/`, ...args], options);
  const expect = (holds, fault) => holds || faults.push(`rehearsal: ${fault}`);

  expect((await release('publish.mjs')).code === 0, 'staging failed');
  if (registry.staged.size !== packageNames.length || registry.published.size > 0) return [...faults, 'rehearsal: not all packages are staged, or one is published'];
  const again = await release('publish.mjs');
  expect(packageNames.every((name) => again.output.includes(`${name}@${version} is staged`)), 'staging again is an error');
  expect((await release('approve.mjs', '--dry-run')).code === 0 && registry.published.size === 0, 'a dry run approves');

  const [first, ...others] = [...registry.staged.values()];
  [first.content, others.at(-1).content] = [others.at(-1).content, first.content];
  expect((await release('approve.mjs')).code !== 0 && registry.published.size === 0, 'a package with other bytes is approved');
  [first.content, others.at(-1).content] = [others.at(-1).content, first.content];
  expect((await release('approve.mjs')).code === 0, 'approving failed');
  expect([...registry.published.keys()].join() === packageNames.join(), `approved in the order ${[...registry.published.keys()]}`);
  expect(registry.published.get('reactor-ws')?.['dist-tags'][version.includes('-') ? 'next' : 'latest'] === version, 'the main package has another tag');
  expect((await release('approve.mjs')).code === 0 && (await release('publish.mjs')).code === 0, 'nothing is left to do, and that is an error');

  registry.close();
  rmSync(folder, { recursive: true });
  return faults;
}

/** As much of a registry as npm asks for when it stages, approves and views packages. */
class Registry {
  staged = new Map();
  published = new Map();

  async listen() {
    this.server = createServer(async (request, response) => {
      const [status, answer] = this.answer(request, Buffer.concat(await request.toArray()));
      response.writeHead(status).end(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
    });
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return this.server.address().port;
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** @returns {[number, object | Buffer]} */
  answer({ method, url }, content) {
    const { pathname, searchParams } = new URL(url, 'http://registry');
    const [stage, id, action] = pathname.startsWith('/-/stage') ? pathname.slice(3).split('/') : [];
    if (method === 'POST' && id === 'package') return this.stage(action, JSON.parse(content));
    const named = [...this.staged].find(([, one]) => one.id === id);
    if (action === 'tarball' && named) return [200, named[1].content];
    if (action === 'approve' && named) return this.approve(...named);
    if (stage && id === undefined) {
      const items = [...this.staged].map(([packageName, one]) => ({ id: one.id, packageName, version })).filter((one) => one.packageName === searchParams.get('package'));
      return [200, { items, total: items.length }];
    }
    const found = method === 'GET' ? this.published.get(pathname.slice(1)) : undefined;
    return found === undefined ? [404, { error: 'not found' }] : [200, found];
  }

  stage(name, body) {
    if (this.staged.has(name) || this.published.has(name)) return [409, { error: `${version} is staged` }];
    const id = randomUUID();
    const [{ data }] = Object.values(body._attachments);
    this.staged.set(name, { body, content: Buffer.from(data, 'base64'), id });
    return [201, { stageId: id }];
  }

  approve(name, { body }) {
    this.staged.delete(name);
    this.published.set(name, body);
    return [200, {}];
  }
}
