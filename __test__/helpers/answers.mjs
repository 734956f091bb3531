// The answers of the opening handshake, byte for byte, and tests that expect them.
import test from 'ava';

import { askRaw } from './clients.mjs';
import { isReference, startServer } from './impl.mjs';
import { ACCEPT } from './raw-client.mjs';

export const BAD_HTTP = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n';
export const TOO_LARGE = 'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n';
export const METHOD = abort('405 Method Not Allowed', 'Invalid HTTP method');
export const UPGRADE = abort('400 Bad Request', 'Invalid Upgrade header');
export const INVALID_KEY = abort('400 Bad Request', 'Missing or invalid Sec-WebSocket-Key header');
export const VERSION = abort(
  '400 Bad Request',
  'Missing or invalid Sec-WebSocket-Version header',
  'Sec-WebSocket-Version: 13, 8\r\n'
);
export const PROTOCOL = abort('400 Bad Request', 'Invalid Sec-WebSocket-Protocol header');
export const EXTENSIONS = abort('400 Bad Request', 'Invalid or unacceptable Sec-WebSocket-Extensions header');
export const BODY = abort('400 Bad Request', 'Unexpected request body');

export function abort(status, body, extra = '') {
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/html\r\n`;
  return `${head}Content-Length: ${body.length}\r\n${extra}\r\n${body}`;
}

export function accepted(...lines) {
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  return [...head, `Sec-WebSocket-Accept: ${ACCEPT}`, ...lines, '', ''].join('\r\n');
}

export function upgradeRequired(connection, body = 'Upgrade Required') {
  const head = 'HTTP/1.1 426 Upgrade Required\r\nContent-Length: 16\r\nContent-Type: text/plain\r\n';
  return `${head}Date: <date>\r\n${connection}\r\n\r\n${body}`;
}

export const KEEP_ALIVE = 'Connection: keep-alive\r\nKeep-Alive: timeout=5';
export const CLOSE = 'Connection: close';

function withoutDate(text) {
  return text.replaceAll(/(?<=\r\nDate: )\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT(?=\r\n)/g, '<date>');
}

/**
 * The whole answer to `request`: up to the end of the connection, or as long as `expected` if that
 * keeps it open. Once a line differs from `expected`, the received bytes are the answer, so that a
 * wrong answer fails instead of hanging.
 */
export async function answerTo(t, server, request, expected) {
  const client = await askRaw(t, server.address().port, request);
  const staysOpen = expected.includes(' 101 ') || expected.includes(KEEP_ALIVE);
  const text = await client.untilClosedOr((received) => {
    const answer = withoutDate(received);
    const lines = answer.slice(0, answer.lastIndexOf('\n') + 1);
    return !expected.startsWith(lines) || (staysOpen && answer.length >= expected.length);
  });
  return withoutDate(text);
}

/**
 * One test for each row [title, request, answer, difference]. A difference { reason, ws } states
 * that our answer differs from that of ws on purpose, with the answer of ws.
 */
export function rows(prefix, options, table) {
  for (const [title, request, ours, difference] of table) {
    test(`${prefix}: ${title}${difference ? ` (unlike ws: ${difference.reason})` : ''}`, async (t) => {
      const expected = isReference && difference ? difference.ws : ours;
      const server = await startServer(t, options);
      t.is(await answerTo(t, server, request, expected), expected);
    });
  }
}

/** A value as it can be read in a title. */
export function shown(value) {
  return JSON.stringify(value).replaceAll(/[\x80-\xff]/g, (char) => `\\x${char.charCodeAt(0).toString(16)}`);
}

export function unlike(ws, reason) {
  return { ws, reason };
}
