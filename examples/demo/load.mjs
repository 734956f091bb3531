// The load of the demo, in a process of its own: the same messages at the same rate to each server,
// over plain sockets, since the servers are compared. The parent sends the ports and the load: {
// ports: [1, 2], connections: 100, rate: 20000 }.

import { connect } from 'node:net';

const TICK_MS = 10;
const REPORT_MS = 250;
const PAYLOAD = 20;
/**
 * A binary frame of a client, masked with zeros (RFC 6455, 5.2), so that
 * its payload is that of its echo.
 */
const FRAME = Buffer.concat([Buffer.from([0x82, 0x80 | PAYLOAD, 0, 0, 0, 0]), Buffer.alloc(PAYLOAD, 'reactor-ws')]);
const ECHO_BYTES = 2 + PAYLOAD;
const MOST_AT_ONCE = 64;
const FRAMES = Buffer.concat(Array(MOST_AT_ONCE).fill(FRAME));
/** A connection whose echoes do not come gets no more messages. */
const MOST_UNANSWERED = 2048;
/** Messages that are later than this are not sent any more. */
const MOST_LATE_MS = 100;
const REQUEST = [
  'GET / HTTP/1.1',
  'Host: 127.0.0.1',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
].join('\r\n');

class Connection {
  isOpen = false;
  sent = 0;
  bytes = 0;

  constructor(port) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.write(`${REQUEST}\r\n\r\n`);
    this.socket.on('error', () => {});
    this.socket.on('data', (data) => this.#read(data));
  }

  get received() {
    return Math.floor(this.bytes / ECHO_BYTES);
  }

  send(count) {
    if (!this.isOpen || this.sent - this.received > MOST_UNANSWERED) return;
    this.sent += count;
    this.socket.write(FRAMES.subarray(0, count * FRAME.length));
  }

  #read(data) {
    if (this.isOpen) {
      this.bytes += data.length;
      return;
    }
    // The answer to the upgrade is short and comes by itself: nothing was sent
    // yet that could be echoed behind it.
    this.isOpen = data.includes('\r\n\r\n');
  }
}

/** The connections to one server. */
class Target {
  connections = [];
  #next = 0;
  #counted = 0;

  open(port, count) {
    for (const { socket } of this.connections) socket.destroy();
    this.connections = Array.from({ length: count }, () => new Connection(port));
    this.#counted = 0;
  }

  /** Sends about `due` messages, to one connection after the other. */
  send(due) {
    const each = Math.min(Math.ceil(due / this.connections.length), MOST_AT_ONCE);
    for (let left = due; left >= each && each > 0; left -= each) {
      this.#next = (this.#next + 1) % this.connections.length;
      this.connections[this.#next].send(each);
    }
  }

  /** Echoes since the last call. */
  take() {
    const total = this.connections.reduce((sum, { received }) => sum + received, 0);
    const taken = total - this.#counted;
    this.#counted = total;
    return taken;
  }
}

let targets = [];
let rate = 0;
let last = performance.now();
let due = 0;

process.on('disconnect', () => process.exit());
process.on('message', ({ ports, connections, rate: wanted }) => {
  if (targets.length === 0) targets = ports.map(() => new Target());
  targets.forEach((target, index) => target.open(ports[index], connections));
  rate = wanted;
});

setInterval(() => {
  const now = performance.now();
  due = Math.min(due + (rate * (now - last)) / 1000, (rate * MOST_LATE_MS) / 1000);
  last = now;
  const whole = Math.floor(due);
  due -= whole;
  for (const target of targets) if (target.connections.length > 0) target.send(whole);
}, TICK_MS);

setInterval(() => {
  if (process.connected) process.send({ echoes: targets.map((target) => target.take()) });
}, REPORT_MS);
