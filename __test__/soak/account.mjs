// Compares the reports of both sides of a connection.
import { isSecure } from './messages.mjs';

/** Codes of 'close' at the server, by the last action of the client. */
const CODES = { bye: 1000, close: 4000, terminate: 1006, reset: 1006, cut: 1006, end: 1006, broken: 1006 };
/** Endings before which all sent messages have arrived, from clients and from the server. */
const ALL_UP = ['bye', 'close', 'terminate', 'cut', 'end', 'broken'];
const ALL_DOWN = ['bye', 'close'];

/**
 * @returns {string[]} The contradictions; none if everything agrees
 */
export function compare(server, load) {
  const faults = [...server.faults, ...load.faults];
  const expect = (is, text) => is || faults.push(text);
  const { ending } = load;
  expect(CODES[ending] === server.code, `ended with ${server.code}`);
  expect(server.errors.join() === (ending === 'broken' ? 'WS_ERR_INVALID_OPCODE' : ''), `errors: ${server.errors}`);
  same('up', server, load, ALL_UP.includes(ending));
  same('down', load, server, ALL_DOWN.includes(ending));
  // Over TLS the sockets count what is encrypted, each its own layer.
  if (ALL_UP.includes(ending) && !isSecure(load.way)) {
    expect(server.read === load.written, `bytes of the socket: ${server.read} of ${load.written}`);
  }
  return faults.map((text) => `connection ${server.id} (${load.way}, ${ending}): ${text}`);

  function same(way, to, from, isAll) {
    const [got, sent] = [`${to[way]} messages, ${to[`${way}Bytes`]} bytes`, `${from[way]} messages, ${from[`${way}Bytes`]} bytes`];
    const isPart = to[way] <= from[way] && to[`${way}Bytes`] <= from[`${way}Bytes`];
    expect(isAll ? got === sent : isPart, `${way}: ${got} of ${sent}`);
  }
}
