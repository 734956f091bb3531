// The values of `port`: of TCP, sockets of the file system, descriptors, and what is none of them.
import { once } from 'node:events';
import { mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('listening');
export default s;

/** A server with this port, an echo of it, and its end. The log has no name of the folder. */
async function listen(c, port, folder) {
  const shown = (value) => (typeof value === 'string' ? value.replaceAll(folder, '<folder>') : value);
  let wss;
  const made = outcome(() => void (wss = new c.WebSocketServer({ port, host: '127.0.0.1' })));
  if (wss === undefined) return c.log('server', shown(made));
  c.teardown(() => wss.close());
  const failure = await once(wss, 'listening').then(() => null, (error) => error);
  c.log('server', 'files', readdirSync(folder));
  if (failure !== null) return c.log('server', ...['code', 'errno', 'message', 'address', 'port', 'syscall'].map((name) => shown(failure[name])));
  const address = wss.address();
  const isPath = typeof address === 'string';
  c.log('server', isPath ? shown(address) : [address.address, address.family], outcome(() => wss._server.address()) === outcome(() => address));
  wss.on('connection', (ws, { socket, url }) => {
    ws.on('message', (data) => ws.send(data));
    const names = ['localAddress', 'localFamily', 'localPort', 'remoteAddress', 'remoteFamily', 'remotePort'];
    c.log('socket', url, socket.remoteFamily, ...(isPath ? [socket.address(), ...names.map((name) => socket[name])] : []));
  });
  const client = new c.WebSocket(isPath ? `ws+unix:${address}:/chat?a=b` : `ws://${address.family === 'IPv6' ? '[::1]' : address.address}:${address.port}`);
  const lost = await once(client, 'open').then(() => null, (error) => error);
  if (lost === null) client.send('hello');
  c.log('client', lost === null ? (await once(client, 'message'))[0] : lost.code);
  client.on('error', () => {}).terminate();
  wss.close();
  await once(wss, 'close');
  c.log('server', 'files', readdirSync(folder));
}

const file = (path) => {
  writeFileSync(path, '');
  return path;
};

/** Names, and functions of a free path that give the port. */
const PORTS = {
  'a number': () => 0,
  'a number as text': () => '0',
  '{ port, host }': () => ({ port: 0, host: '127.0.0.1' }),
  '{ port } as text, with what is undefined': () => ({ port: '0', path: undefined, fd: undefined }),
  '{ port, host, backlog, ipv6Only }': () => ({ port: 0, host: '::1', backlog: 1, ipv6Only: true }),
  '{ port: null }': () => ({ port: null }),
  '{ port: undefined }': () => ({ port: undefined }),
  'an empty object': () => ({}),
  'a descriptor that is none': () => ({ fd: -1 }),
  'an array': () => [1],
  'a port beyond the last': () => 65_536,
  'the same as text': () => '65536',
  'the same in an object': () => ({ port: 65_536 }),
  'no number': () => NaN,
  'a fraction': () => 0.5,
  'empty text': () => '',
  'a long number': () => '9'.repeat(40),
  true: () => true,
  'a symbol': () => Symbol('port'),
};
const PATHS = {
  '{ path }': (path) => ({ path }),
  'a path': (path) => path,
  'a path in use': file,
  'a path of a server': async (path, c) => {
    const server = net.createServer().listen(path);
    c.teardown(() => server.close());
    await once(server, 'listening');
    return { path };
  },
  'a folder that is missing': (path) => join(path, 'x', 'y.sock'),
  'a folder that is a file': (path) => join(file(path), 'x.sock'),
  'a descriptor that is not open': () => ({ fd: 987 }),
  'a descriptor of a file': (path) => ({ fd: openSync(file(path)) }),
};
// Room for 108 bytes on Linux, elsewhere for 104. Some versions of Node cut off longer names.
for (const bytes of [103, 104, 107, 108, 109, 200]) PATHS[`a path of ${bytes} bytes`] = (path) => path.padEnd(bytes, 'x');

for (const [name, make] of Object.entries({ ...PORTS, ...(process.platform === 'win32' ? {} : PATHS) })) {
  s.once(`port: ${name}`, async (c) => {
    const folder = mkdtempSync(join(tmpdir(), 'x'));
    c.teardown(() => rmSync(folder, { recursive: true, force: true }));
    await listen(c, await make(join(folder, 'x'), c), folder);
  });
}
