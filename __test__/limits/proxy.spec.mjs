// The PROXY protocol: the clients of connections, as proxies name them. HAProxy and nginx are tried
// where they are installed: `apt-get install haproxy nginx`.
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { RawClient, WebSocketServer, askRaw, openVisitor, ownOnly, startServer, test, upgradeRequest } from '../helpers/index.mjs';
import { has, startProxy } from '../helpers/proxies.mjs';

const TRUSTED = { proxyProtocol: { trusted: ['127.0.0.0/8', '::1'] } };
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const V4 = Buffer.from([192, 0, 2, 1, 10, 0, 0, 1, 0xdc, 4, 1, 0xbb]);
const V6 = Buffer.concat([Buffer.from('20010db8000000000000000000000001', 'hex'), Buffer.alloc(16), Buffer.from([0, 80, 0, 81])]);

function block(command, family, addresses) {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(addresses.length);
  return Buffer.concat([SIGNATURE, Buffer.from([command, family]), length, addresses]);
}

/** Headers, and the client that each names; undefined where the connection is the proxy's own. */
const HEADERS = {
  'version 1, TCP4': ['PROXY TCP4 192.0.2.1 10.0.0.1 56324 443\r\n', '192.0.2.1', 56324],
  'version 1, TCP6': ['PROXY TCP6 2001:db8::1 ::1 80 81\r\n', '2001:db8::1', 80],
  'version 1, UNKNOWN': ['PROXY UNKNOWN ffff::1 ::1 1 2\r\n'],
  'version 2, TCP4': [block(0x21, 0x11, V4), '192.0.2.1', 56324],
  'version 2, TCP4 with TLVs': [block(0x21, 0x11, Buffer.concat([V4, Buffer.from('040003000102030200026161', 'hex')])), '192.0.2.1', 56324],
  'version 2, TCP6': [block(0x21, 0x21, V6), '2001:db8::1', 80],
  'version 2, AF_UNIX': [block(0x21, 0x31, Buffer.alloc(216, 1))],
  'version 2, UNSPEC': [block(0x21, 0x00, Buffer.alloc(3))],
  'version 2, LOCAL': [block(0x20, 0x00, Buffer.alloc(0))],
  'version 2, LOCAL with addresses': [block(0x20, 0x11, V4)],
};

/** The server's view of a connection that begins with these pieces. */
async function remote(t, server, pieces) {
  const connected = once(server, 'connection');
  const raw = await RawClient.connect(t, server.address().port);
  for (const piece of pieces) await raw.send(piece);
  await raw.until((text) => text.includes('\r\n\r\n'));
  t.true(raw.text.startsWith('HTTP/1.1 101 '), raw.text);
  const [ws, { socket }] = await connected;
  const { remoteAddress, remotePort } = socket;
  t.is(ws._socket.remoteAddress, remoteAddress);
  raw.reset();
  return [remoteAddress, remotePort];
}

for (const [name, [header, address = '127.0.0.1', port]] of Object.entries(HEADERS)) {
  // P01 of the headers: the result is the same however a header arrives.
  ownOnly(`${name}: at once, split and byte by byte`, async (t) => {
    const server = await startServer(t, TRUSTED);
    const bytes = Buffer.concat([Buffer.from(header, 'latin1'), Buffer.from(upgradeRequest())]);
    const cuts = [1, 11, 12, 13, 15, 16, 17, header.length - 1, header.length, header.length + 1];
    const ways = [[bytes], Array.from(bytes, (byte) => Buffer.from([byte]))];
    for (const cut of cuts) ways.push([bytes.subarray(0, cut), bytes.subarray(cut)]);
    for (const pieces of ways) {
      const [remoteAddress, remotePort] = await remote(t, server, pieces);
      t.is(remoteAddress, address);
      if (port !== undefined) t.is(remotePort, port);
    }
  });

  ownOnly(`${name}: refused of a peer that is not trusted`, async (t) => {
    for (const proxyProtocol of [undefined, { trusted: ['10.0.0.0/8'] }]) {
      const server = await startServer(t, { proxyProtocol });
      const raw = await askRaw(t, server.address().port, Buffer.concat([Buffer.from(header, 'latin1'), Buffer.from(upgradeRequest())]));
      t.true((await raw.closed()).startsWith('HTTP/1.1 400 Bad Request\r\n'));
      // Without a header the peer is a client like any other.
      t.is((await remote(t, server, [upgradeRequest()]))[0], '127.0.0.1');
    }
  });
}

ownOnly('a trusted peer without a header, or with a wrong one, is refused', async (t) => {
  const server = await startServer(t, { ...TRUSTED, verifyClient: () => t.fail() });
  const wrong = [block(0x22, 0x11, V4), block(0x21, 0x12, V4), block(0x21, 0x11, V4.subarray(1)), block(0x20, 0, Buffer.alloc(5000))];
  for (const start of ['', 'PROXY TCP4 192.0.2.1 10.0.0.1 1\r\n', 'PROXY TCP4 192.0.2.1 10.0.0.1 1 65536\r\n', `PROXY ${'x'.repeat(200)}`, ...wrong]) {
    const raw = await askRaw(t, server.address().port, Buffer.concat([Buffer.from(start, 'latin1'), Buffer.from(upgradeRequest())]));
    t.true((await raw.closed()).startsWith('HTTP/1.1 400 Bad Request\r\n'));
  }
  t.is(server.clients.size, 0);
});

ownOnly('limits of an address are those of the client, not of the proxy', async (t) => {
  for (const verifyClient of [undefined, () => true]) {
    const server = await startServer(t, { ...TRUSTED, verifyClient, maxConnections: 4, maxConnectionsPerAddress: 1 });
    const ask = async (address) => {
      const raw = await askRaw(t, server.address().port, `PROXY TCP4 ${address} 10.0.0.1 1000 80\r\n${upgradeRequest()}`);
      await raw.until((text) => text.includes('\r\n\r\n'));
      return { raw, status: raw.text.split(' ')[1] };
    };
    const first = await ask('192.0.2.1');
    t.is(first.status, '101');
    t.is((await ask('192.0.2.1')).status, '429');
    t.is((await ask('192.0.2.2')).status, '101');
    first.raw.reset();
    let again;
    do again = await ask('192.0.2.1');
    while (again.status === '429');
    t.is(again.status, '101');
    t.true(server.metrics().handshakes.denied.address >= 1);
  }
});

ownOnly('a client that a proxy names takes one place', async (t) => {
  const server = await startServer(t, { ...TRUSTED, maxConnections: 1 });
  t.deepEqual(await remote(t, server, [Buffer.from(`PROXY TCP4 192.0.2.1 10.0.0.1 1000 80\r\n${upgradeRequest()}`)]), ['192.0.2.1', 1000]);
});

ownOnly('wrong options throw', (t) => {
  for (const [proxyProtocol, instanceOf] of [
    [true, TypeError],
    [{}, TypeError],
    [{ trusted: [] }, TypeError],
    [{ trusted: '10.0.0.0/8' }, TypeError],
    [{ trusted: [10] }, TypeError],
    [{ trusted: ['localhost'] }, RangeError],
    [{ trusted: ['10.0.0.0/33'] }, RangeError],
    [{ trusted: ['10.0.0.0/8/8'] }, RangeError],
    [{ trusted: ['fe80::1%eth0'] }, RangeError],
  ]) {
    const error = t.throws(() => new WebSocketServer({ port: 0, proxyProtocol }), { instanceOf });
    t.true(error.message.startsWith('options.proxyProtocol'), error.message);
  }
  const error = t.throws(() => new WebSocketServer({ noServer: true, ...TRUSTED }), { instanceOf: TypeError });
  t.true(error.message.startsWith('options.proxyProtocol needs a TCP port'));
});

/** An echo by way of the proxy; `look` sees the client and the request. */
async function throughProxy(t, server, url, look) {
  const connected = once(server, 'connection');
  const client = await openVisitor(t, url);
  const [ws, request] = await connected;
  look(client, request);
  ws.on('message', (data) => ws.send(data));
  client.send('x'.repeat(100_000));
  t.is((await once(client, 'message'))[0].length, 100_000);
}

/** The address that the server sees is the client's. */
async function keepsAddress(t, server, port) {
  for (let i = 0; i < 3; i++) {
    await throughProxy(t, server, `ws://127.0.0.1:${port}`, (client, { socket }) => {
      t.deepEqual([socket.remoteAddress, socket.remotePort], ['127.0.0.1', client._socket.localPort]);
    });
  }
}

for (const send of ['send-proxy', 'send-proxy-v2', 'send-proxy-v2-ssl-cn']) {
  (has('haproxy') ? ownOnly : test.skip)(`HAProxy in front with ${send}`, async (t) => {
    const server = await startServer(t, TRUSTED);
    const port = await startProxy(t, 'haproxy', (folder, port) => {
      const file = join(folder, 'haproxy.cfg');
      const behind = `server ws 127.0.0.1:${server.address().port} ${send}`;
      const lines = ['defaults', ' mode tcp', ' timeout connect 5s', ' timeout client 1h', ' timeout server 1h', 'listen in', ` bind 127.0.0.1:${port}`, ` ${behind}`];
      writeFileSync(file, `${lines.join('\n')}\n`);
      return ['-db', '-f', file];
    });
    await keepsAddress(t, server, port);
  });
}

function nginxHttp(folder, server) {
  // The workers of a proxy that root starts run as the user nobody, which may not connect to a
  // socket of the file system without a mode.
  const user = process.getuid?.() === 0 ? 'user root; ' : '';
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
  const head = `${user}daemon off; pid ${folder}/pid; error_log stderr; events {}`;
  return `${head}\nhttp { access_log off; ${paths} ${server} }\n`;
}

/** The blocks of docs/recipes.md, with ports of this test. */
const RECIPES = {
  haproxy: (folder, port, block) => {
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, block.replace('bind :80', `bind 127.0.0.1:${port}`));
    return ['-db', '-f', file];
  },
  nginx: (folder, port, block) => {
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, nginxHttp(folder, `server { listen 127.0.0.1:${port};\n${block} }`));
    return ['-p', folder, '-c', file];
  },
};

for (const [name, configure] of Object.entries(RECIPES)) {
  (has(name) ? ownOnly : test.skip)(`the recipe for ${name}`, async (t) => {
    const server = await startServer(t);
    const document = readFileSync(new URL('../../docs/recipes.md', import.meta.url), 'utf8');
    const [, block] = new RegExp(`\`\`\`${name}\\n([^]*?)\`\`\``).exec(document);
    const port = await startProxy(t, name, (folder, free) =>
      configure(folder, free, block.replace('127.0.0.1:8080', `127.0.0.1:${server.address().port}`)),
    );
    await throughProxy(t, server, `ws://127.0.0.1:${port}/live`, (_client, { url, headers }) => {
      t.deepEqual([url, headers['x-forwarded-for']], ['/live', '127.0.0.1']);
    });
  });
}
