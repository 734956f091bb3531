// A proxy that ends TLS keeps connections to the port, for requests of many clients. They move, or end in the old process, and
// none of the requests fails. A proxy does not repeat a POST.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';

import WebSocket from 'ws';

import { cert, key } from '../helpers/certificate.mjs';
import { has, startProxy } from '../helpers/proxies.mjs';
import { ask, exits, inMode, place, version } from '../helpers/versions.mjs';

const TLS = { ca: cert, servername: 'localhost' };

const HAS_HTTP2 = Number.parseInt(process.versions.node, 10) >= 22;

for (const [mode, protocol = ''] of [['native'], ['noServer'], ...(HAS_HTTP2 ? [['native', ' proto h2 ws h1']] : [])]) {
  (has('haproxy') ? inMode : inMode.skip)(`HAProxy in front, ${mode}${protocol}: no request fails, and no WebSocket closes`, async (t) => {
    const path = place(t);
    const options = { mode, h2: protocol !== '' };
    let current = await version(t, 'v0', 0, path, options);
    const { port } = current;
    const front = await startProxy(t, 'haproxy', (folder, free) => {
      writeFileSync(join(folder, 'both.pem'), `${cert}\n${key}`);
      const lines = ['defaults', ' mode http', ' timeout connect 5s', ' timeout client 1h', ' timeout server 1h', 'listen in'];
      lines.push(` bind 127.0.0.1:${free} ssl crt ${folder}/both.pem`, ` server ws 127.0.0.1:${port}${protocol}`);
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
        const [response] = await once(request({ host: '127.0.0.1', port: front, path: '/x', method: 'POST', agent }).end(), 'response');
        answers.add(`${response.statusCode} ${await response.toArray()}`);
        await new Promise((resolve) => {
          setTimeout(resolve, gap);
        });
      }
      agent.destroy();
    };
    const busy = [0, 0, 10, 100, 500].map(askAlways);
    for (const name of ['v1', 'v2']) {
      const next = await version(t, name, port, path, options);
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
