// Compares the reports of both sides of a connection.
import { isSecure } from './messages.mjs';

/** Codes of 'close' at the server, by the last action of the client. */
const CODES = { bye: [1000], close: [4000], terminate: [1006], reset: [1006], cut: [1006], end: [1006], broken: [1006] };
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
  // The policy of its topic has ended the connection, at any point.
  const isSlow = server.code === 1013 && 'close' in server.topics;
  expect(isSlow || CODES[ending].includes(server.code), `ended with ${server.code}`);
  const broke = ending === 'broken' && !isSlow;
  expect(server.errors.join() === (broke ? 'WS_ERR_INVALID_OPCODE' : ''), `errors: ${server.errors}`);
  same('up', server, load, ALL_UP.includes(ending) && !isSlow);
  same('down', load, server, ALL_DOWN.includes(ending) && !isSlow);
  // Over TLS the sockets count what is encrypted, each its own layer.
  if (ALL_UP.includes(ending) && !isSlow && !isSecure(load.way)) {
    expect(server.read === load.written, `bytes of the socket: ${server.read} of ${load.written}`);
  }
  for (const [topic, seen] of Object.entries(load.topics)) heard(topic, seen);
  if (ending === 'bye' && !isSlow) for (const topic of Object.keys(server.topics)) complete(topic);
  return faults.map((text) => `connection ${server.id} (${load.way}, ${ending}): ${text}`);

  function same(way, to, from, isAll) {
    const [got, sent] = [`${to[way]} messages, ${to[`${way}Bytes`]} bytes`, `${from[way]} messages, ${from[`${way}Bytes`]} bytes`];
    const isPart = to[way] <= from[way] && to[`${way}Bytes`] <= from[`${way}Bytes`];
    expect(isAll ? got === sent : isPart, `${way}: ${got} of ${sent}`);
  }

  /** Received messages of a topic were published during the subscription. */
  function heard(topic, { first, last }) {
    const range = server.topics[topic];
    if (range === undefined) faults.push(`${topic} was not subscribed`);
    else expect(first >= range.from && (range.to === null || last < range.to), `${topic}: ${first} to ${last} is not in it`);
  }

  /** All of a topic came, or was reported as dropped. */
  function complete(topic) {
    const { from, to } = server.topics[topic];
    const [count, dropped] = [load.topics[topic]?.count ?? 0, server.dropped[topic] ?? 0];
    const isExact = topic === 'queue' || topic === 'drop' || topic === 'close' || topic.startsWith('room');
    const sum = count + dropped;
    expect(isExact ? sum === to - from : sum <= to - from, `${topic}: ${count} and ${dropped} dropped of ${to - from}`);
    expect(['drop', 'latest', 'catch-up'].includes(topic) || dropped === 0, `${topic}: ${dropped} dropped`);
  }
}
