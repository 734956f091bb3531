// What every benchmark server does: listen on 127.0.0.1, say where, and end on SIGTERM. How it echoes is its own.

/** First bytes of the message that asks an ingest server for its count. */
export const MARKER = Buffer.from('#count ');

/** Whether to count messages instead of echoing them. */
export const ingest = process.argv.includes('ingest');

/** Whether messages are compressed, each by itself. */
export const deflate = process.argv.includes('deflate');

/**
 * Tells the runner, which reads the first line of standard output, that the server listens.
 *
 * @param {number} port
 */
export function listening(port) {
  console.log(JSON.stringify({ port, pid: process.pid }));
}

/**
 * Counts the messages of one connection.
 *
 * @returns {(data: Buffer) => string | undefined} Takes a message; returns the answer if it asks for the count
 */
export function counter() {
  let messages = 0;
  let bytes = 0;
  return (data) => {
    // The first byte alone rules out nearly all messages.
    if (data.length > 0 && data[0] === MARKER[0] && data.subarray(0, MARKER.length).equals(MARKER)) {
      return `${MARKER.toString()}${messages} ${bytes}`;
    }
    messages++;
    bytes += data.length;
    return undefined;
  };
}

/**
 * The program of the servers with the API of ws; only the import and the way in differ.
 *
 * @param {typeof import('ws').WebSocketServer} WebSocketServer
 * @param {import('node:http').Server} [http] Where upgrades come in; its own port without it
 */
export function serve(WebSocketServer, http) {
  const alone = { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0 };
  const options = { perMessageDeflate: deflate && alone };
  const wayIn = http ? { server: http } : { host: '127.0.0.1', port: 0 };
  const server = new WebSocketServer({ ...options, ...wayIn });
  server.on('listening', () => {
    listening(/** @type {import('node:net').AddressInfo} */ (server.address()).port);
  });
  server.on('connection', (ws) => {
    if (ingest) {
      const count = counter();
      ws.on('message', (data) => {
        const answer = count(/** @type {Buffer} */ (data));
        if (answer !== undefined) ws.send(answer);
      });
    } else {
      ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
    }
  });
  process.on('SIGTERM', () => process.exit(0));
}
