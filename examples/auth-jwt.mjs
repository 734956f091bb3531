// Authentication by a JSON Web Token (HS256), without a library. Programs send it as
// `Authorization: Bearer <token>`. Browsers cannot set headers of a WebSocket: they offer it as a
// subprotocol, new WebSocket(url, ['token', token]).

import { createHmac, timingSafeEqual } from 'node:crypto';

import { WebSocketServer } from 'reactor-ws';

const SECRET = process.env.JWT_SECRET ?? 'for this example only';

const server = new WebSocketServer({
  port: process.env.PORT ?? 8080,
  verifyClient({ req }) {
    req.user = verify(tokenOf(req));
    return req.user !== null; // or 401
  },
  handleProtocols: (offered) => (offered.has('token') ? 'token' : false), // never the token itself
});

server.on('connection', (socket, request) => {
  const { user } = request;
  socket.on('error', console.error);
  socket.send(`hello ${user.sub}`);
  // A token that expires while the connection is open ends the connection.
  // Timers take no more than 24 days.
  const rest = Math.min(user.exp * 1000 - Date.now(), 2 ** 31 - 1);
  const timer = setTimeout(() => socket.close(4001, 'token expired'), rest);
  socket.on('close', () => clearTimeout(timer));
});

server.on('listening', () => console.log(`listening on port ${server.address().port}`));

function tokenOf({ headers }) {
  const [, bearer] = /^Bearer (\S+)$/i.exec(headers.authorization ?? '') ?? [];
  return bearer ?? /^token, *(\S+)$/.exec(headers['sec-websocket-protocol'] ?? '')?.[1] ?? '';
}

/** The claims of a token, or null. */
function verify(token) {
  const [header, payload, signature = ''] = token.split('.');
  const expected = createHmac('sha256', SECRET).update(`${header}.${payload}`).digest();
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  const claims = parse(payload);
  const isSigned = parse(header)?.alg === 'HS256';
  return isSigned && claims.exp * 1000 > Date.now() ? claims : null;
}

function parse(part) {
  return JSON.parse(Buffer.from(part, 'base64url').toString());
}
