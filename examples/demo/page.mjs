// The page of the demo.

import { Chart, format } from './chart.mjs';

const $ = (id) => document.getElementById(id);
const name = `guest-${Math.random().toString(36).slice(2, 6)}`;
$('name').textContent = name;
const url = new URL('live', location.href);
url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';

/** Samples in a chart: 30 s. */
const POINTS = 120;
const READERS = { others: { style: 'ours', title: '9 readers' }, one: { style: 'theirs', title: 'the tenth' } };
const feedCharts = [
  new Chart($('feed-charts'), { key: 'messages', title: 'Messages received', unit: '/s', floor: 1, top: 100, lines: READERS }),
  new Chart($('feed-charts'), { key: 'delay', title: 'Time from publish to receipt', unit: 'ms', floor: 0.1, top: 10, lines: READERS }),
];
const charts = [
  new Chart($('charts'), { key: 'javascriptCpu', title: 'CPU of the JavaScript thread', unit: '%', top: 10, note: 'While it is blocked, JavaScript computes: both threads are busy then.' }),
  new Chart($('charts'), { key: 'ping', title: 'Time to answer a ping', unit: 'ms', floor: 0.1, top: 10 }),
  new Chart($('charts'), { key: 'echoes', title: 'Messages echoed', unit: '/s', top: 100, clips: true }),
];
const MORE = [
  ['allCpu', 'CPU of all threads, %'],
  ['reactorCpu', 'CPU of the reactor thread, %'],
  ['delayMax', 'Event-loop delay, longest, ms'],
  ['perTurn', 'Messages per turn of the event loop'],
  ['memory', 'Memory, MiB'],
];
const cells = MORE.map(([key, title]) => {
  const row = $('more').insertRow();
  row.innerHTML = `<th scope="row">${title}</th><td></td><td></td>`;
  return { key, ours: row.cells[1], theirs: row.cells[2] };
});

let samples = [];
let feed = [];
let load = { isOn: true, connections: 100, rate: 20_000 };
let socket = null;
let chosenRoom;
let delay = 500;

const HANDLERS = {
  welcome({ history, load: current, feed: feedHistory, rooms }) {
    samples = fromFirst(history, 'echoes');
    feed = fromFirst(feedHistory, 'messages');
    showLoad(current);
    $('room').replaceChildren(...rooms.map((room) => Object.assign(document.createElement('option'), { textContent: room })));
    if (samples.length > 0) draw();
    if (feed.length > 0) drawFeed();
  },
  sample({ sample }) {
    add(samples, sample);
    showBusy($('block'), sample.isBlocked);
    draw();
  },
  feed({ sample }) {
    add(feed, sample);
    showBusy($('stall'), sample.isBlocked);
    drawFeed();
  },
  stalled({ stalled: { isStalled, during, slowest, lacked, missed, waited } }) {
    showBusy($('stall'), isStalled);
    if (isStalled) return;
    const others = `Meanwhile each of the 9 readers got ${during} messages or more, the slowest after ${milliseconds(slowest)}.`;
    const one = `The tenth then got the ${lacked} that it lacked, and missed ${missed}; at most ${bytes(waited)} waited for it.`;
    $('stall-verdict').textContent = `${others} ${one}`;
  },
  room({ room }) {
    chosenRoom = room;
    $('room').value = room;
    $('lines').replaceChildren();
  },
  verdict({ verdict }) {
    const sentence = (server) => `${server} answered ${verdict[server].answered}, the slowest in ${milliseconds(verdict[server].slowest)}`;
    $('verdict').textContent = `Pings while JavaScript was blocked: ${sentence('reactor-ws')}; ${sentence('ws')}.`;
    showBusy($('block'), false);
  },
  load: ({ load: current }) => showLoad(current),
  chat: ({ from, text }) => addLine($('lines'), text, from),
  echo: ({ at, text }) => addLine($('echoes'), `${text} (${(performance.now() - at).toFixed(2)} ms)`),
};

function connect() {
  socket = new WebSocket(url);
  socket.onopen = () => {
    delay = 500;
    setState('open', 'connected');
    socket.send(JSON.stringify({ type: 'hello', name, room: chosenRoom }));
  };
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    HANDLERS[message.type](message);
  };
  socket.onclose = () => {
    setState('', 'not connected, trying again');
    setTimeout(connect, delay);
    delay = Math.min(delay * 2, 8000);
  };
}

function add(list, sample) {
  list.push(sample);
  if (list.length > POINTS) list.shift();
}

/** The samples from the first one on in which something was done. */
function fromFirst(list, key) {
  const first = list.findIndex(({ servers }) => Object.values(servers).some((figures) => figures[key] > 0));
  return first === -1 ? [] : list.slice(first);
}

function drawFeed() {
  for (const chart of feedCharts) chart.draw(feed);
}

function draw() {
  for (const chart of charts) chart.draw(samples);
  const { servers } = samples.at(-1);
  for (const { key, ours, theirs } of cells) {
    ours.textContent = format(servers['reactor-ws'][key]);
    theirs.textContent = format(servers.ws[key]);
  }
}

/** The texts of buttons that start something: before, and while it lasts. */
const TEXTS = {
  block: ['Block JavaScript for 3 s', 'JavaScript is blocked'],
  stall: ['Stall one reader for 5 s', 'One reader is stalled'],
};

function showBusy(button, isBusy) {
  // Not `disabled`, which would take the focus away.
  button.setAttribute('aria-disabled', String(isBusy));
  button.textContent = TEXTS[button.id][Number(isBusy)];
}

function showLoad(current) {
  load = current;
  $('load-connections').value = load.connections;
  $('load-rate').value = load.rate;
  $('load-toggle').textContent = load.isOn ? 'Stop' : 'Start';
  $('load-toggle').setAttribute('aria-pressed', String(load.isOn));
}

function milliseconds(value) {
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')} ms`;
}

function bytes(value) {
  return `${Math.round(value / 1024).toLocaleString('en')} KiB`;
}

function addLine(list, text, from) {
  const item = document.createElement('li');
  if (from === null) item.className = 'dim';
  if (from) {
    const who = document.createElement('strong');
    who.textContent = `${from}: `;
    item.append(who);
  }
  item.append(text);
  list.append(item);
  while (list.children.length > 100) list.firstChild.remove();
  list.scrollTop = list.scrollHeight;
}

function setState(style, text) {
  $('state').className = style;
  $('state').textContent = text;
}

function send(message) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

/** @param {boolean} isOn */
function sendLoad(isOn) {
  const [connections, rate] = [$('load-connections').valueAsNumber, $('load-rate').valueAsNumber];
  send({ type: 'load', isOn, connections, rate });
}

for (const type of Object.keys(TEXTS)) {
  $(type).onclick = () => {
    if ($(type).getAttribute('aria-disabled') !== 'true') send({ type });
  };
}
$('load').onsubmit = (event) => {
  event.preventDefault();
  sendLoad(true);
};
$('load-toggle').onclick = () => sendLoad(!load.isOn);
$('echo').onsubmit = (event) => {
  event.preventDefault();
  send({ type: 'echo', text: $('echo-text').value, at: performance.now() });
};
$('room').onchange = () => send({ type: 'room', room: $('room').value });
$('chat').onsubmit = (event) => {
  event.preventDefault();
  send({ type: 'chat', text: $('chat-text').value });
  $('chat-text').value = '';
};

connect();
