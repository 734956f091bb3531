// The tasks of a benchmark server, whichever it is.

/**
 * @typedef {{ send(data: any, options?: any): void }} Peer A connection
 * @typedef {{ all(): Iterable<Peer>, numbers: number[] }} Place All connections of the server, and the numbers after
 *   the task's name
 * @typedef {(data: Buffer, isBinary: boolean) => void} Take Takes a message of one connection
 */

/** First bytes of the message that asks for the count of all before it. */
const MARKER = Buffer.from('#count ');

/** First bytes of the message that asks for a block. */
const BLOCK = Buffer.from('#block ');

/** @type {Record<string, (place: Place) => (ws: Peer) => Take>} */
export const tasks = {
  echo: () => echo,
  deflate: () => echo,
  timeouts: () => echo,
  tls: () => echo,
  /** Counts, and answers the marker with the count. */
  ingest: () => (ws) => {
    let messages = 0;
    let bytes = 0;
    return (data) => {
      // The first byte alone rules out nearly all messages.
      if (data.length > 0 && data[0] === MARKER[0] && data.subarray(0, MARKER.length).equals(MARKER)) {
        ws.send(`${MARKER.toString()}${messages} ${bytes}`);
        return;
      }
      messages++;
      bytes += data.length;
    };
  },
  /**
   * Once a message has come, sends one of `length` bytes to everybody every `period` milliseconds.
   */
  push: ({ all, numbers: [length, period] }) => {
    const numbered = numberedMessages(length);
    return () => () => {
      setInterval(() => {
        const message = numbered();
        for (const ws of all()) ws.send(message);
      }, period);
    };
  },
  /** Answers a message with `count` messages of `length` bytes. */
  burst: ({ numbers: [length, count] }) => {
    return (ws) => () => {
      const numbered = numberedMessages(length);
      for (let sent = 0; sent < count; sent++) ws.send(numbered());
    };
  },
  /** Sends every message to everybody. */
  fanout: ({ all }) => {
    return () => (data, isBinary) => {
      for (const ws of all()) ws.send(data, { binary: isBinary });
    };
  },
  /** Parses every message, and sends the result as JSON. */
  json: () => (ws) => (data) => ws.send(JSON.stringify(JSON.parse(data.toString()))),
  /**
   * An echo that blocks for as many milliseconds as a message asks for, and
   * then sends that message back too.
   */
  blocked: () => (ws) => (data, isBinary) => {
    // The first byte alone rules out nearly all messages.
    if (data[0] === BLOCK[0] && data.subarray(0, BLOCK.length).equals(BLOCK)) {
      const end = Date.now() + Number(data.subarray(BLOCK.length).toString());
      while (Date.now() < end);
    }
    ws.send(data, { binary: isBinary });
  },
  /** An echo in a program that computes for 2 of every 10 ms. */
  busy: () => {
    setInterval(() => {
      const end = performance.now() + 2;
      while (performance.now() < end);
    }, 10);
    return echo;
  },
};

/**
 * @param {Peer} ws
 * @returns {Take}
 */
function echo(ws) {
  return (data, isBinary) => ws.send(data, { binary: isBinary });
}

/**
 * Messages that begin with their number, as the load generator expects them:
 * text up to 20 bytes, else binary.
 *
 * @param {number} length
 * @returns {() => string | Buffer}
 */
function numberedMessages(length) {
  let number = 0;
  const fill = 'x'.repeat(length - 12);
  return () => {
    const text = String(number++).padStart(12, '0') + fill;
    return length > 20 ? Buffer.from(text, 'latin1') : text;
  };
}
