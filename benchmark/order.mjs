// Counts breaches of the order between connections, as a client in another process observes
// them. The table of docs/order.md.
//
//   node benchmark/order.mjs [--rounds 400] [--only ws,1] [--way port] [--package DIRECTORY]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
const file = fileURLToPath(import.meta.url);
const root = resolve(file, '../..');

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '400' },
    only: { type: 'string', default: 'ws,0,1,2' },
    rows: { type: 'string', default: '' },
    way: { type: 'string', default: 'port' },
    package: { type: 'string', default: root },
    serve: { type: 'boolean', default: false },
  },
});

/** Rows: each resolves with true if the order was not kept. */
const ROWS = {
  'open, then a request: no such connection yet': async ({ open, ask }) => {
    const client = await open();
    const isMissing = (await ask('count')) !== '1';
    await close(client, ask);
    return isMissing;
  },
  'terminate(), then a request on a connection of its own: still counted': async ({ open, ask }) => {
    const client = await open();
    client.terminate();
    const isCounted = (await ask('count', false)) !== '0';
    await emptied(ask);
    return isCounted;
  },
  'terminate(), then a request on one that is kept alive: still counted': async ({ open, ask }) => {
    const client = await open();
    client.terminate();
    const isCounted = (await ask('count')) !== '0';
    await emptied(ask);
    return isCounted;
  },
  "terminate(), then another connection: still counted in its 'connection'": async ({ open, ask }) => {
    const client = await open();
    client.terminate();
    const next = await open();
    const isCounted = (await ask('opened')) !== '1';
    await close(next, ask);
    return isCounted;
  },
  'client.send(x); response.end(): x comes later': async ({ same, ask }) => {
    let heard = false;
    const came = once(same, 'message').then(() => (heard = true));
    await ask('push');
    const isLate = !heard;
    await came;
    return isLate;
  },
  'a message, then a request on a connection of its own: not handled yet': async ({ same, ask }) => {
    const before = Number(await ask('messages'));
    same.send('x');
    return Number(await ask('messages', false)) !== before + 1;
  },
  'a message, then a request on one that is kept alive: not handled yet': async ({ same, ask }) => {
    const before = Number(await ask('messages'));
    same.send('x');
    return Number(await ask('messages')) !== before + 1;
  },
  "close(), then another connection: the end comes after 'open'": async ({ open, ask }) => {
    const client = await open('localhost');
    let isEnded = false;
    const ended = once(client, 'close').then(() => (isEnded = true));
    client.close();
    const next = await open('localhost');
    const isLate = !isEnded;
    await ended;
    await close(next, ask);
    return isLate;
  },
  'closed by the server, then another connection: the end comes after the refusal': async ({ open, refused }) => {
    const client = await open('localhost');
    let isEnded = false;
    const ended = once(client, 'close').then(() => (isEnded = true));
    client.send('close');
    await once(client, 'message');
    await refused();
    const isLate = !isEnded;
    await ended;
    return isLate;
  },
};

if (values.serve) serve();
else await measure();

function serve() {
  const { WebSocketServer } = require(process.env.WS_PACKAGE);
  let messages = 0;
  let opened = 0;
  const web = http.createServer((request, response) => {
    if (request.url === '/push') for (const client of wss.clients) client.send('x');
    response.end(String({ '/count': wss.clients.size, '/messages': messages, '/opened': opened }[request.url]));
  });
  const options = process.env.WS_WAY === 'port' ? { port: 0, host: '127.0.0.1' } : { server: web };
  if (process.env.WS_REFUSES) options.verifyClient = ({ req }, decide) => decide(req.url !== '/refused', 503);
  const wss = new WebSocketServer(options);
  wss.on('connection', (ws) => {
    opened = wss.clients.size;
    ws.on('message', (data) => {
      messages++;
      if (String(data) !== 'close') return;
      ws.send('closes');
      ws.close();
    });
    ws.on('error', () => {});
  });
  web.listen(0, '127.0.0.1', () => {
    const ready = () => process.send({ port: wss.address().port, web: web.address().port });
    if (wss.address() === null) wss.once('listening', ready);
    else ready();
  });
  process.on('disconnect', () => process.exit());
}

async function measure() {
  const rounds = Number(values.rounds);
  const modes = values.only.split(',');
  const rows = Object.entries(ROWS).filter(([name]) => name.includes(values.rows));
  console.log(`| of ${rounds}, ${values.way} | ${modes.join(' | ')} |\n|---${'|---'.repeat(modes.length)}|`);
  for (const [name, row] of rows) {
    const counts = [];
    for (const mode of modes) counts.push(await count(mode, row, rounds));
    console.log(`| ${name} | ${counts.join(' | ')} |`);
  }
}

async function count(mode, row, rounds) {
  const isReference = mode === 'ws';
  const child = fork(file, ['--serve'], {
    env: {
      ...process.env,
      WS_PACKAGE: isReference ? require.resolve('ws') : resolve(values.package),
      WS_WAY: values.way,
      ...(row.toString().includes('refused') && { WS_REFUSES: '1' }),
      ...(!isReference && { REACTOR_WS_REACTORS: mode }),
    },
  });
  const [{ port, web }] = await once(child, 'message');
  const { WebSocket } = require('ws');
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const open = async (host = '127.0.0.1') => {
    const client = new WebSocket(`ws://${host}:${port}`);
    client.on('error', () => {});
    await once(client, 'open');
    return client;
  };
  const refused = async () => {
    const client = new WebSocket(`ws://localhost:${port}/refused`);
    client.on('error', () => {});
    await new Promise((resolve) => client.once('close', resolve));
  };
  const ask = async (path, keepAlive = true) => {
    const request = http.get({ host: '127.0.0.1', port: web, path: `/${path}`, agent: keepAlive ? agent : false });
    const [response] = await once(request, 'response');
    return (await response.toArray()).join('');
  };
  const same = row.toString().includes('same') ? await open() : null;
  let missed = 0;
  for (let round = 0; round < rounds; round++) missed += Number(await row({ open, ask, refused, same }));
  same?.terminate();
  agent.destroy();
  child.disconnect();
  await once(child, 'exit');
  return missed;
}

async function close(client, ask) {
  client.terminate();
  await emptied(ask);
}

async function emptied(ask) {
  while ((await ask('count')) !== '0');
}
