'use strict';

/** The head of an HTTP/1.1 response as fields of HTTP/2, and the bytes after it. @typedef {{ status: number, fields: Record<string, string | string[]>, body: Buffer }} ResponseHead */

const END = '\r\n\r\n';

const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |$)/;

const SWITCHING_PROTOCOLS = 101;
const OK = 200;

/** For one connection of HTTP/1.1 (RFC 9113, 8.2.2). A CONNECT has no key, so there is nothing to accept (RFC 8441, 5). */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'sec-websocket-accept', 'transfer-encoding', 'upgrade']);

/**
 * Null until the head is complete. Status 500 for anything but a response of HTTP/1.1.
 *
 * @type {(bytes: Buffer) => ResponseHead | null}
 */
function parseResponseHead(bytes) {
  const end = bytes.indexOf(END);
  if (end === -1) return null;
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(STATUS_LINE.exec(first)?.[1] ?? 500);
  const body = bytes.subarray(end + END.length);
  return { status: status === SWITCHING_PROTOCOLS ? OK : status, fields: fieldsOf(lines), body };
}

/** @param {string[]} lines */
function fieldsOf(lines) {
  /** @type {Record<string, string | string[]>} */
  const fields = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (HOP_BY_HOP.has(name)) continue;
    const value = line.slice(colon + 1).trim();
    fields[name] = name in fields ? [fields[name], value].flat() : value;
  }
  return fields;
}

module.exports = { parseResponseHead };
