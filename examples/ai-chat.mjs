// The server for WebSocketChatTransport of the AI SDK. A response is written to a topic with history: it goes on while no
// page is connected, all tabs of a user see it, on each node, and a page that is loaded again gets it from its beginning.

import { createServer } from 'node:http';
import { duplexPair } from 'node:stream';

import { convertToModelMessages, generateId, safeValidateWebSocketChatTransportRequest, streamText, toUIMessageStream } from 'ai';
import { WebSocket, WebSocketServer } from 'reactor-ws';
import { redisAdapter } from 'reactor-ws/redis';
import { createClient } from 'redis';

const LONGEST_MS = 5 * 60_000; // for a response: if its node dies, its chat is free again by then
const MAX_REQUESTS = 10; // of a connection
const MAX_RESPONSES = 3; // that a node generates for a user at once
const MAX_UNREAD = 4 * 1024 * 1024; // bytes that wait for a page
const { MODEL = 'openai/gpt-5', ORIGIN = 'http://localhost:*', PORT = 8080, REDIS_URL } = process.env;

const client = REDIS_URL ? createClient({ url: REDIS_URL }) : null;
client?.on('error', console.error).connect();

const generating = new Set(); // topics
const inside = createServer(); // It does not listen: only follow() connects.
const log = new WebSocketServer({
  server: inside,
  adapter: client && redisAdapter({ client }),
  adapterOverflow: 'reject',
  topicOptions: () => ({ history: 20_000, ttl: 2 * LONGEST_MS, positionTtl: 2 * LONGEST_MS, slow: 'catch-up' }),
});
log.on('connection', (socket, { url }) => {
  const { since, topic } = JSON.parse(decodeURIComponent(url.slice(1)));
  socket.on('gap', () => socket.close());
  socket.subscribe(topic, { since }, ({ recovered }) => recovered || socket.close());
});

const server = new WebSocketServer({
  port: PORT,
  allowedOrigins: [ORIGIN],
  verifyClient: ({ req }) => (req.user = userOf(req)) !== undefined,
  maxPayload: 1024 * 1024,
  maxConnectionsPerAddress: 100,
  messagesPerSecond: 20,
  pingInterval: 30_000,
});
server.on('listening', () => console.log(`listening on port ${server.address().port}`));
server.on('connection', (socket, { user }) => {
  const requests = new Map(); // by id: the function that ends it
  let turn = Promise.resolve();
  socket.on('error', console.error);
  socket.on('close', () => requests.forEach((end) => end()));
  socket.on('message', (data) => (turn = turn.then(() => take(socket, user, requests, data))));
});

async function take(socket, user, requests, data) {
  const frame = await frameOf(data);
  if (frame?.type === 'abort') return requests.get(frame.requestId)?.(null, { abort: true });
  if (frame === null || requests.has(frame.requestId) || requests.size >= MAX_REQUESTS) return socket.close(1008, 'invalid frame');
  const { id, messages, requestId, type } = frame;
  const topic = `${user}/${id}`;
  const answer = (fields) => socket.send(JSON.stringify({ ...fields, requestId }));
  const fail = (errorText = 'Chat request failed.') => end({ type: 'error', errorText });
  let response;
  let stop;
  requests.set(requestId, end);
  try {
    response = type === 'send' ? await begin(user, topic, messages) : await find(topic);
    if (!response) return type === 'send' ? fail('No response can begin now.') : end({ type: 'no-active' });
    if (socket.readyState !== WebSocket.OPEN) return; // The page is gone, and the response goes on.
    if (type === 'resume') answer({ type: 'start' });
    stop = follow(topic, response.position, ({ chunk, ended, run, sequence }) => {
      if (socket.bufferedAmount > MAX_UNREAD) socket.terminate();
      else if (run === response.run && chunk) answer({ type: 'chunk', sequence, chunk });
      else if (run === response.run && ended === 'well') end({ type: 'end' });
      else if (ended && (run ?? response.run) === response.run) fail();
    });
  } catch (error) {
    console.error(error);
    fail();
  }

  function end(fields, entry) {
    if (requests.get(requestId) !== end) return; // It has ended, and another request can have its id.
    requests.delete(requestId);
    stop?.();
    if (fields) answer(fields);
    if (response && entry) write(topic, { run: response.run, ...entry }).catch(console.error);
  }
}

/** Begins a response, or returns null. A topic has one order on all nodes: of two that begin at once, the first one counts. */
async function begin(user, topic, messages) {
  const own = [...generating].filter((one) => one.startsWith(`${user}/`));
  if (own.includes(topic) || own.length >= MAX_RESPONSES) return null;
  generating.add(topic);
  const run = generateId();
  const response = await write(topic, { run, begun: Date.now() }).then(() => find(topic)).catch(console.error);
  if (response?.run === run) generate(topic, response, messages).finally(() => generating.delete(topic));
  else generating.delete(topic);
  return response?.run === run ? response : null;
}

/** Writes a response to its topic. */
async function generate(topic, { position, run }, messages) {
  const control = new AbortController();
  const stop = follow(topic, position, (entry) => entry.run === run && entry.abort && control.abort());
  let ended = 'well';
  try {
    const { stream } = streamText({
      model: MODEL,
      messages: await convertToModelMessages(messages),
      maxOutputTokens: 8000,
      abortSignal: AbortSignal.any([control.signal, AbortSignal.timeout(LONGEST_MS)]),
    });
    let sequence = 0;
    const chunks = toUIMessageStream({ stream, originalMessages: messages, generateMessageId: generateId });
    for await (const chunk of chunks) await write(topic, { run, chunk, sequence: sequence++ });
  } catch (error) {
    console.error(error);
    ended = 'badly';
  }
  stop();
  await write(topic, { run, ended }).catch(console.error);
}

/** The last response that began while no other was active; null if it has failed, or its node has died. */
async function find(topic) {
  let found = null;
  for (const { data, position } of (await log.history(topic)).messages) {
    const { begun, ended, run } = JSON.parse(data);
    if (begun && (!found || found.ended || begun - found.begun > LONGEST_MS)) found = { begun, position, run };
    else if (ended && run === found?.run) found.ended = ended;
  }
  const isOver = found?.ended === 'badly' || (!found?.ended && Date.now() - found?.begun > LONGEST_MS);
  return isOver ? null : found;
}

/** Appends to a topic, on all nodes. */
async function write(topic, entry) {
  const { position } = await log.publish(topic, JSON.stringify(entry), { receipt: true });
  if (position === null) throw new Error('Redis has not got it');
}

/**
 * Calls `hear` with each entry of a topic after a position; with an end of no run if there can be no more. Pages do not
 * subscribe themselves: each wants the entries with the id of its request, and topics send the same bytes to all.
 */
function follow(topic, since, hear) {
  const [near, far] = duplexPair();
  const url = `ws://inside/${encodeURIComponent(JSON.stringify({ since, topic }))}`;
  const socket = new WebSocket(url, { createConnection: () => near });
  const timer = setTimeout(() => socket.terminate(), LONGEST_MS);
  socket.on('message', (data) => hear(JSON.parse(data)));
  socket.on('error', () => {}); // 'close' comes next
  socket.on('close', () => {
    clearTimeout(timer);
    far.destroy(); // Node does not tell it.
    hear({ ended: 'badly' });
  });
  inside.emit('connection', far);
  return () => socket.terminate();
}

/** A frame of a page, or null. */
async function frameOf(data) {
  try {
    const { data: frame } = await safeValidateWebSocketChatTransportRequest({ value: JSON.parse(data) });
    return frame.type === 'abort' || frame.id.length <= 100 ? frame : null;
  } catch {
    return null;
  }
}

/** A real program looks up the session. */
function userOf({ headers }) {
  return /(?:^|; )user=(\w{1,64})(?:;|$)/.exec(headers.cookie ?? '')?.[1];
}
