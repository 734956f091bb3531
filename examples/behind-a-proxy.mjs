// The client's address behind nginx, HAProxy or a load balancer. Only a proxy of yours may set
// the header: anybody can send one.

import { BlockList, isIP } from 'node:net';

import { WebSocketServer } from 'reactor-ws';

const proxies = new BlockList();
proxies.addAddress('127.0.0.1');
proxies.addSubnet('10.0.0.0', 8);

const server = new WebSocketServer({ port: process.env.PORT ?? 8080, host: process.env.HOST ?? '127.0.0.1' });

server.on('connection', (socket, request) => {
  socket.on('error', console.error);
  socket.send(`you are ${clientAddress(request)}`);
});

server.on('listening', () => console.log(`listening on port ${server.address().port}`));

/**
 * Each proxy appends the address that it sees: the client's is the
 * last one that is no proxy of ours.
 */
function clientAddress({ headers, socket }) {
  const forwarded = (headers['x-forwarded-for'] ?? '').split(',').map((address) => address.trim());
  const chain = [...forwarded, plain(socket.remoteAddress ?? '')].filter((address) => isIP(address) !== 0);
  return chain.findLast((address) => !isProxy(address)) ?? chain[0];
}

function isProxy(address) {
  return proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** ::ffff:127.0.0.1, as a server on all addresses sees an IPv4 client, is 127.0.0.1. */
function plain(address) {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}
