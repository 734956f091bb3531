// A proxy that ends TLS keeps connections to the port, for requests of many clients. They end in the old process, and none of
// the requests fails.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { join } from 'node:path';

import WebSocket from 'ws';

import { cert, key } from '../helpers/certificate.mjs';
import { has, startProxy } from '../helpers/proxies.mjs';
import { ask, exits, inMode, place, version } from '../helpers/versions.mjs';

const TLS = { ca: cert, servername: 'localhost' };

for (const mode of ['native', 'noServer']) {
  (has('haproxy') ? inMode : inMode.skip)(`HAProxy in front, ${mode}: no request fails, and no WebSocket closes`, async (t) => {
    const path = place(t);
    let current = await version(t, 'v0', 0, path, { mode });
    const { port } = current;
    const front = await startProxy(t, 'haproxy', (folder, free) => {
      writeFileSync(join(folder, 'both.pem'), `${cert}\n${key}`);
      const lines = ['defaults', ' mode http', ' timeout connect 5s', ' timeout client 1h', ' timeout server 1h', 'listen in'];
      lines.push(` bind 127.0.0.1:${free} ssl crt ${folder}/both.pem`, ` server ws 127.0.0.1:${port}`);
      writeFileSync(join(folder, 'haproxy.cfg'), `${lines.join('\n')}\n`);
      return ['-db', '-f', join(folder, 'haproxy.cfg')];
    });
    const ws = new WebSocket(`wss://127.0.0.1:${front}`, TLS);
    await once(ws, 'open');
    let isOver = false;
    const answers = new Set();
    const askAlways = async (gap) => {
      const agent = new Agent({ keepAlive: true, ...TLS });
      while (!isOver) {
        const [response] = await once(get({ host: '127.0.0.1', port: front, path: '/x', agent }), 'response');
        answers.add(`${response.statusCode} ${await response.toArray()}`);
        await new Promise((resolve) => {
          setTimeout(resolve, gap);
        });
      }
      agent.destroy();
    };
    const busy = [0, 0, 10, 100, 500].map(askAlways);
    for (const name of ['v1', 'v2']) {
      const next = await version(t, name, port, path, { mode });
      await exits(t, current);
      current = next;
    }
    isOver = true;
    await Promise.all(busy);
    for (const answer of answers) t.regex(answer, /^200 v\d \/x$/);
    t.is(await ask(ws, 'x'), 'v2 / 1 x  ');
    ws.terminate();
  });
}
