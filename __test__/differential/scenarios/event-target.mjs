// addEventListener, removeEventListener and the on* attributes.
import { frame } from '../../helpers/clients.mjs';
import { section } from '../scenario.mjs';
import { outcome } from '../show.mjs';

const s = section('event target');
export default s;

const CLOSE = frame(8, Buffer.from([3, 232, 98, 121, 101]));
const QUIET = { events: [] };

/** The visible part of an event: its own and inherited enumerable properties, except the target. */
function shown(event, ws) {
  const fields = {};
  for (const name in event) if (name !== 'target') fields[name] = event[name];
  return [Object.getPrototypeOf(event).constructor.name, fields, event.target === ws, event instanceof Event];
}

s.session('message, close: what the events show', ({ c, ws, peer }) => {
  for (const type of ['open', 'message', 'close', 'error']) ws.addEventListener(type, (event) => c.log('events', type, shown(event, ws)));
  return peer.send(Buffer.concat([frame(1, 'text'), frame(2, 'bytes'), CLOSE]));
}, {}, QUIET);

s.session('error and an unclean close: what the events show', ({ c, ws, peer }) => {
  for (const type of ['close', 'error']) ws.addEventListener(type, (event) => c.log('events', type, shown(event, ws)));
  return peer.send(['8380 00000000']);
}, {}, QUIET);

s.session('message in other binary types', ({ c, ws, peer }) => {
  ws.binaryType = 'arraybuffer';
  ws.onmessage = ({ data }) => c.log('events', data);
  return peer.send(Buffer.concat([frame(2, 'bytes'), frame(1, 'text'), frame(1), CLOSE]));
}, {}, QUIET);

s.session('wasClean where only one side has closed', ({ c, ws, peer }) => {
  ws.onclose = ({ code, reason, wasClean }) => c.log('events', code, reason, wasClean);
  ws.close(1000);
  return peer.frames(1).then(() => peer.end());
}, {}, QUIET);

s.session('once, objects with handleEvent, this', ({ c, ws, peer }) => {
  const object = { handleEvent(event) { c.log('events', 'object', event.data, this === object); } };
  ws.addEventListener('message', object);
  ws.addEventListener('message', function listener({ data }) { c.log('events', 'function', data, this === ws); });
  ws.addEventListener('message', ({ data }) => c.log('events', 'once', data), { once: true });
  ws.onmessage = function listener({ data }) { c.log('events', 'attribute', data, this === ws); };
  return peer.send(Buffer.concat([frame(1, 'a'), frame(1, 'b'), CLOSE]));
}, {}, QUIET);

s.once('on*: get, set, replace, remove', (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  const [first, second] = [() => {}, () => {}];
  for (const name of ['onopen', 'onmessage', 'onclose', 'onerror']) {
    c.log('ws', name, ws[name]);
    ws[name] = first;
    c.log('ws', ws[name] === first, ws.listenerCount(name.slice(2)));
    ws[name] = second;
    c.log('ws', ws[name] === second, ws.listenerCount(name.slice(2)));
    for (const value of ['text', {}, 7, null]) {
      ws[name] = value;
      c.log('ws', ws[name], ws.listenerCount(name.slice(2)));
    }
  }
});

s.once('addEventListener: doubles, unknown types, wrong handlers', (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  const listener = () => {};
  ws.addEventListener('message', listener);
  ws.addEventListener('message', listener);
  ws.addEventListener('message', listener, { once: true });
  c.log('ws', ws.listenerCount('message'), ws.listeners('message')[0] === listener);
  ws.onmessage = listener;
  c.log('ws', ws.listenerCount('message'));
  for (const type of ['ping', 'pong', 'upgrade', 'foo', '', 'toString', '__proto__']) {
    c.log('ws', type, outcome(() => ws.addEventListener(type, listener)), ws.listenerCount(type));
  }
  for (const handler of [null, undefined, 'text', {}]) c.log('ws', outcome(() => ws.addEventListener('open', handler)));
  c.log('ws', ws.listenerCount('open'));
});

s.once('removeEventListener', (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  const [mine, other] = [() => {}, () => {}];
  ws.addEventListener('message', mine);
  ws.on('message', other);
  for (const handler of [other, () => {}, null]) ws.removeEventListener('message', handler);
  c.log('ws', ws.listenerCount('message'));
  ws.removeEventListener('message', mine);
  c.log('ws', ws.listenerCount('message'));
  ws.onclose = mine;
  ws.removeEventListener('close', mine);
  c.log('ws', ws.onclose === mine, outcome(() => ws.removeEventListener('nothing', mine)));
});

s.once('events can be emitted by hand', (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  ws.onmessage = ({ data, type }) => c.log('events', type, data);
  ws.onerror = ({ error, message, type }) => c.log('events', type, error, message);
  ws.onclose = ({ code, reason, wasClean }) => c.log('events', code, reason, wasClean);
  ws.onopen = ({ type, target }) => c.log('events', type, target === ws);
  ws.emit('open');
  ws.emit('message', Buffer.from('binary'), true);
  ws.emit('message', Buffer.from('text'), false);
  ws.emit('error', new Error('mine'));
  ws.emit('close', 1000, Buffer.from('reason'));
});

s.once('listeners are those of any emitter', (c) => {
  const ws = new c.WebSocket(null, undefined, {});
  const listener = (...all) => c.log('events', ...all);
  for (const event of ['a', '__proto__', 'constructor', 'toString']) {
    c.log('ws', ws.listenerCount(event), ws.emit(event));
    ws.on(event, listener);
  }
  ws.once('a', listener);
  c.log('ws', ws.eventNames(), ws.emit('a', 1, 2), ws.emit('__proto__', 3));
  ws.off('a', listener);
  ws.on('removeListener', (event) => c.log('removed', event));
  ws.on('message', () => {});
  ws.once('close', () => {});
  ws.removeListener('message', ws.listeners('message')[0]);
  ws.emit('close');
  c.log('ws', ws.eventNames());
});
