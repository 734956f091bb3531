// Clients: ways to make them, messages that they send, events that they get.
import { Agent, ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http';
import { connect } from 'node:net';

import WebSocket, { WebSocket as Named, createWebSocketStream } from 'ws';

const address = 'ws://127.0.0.1:1/chat';

export const byName: Named = new Named(address);
export const byDefault: WebSocket = new WebSocket(new URL(address));
export const mixed: WebSocket[] = [byName, byDefault, new Named(address), new WebSocket(null)];
export const kept = new Map<WebSocket, string>([[byName, 'a']]);

export function options(): WebSocket[] {
  const declared: WebSocket.ClientOptions = { headers: {}, handshakeTimeout: 5000, maxPayload: 1024, protocol: 'chat', family: 4 };
  if (declared.headers) declared.headers['X-Name'] = 'value';
  const ofNode: ClientRequestArgs = { auth: 'user:secret', timeout: 1000, headers: { accept: ['a', 'b'] } };
  return [
    new WebSocket(address, declared),
    new WebSocket(address, { timeout: 5000, maxPayload: 1024 }),
    new WebSocket(address, ofNode),
    new WebSocket(address, ['a', 'b'], ofNode),
    new WebSocket(address, 'a', { ...declared, agent: new Agent({ keepAlive: true }) }),
    new WebSocket(address, undefined, { createConnection: connect, localAddress: '127.0.0.1', host: 'localhost' }),
    new WebSocket(address, [], { checkServerIdentity: () => true, ca: ['a'], key: Buffer.from('k'), cert: 'c', passphrase: 'p' }),
    new WebSocket(address, { checkServerIdentity: (_name: string, cert: WebSocket.CertMeta) => cert.length > 0 }),
    new WebSocket(address, {
      finishRequest(request: ClientRequest, socket: WebSocket) {
        request.setHeader('X-State', socket.readyState);
        request.end();
      },
      generateMask: (mask) => mask.fill(1),
      perMessageDeflate: { threshold: 10, zlibDeflateOptions: { level: 9, dictionary: [Buffer.from('a')], info: false } },
      allowSynchronousEvents: false,
      autoPong: false,
      followRedirects: true,
      maxRedirects: 1,
      protocolVersion: 13,
      skipUTF8Validation: true,
      maxFragments: 1,
      maxBufferedChunks: 1,
    }),
  ];
}

/** Options of a program under `exactOptionalPropertyTypes`: with values that may be undefined. */
export function maybe(given: { timeout?: number; origin?: string; agent?: Agent }): WebSocket.ClientOptions {
  return { handshakeTimeout: given.timeout, origin: given.origin, agent: given.agent, rejectUnauthorized: undefined };
}

/** Everything that can be sent. */
export function sends(ws: WebSocket): void {
  const floats = new Float32Array(4);
  const values = ['text', 1, floats, floats.buffer, Buffer.alloc(1), new DataView(floats.buffer), new Blob(['a']), [1, 2]] as const;
  for (const value of values) ws.send(value);
  ws.send(new SharedArrayBuffer(1), { binary: true, mask: true, compress: false, fin: true });
  ws.send({ valueOf: () => new Uint8Array(1) }, (error?: Error) => console.log(error));
  ws.send({ [Symbol.toPrimitive]: () => 'text' }, {}, (error) => console.log(error?.message));
  ws.send('text', { mask: undefined, binary: undefined, compress: undefined, fin: undefined }, () => {});
  const failed = (error: Error): void => console.log(error.message);
  ws.ping('a', true, failed);
  ws.ping(Buffer.alloc(1), undefined, (error) => console.log(error.message));
  ws.pong({ any: 'thing' }, false, failed);
  ws.pong();
  ws.close();
  ws.close(1000, Buffer.from('done'));
  ws.terminate();
}

/** Listeners added by each of the five methods have typed arguments. */
export function listeners(ws: WebSocket): void {
  ws.on('message', (data, isBinary) => console.log(isBinary ? data : data.toString()));
  ws.on('message', (data: WebSocket.RawData) => ws.send(data));
  ws.on('pong', (data: Buffer) => console.log(data.length));
  ws.once('message', (data) => console.log(Array.isArray(data) ? Buffer.concat(data) : data.byteLength));
  ws.addListener('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
  ws.off('message', (data, isBinary) => console.log(data.toString(), !isBinary));
  ws.removeListener('message', (data, isBinary) => console.log(data.toString(), !isBinary));
  ws.on('close', (code, reason) => console.log(code.toFixed(), reason.toString('utf8')));
  ws.addListener('close', (code, reason) => console.log(code.toFixed(), reason.toString('utf8')));
  ws.once('ping', (data) => console.log(data.byteLength));
  ws.off('pong', (data) => console.log(data.byteLength));
  ws.once('upgrade', (response) => console.log(response.headers.upgrade));
  ws.addListener('upgrade', (response) => console.log(response.statusCode));
  ws.once('redirect', (url, request) => console.log(url.length, request.getHeaders()));
  ws.once('unexpected-response', (request, response) => console.log(request.destroyed, response.statusCode));
  ws.removeListener('unexpected-response', (_request: ClientRequest, response: IncomingMessage) => response.resume());
  ws.once('error', (error) => console.log(error.stack));
  ws.once('open', () => console.log(ws.url.length, ws.protocol, ws.extensions, ws.bufferedAmount));
  const any: Parameters<typeof ws.once>[1] = () => {};
  ws.off('whatever', any);
  ws.on('close', function () {
    this.removeAllListeners();
    console.log(this.readyState);
  });
  ws.on('close', gone);
}

function gone(this: WebSocket, code: number): void {
  console.log(this.url, code);
}

/** The interface of the browser. */
export function browser(ws: WebSocket): void {
  ws.onopen = (event: WebSocket.Event) => console.log(event.type, event.target);
  ws.onerror = (event: WebSocket.ErrorEvent) => console.log(event.error.code, event.message, event.type, event.target.url);
  ws.onclose = (event: WebSocket.CloseEvent) => console.log(event.code, event.reason, event.wasClean, event.target.protocol);
  ws.onmessage = (event: WebSocket.MessageEvent) => console.log(event.data.toString(), event.type, event.target.readyState);
  ws.onmessage = ({ data }) => console.log(typeof data === 'string' ? JSON.parse(data) : data);
  ws.onopen = null;
  const once: WebSocket.EventListenerOptions = { once: true };
  ws.addEventListener('close', (event) => console.log(event.code), once);
  ws.addEventListener('message', { handleEvent: (event) => console.log(event.data) });
  ws.removeEventListener('error', (event: WebSocket.ErrorEvent) => console.log(event.message));
  listen('close', (event) => console.log(event.wasClean));
  // @ts-expect-error There is no such event.
  ws.addEventListener('other', () => {});

  function listen<K extends keyof WebSocket.WebSocketEventMap>(type: K, listener: (event: WebSocket.WebSocketEventMap[K]) => void) {
    ws.addEventListener(type, listener);
  }
}

/** The ready state is one of four, and read-only. */
export function states(ws: WebSocket): number {
  // @ts-expect-error No such state.
  const five: 5 = ws.readyState;
  // @ts-expect-error Read-only.
  ws.readyState = ws.OPEN;
  // @ts-expect-error Read-only.
  ws.OPEN = 2;
  // @ts-expect-error Read-only.
  ws.bufferedAmount = five;
  // @ts-expect-error Read-only.
  ws.extensions = 'a';
  // @ts-expect-error Read-only.
  ws.protocol = 'a';
  if (ws.readyState === ws.OPEN) {
    // @ts-expect-error It is 1.
    const closing: 2 = ws.readyState;
    const open: 1 = ws.readyState;
    return closing ?? open;
  }
  if (ws.readyState === WebSocket.CONNECTING) return ws.readyState satisfies 0;
  if (ws.readyState === WebSocket.CLOSING) return ws.readyState satisfies 2;
  if (ws.readyState === ws.CLOSED) return ws.readyState satisfies 3;
  const none: never = ws.readyState;
  return none;
}

export function forms(ws: WebSocket): void {
  ws.binaryType = 'arraybuffer';
  ws.binaryType = 'fragments';
  ws.binaryType = 'nodebuffer';
  // @ts-expect-error No such form.
  ws.binaryType = '';
  // @ts-expect-error No such form.
  ws.binaryType = true;
}

export function streams(ws: WebSocket): void {
  createWebSocketStream(ws).pipe(process.stdout);
  process.stdin.pipe(createWebSocketStream(ws, { allowHalfOpen: true, encoding: 'utf8', readableObjectMode: true }));
}

/** Received data has types that a program can distinguish. */
export function parts(raw: WebSocket.RawData, data: WebSocket.Data): number {
  if (typeof data === 'string') return data.length;
  if (Array.isArray(raw)) return raw[0]?.length ?? 0;
  if (raw instanceof ArrayBuffer) return new Uint8Array(raw).length;
  return raw.readUInt8(0) + Buffer.byteLength(raw.toString('utf8'));
}
