// The page of the demo.

import { Chart, format } from './chart.mjs';

const $ = (id) => document.getElementById(id);
const name = `guest-${Math.random().toString(36).slice(2, 6)}`;
$('name').textContent = name;
const url = new URL('live', location.href);
url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';

/** Samples in a chart: 30 s. */
const POINTS = 120;
const charts = [
  new Chart($('charts'), { key: 'javascriptCpu', title: 'CPU of the JavaScript thread', unit: '%', top: 10 }),
  new Chart($('charts'), { key: 'ping', title: 'A ping is answered in', unit: 'ms', floor: 0.1, top: 10 }),
  new Chart($('charts'), { key: 'echoes', title: 'Messages', unit: '/s', top: 100 }),
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
let load = { isOn: true, connections: 100, rate: 20_000 };
let socket = null;
let delay = 500;

const HANDLERS = {
  welcome({ history, load: current, lines }) {
    samples = history;
    showLoad(current);
    $('lines').replaceChildren();
    for (const { from, text } of lines) addLine($('lines'), text, from);
    if (samples.length > 0) draw();
  },
  sample({ sample }) {
    samples.push(sample);
    if (samples.length > POINTS) samples.shift();
    showBlocked(sample.isBlocked);
    draw();
  },
  verdict({ verdict }) {
    const sentence = (server) => `${server} answered ${verdict[server].answered}, the slowest in ${milliseconds(verdict[server].slowest)}`;
    $('verdict').textContent = `Pings while JavaScript was blocked: ${sentence('reactor-ws')}; ${sentence('ws')}.`;
    showBlocked(false);
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
    socket.send(JSON.stringify({ type: 'hello', name }));
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

function draw() {
  for (const chart of charts) chart.draw(samples);
  const { servers } = samples.at(-1);
  for (const { key, ours, theirs } of cells) {
    ours.textContent = format(servers['reactor-ws'][key]);
    theirs.textContent = format(servers.ws[key]);
  }
}

function showBlocked(isBlocked) {
  const button = $('block');
  // Not `disabled`, which would take the focus away.
  button.setAttribute('aria-disabled', String(isBlocked));
  button.textContent = isBlocked ? 'JavaScript is blocked' : 'Block JavaScript for 3 s';
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

$('block').onclick = () => {
  if ($('block').getAttribute('aria-disabled') !== 'true') send({ type: 'block' });
};
$('load').onsubmit = (event) => {
  event.preventDefault();
  sendLoad(true);
};
$('load-toggle').onclick = () => sendLoad(!load.isOn);
$('echo').onsubmit = (event) => {
  event.preventDefault();
  send({ type: 'echo', text: $('echo-text').value, at: performance.now() });
};
$('chat').onsubmit = (event) => {
  event.preventDefault();
  send({ type: 'chat', text: $('chat-text').value });
  $('chat-text').value = '';
};

connect();
