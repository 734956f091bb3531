// The clients of the soak, in a process of their own: they connect, follow plans, and leave.
//
//   load.mjs <ports as JSON> <connections>      until the parent says stop
import { createRequire } from 'node:module';

import { BURST, DOWN, PATIENCE_MS, UP, burstOf, hash, isSecure, messageOf, partsOf, planOf, throws } from './messages.mjs';

const { WebSocket } = createRequire(import.meta.url)('ws');
const ports = JSON.parse(process.argv[2]);
const connections = Number(process.argv[3]);
const TICK_MS = 20;
const MOST_AT_ONCE = 10;
const STEP_MS = 2500;
const STALL_MS = 1500;

const ended = [];
let [next, open, isOver] = [0, 0, false];

function client(id) {
  const plan = planOf(id);
  const report = { id, ending: plan.ending, way: plan.way, up: 0, upBytes: 0, down: 0, downBytes: 0, faults: [], thrown: 0 };
  const url = `${isSecure(plan.way) ? 'wss' : 'ws'}://127.0.0.1:${ports[plan.way]}/${id}`;
  const ws = new WebSocket(url, { perMessageDeflate: plan.compression, rejectUnauthorized: false, maxPayload: 0, closeTimeout: PATIENCE_MS });
  const state = { ws, id, plan, report, step: 0, timer: null, burstFrom: -1, stalled: false, socket: null, pings: 0, pongs: 0 };
  open++;
  ws.on('open', () => {
    state.socket = ws._socket;
    later(state);
  });
  ws.on('message', (data, isBinary) => take(state, data, isBinary));
  ws.on('pong', () => state.pongs++);
  ws.on('error', (error) => {
    // An action that a plan breaks off may cause an error here.
    if (!['reset', 'cut', 'terminate', 'broken'].includes(plan.ending)) report.faults.push(`error: ${error.message}`);
  });
  ws.on('close', (code) => {
    clearTimeout(state.timer);
    open--;
    if (report.finished && state.pings !== state.pongs) report.faults.push(`${state.pongs} pongs for ${state.pings} pings`);
    const { bytesRead, bytesWritten } = state.socket ?? {};
    ended.push(Object.assign(report, { code, read: bytesRead, written: bytesWritten, isOver }));
  });
}

function later(state) {
  const delay = isOver ? 10 : (hash(state.id, 7, state.step) % (2 * STEP_MS)) + 1;
  state.timer = setTimeout(() => act(state), delay);
}

function act(state) {
  const { ws, plan, report } = state;
  if (ws.readyState !== WebSocket.OPEN) return;
  if (state.stalled) {
    state.stalled = false;
    ws.resume();
  } else if (isOver || state.step >= plan.steps) {
    return end(state);
  } else if (plan.stalls && state.step === plan.steps >> 1 && state.burstFrom === -1) {
    // Only the server knows the number of the burst's first message: the length tells the client.
    state.burstFrom = 0;
    state.stalled = true;
    ws.send('!burst');
    ws.pause();
    state.timer = setTimeout(() => act(state), STALL_MS);
    return;
  } else if (ws.bufferedAmount === 0) {
    state.step++;
    say(state, report.up++);
    if (state.step % 5 === 0) {
      state.pings++;
      ws.ping('p');
    }
  }
  later(state);
}

function say({ ws, id, report }, n) {
  const message = messageOf(id, UP, n);
  report.upBytes += message.data.length;
  if (throws(id, n)) report.thrown++;
  for (const [data, fin] of partsOf(message, id, n)) ws.send(data, { binary: !message.isText, fin });
}

/** A frame with a reserved opcode, and a text with a declared length. */
const BROKEN = Buffer.from([0x83, 0x80, 0, 0, 0, 0]);
const UNFINISHED = Buffer.from([0x82, 0xfe, 1, 0, 0, 0, 0, 0, 1, 2, 3]);

function end({ ws, plan, socket }) {
  const { ending } = plan;
  // A socket of TLS cannot be reset.
  if (ending === 'reset' && isSecure(plan.way)) socket.destroy();
  else if (ending === 'reset') socket.resetAndDestroy();
  else if (ending === 'broken' || ending === 'cut' || ending === 'end') {
    // Behind messages that are being compressed.
    ws.ping('', true, () => {
      if (ending === 'end') return socket.end();
      socket.write(ending === 'broken' ? BROKEN : UNFINISHED);
      if (ending === 'cut') socket.end();
    });
  } else ws.send(`!${ending}`);
}

function take(state, data, isBinary) {
  const { ws, id, report } = state;
  if (!isBinary && data[0] === 0x21) {
    report.finished = true;
    ws.close(1000);
    return;
  }
  const n = report.down++;
  report.downBytes += data.length;
  const is = (wanted) => wanted.isText !== isBinary && wanted.data.equals(data);
  if (is(messageOf(id, DOWN, n))) return;
  const isBurst = state.burstFrom !== -1 && state.burstFrom++ < BURST.messages && is(burstOf(id, n));
  if (!isBurst) report.faults.push(`message ${n} is another one`);
}

const ticking = setInterval(() => {
  for (let i = 0; i < MOST_AT_ONCE && !isOver && open < connections; i++) client(next++);
  if (ended.length > 0) process.send({ ended: ended.splice(0) });
  if (!isOver || open > 0) return;
  clearInterval(ticking);
  process.send({ made: next });
  process.disconnect();
}, TICK_MS);
process.on('message', () => (isOver = true));
