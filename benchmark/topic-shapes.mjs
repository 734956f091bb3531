// The shapes of topics. Every server has rooms; messages of a member go to all members of its room.

/** @typedef {import('./shapes.mjs').Shape} Shape */

const ALL = ['ws', 'uws', 'socketio', 'reactor'];
const SOCKETIO = ['socketio', 'socketio_engine', 'socketio_rooms', 'socketio_auto', 'socketio_inline'];

/**
 * @returns {Record<string, Shape>}
 */
function made() {
  return {
    ...Object.fromEntries(
      [100, 4096].flatMap((payload) =>
        [100, 1000, 10_000].map((subscribers) => [`publish-${subscribers}x${payload}`, publish(subscribers, payload)]),
      ),
    ),
    rooms: {
      text: '1,000 clients in 10 rooms, each says two messages a second',
      load: { ...said(1000, 100), rooms: 10, speakers: 100, rate: 2000, spin: true },
      view: 'topics',
      candidates: [...ALL, 'reactor_inline'],
    },
    'socketio-1000': {
      text: '100 B to 1,000 sockets of Socket.IO',
      load: said(1000, 100),
      view: 'topics',
      candidates: SOCKETIO,
    },
    'socketio-10': {
      text: '1,000 clients of Socket.IO in 100 rooms of 10, each says a message a second',
      load: { ...said(1000, 100), rooms: 100, speakers: 10, rate: 1000, spin: true },
      view: 'topics',
      candidates: SOCKETIO,
    },
    stalled: {
      text: '999 live subscribers and one stalled, 2,000 messages a second',
      load: { ...said(999, 100), rate: 2000, stalled: 1, spin: true },
      view: 'topics',
      candidates: ['uws_drop', 'reactor_drop', 'reactor_drop_live'],
    },
    'stalled-16384': {
      text: '9 live subscribers and one stalled, 16 KiB, 1,000 a second: 50 MB that it does not read',
      load: { ...said(9, 16_384), rate: 1000, stalled: 1, seconds: 3, spin: true },
      view: 'topics',
      fresh: true,
      rounds: 3,
      // The publisher's messages grow the memory also if no subscriber is stalled.
      candidates: ['ws', 'uws_drop', 'reactor', 'reactor_drop', 'reactor_drop_live'],
    },
    jitter: jitter(),
    'avalanche-5000': avalanche(5000),
    'avalanche-10000': avalanche(10_000),
  };
}

/**
 * A message goes to all members, and the next one when all have it.
 *
 * @param {number} subscribers
 * @param {number} payload
 * @returns {Shape}
 */
function publish(subscribers, payload) {
  return {
    text: `${payload} B to ${subscribers.toLocaleString('en')} subscribers`,
    load: said(subscribers, payload),
    view: 'topics',
    candidates: [...ALL, 'reactor_inline', ...(subscribers === 10_000 ? ['reactor_100'] : [])],
  };
}

/**
 * A fifth of the times of AnyCable's benchmark, where clients are cut off every 15 s for 2 s.
 *
 * @returns {Shape}
 */
function jitter() {
  return {
    text: '1,000 subscribers, each cut off every 3 s for 0.4 s, 20 messages a second',
    load: { ...said(1000, 100), rate: 20, 'cut-every': 3, 'cut-for': 0.4, seconds: 6, spin: true },
    view: 'jitter',
    fresh: true,
    rounds: 3,
    candidates: [...ALL, 'socketio_recovery', 'reactor_history'],
  };
}

/**
 * @param {number} clients
 * @returns {Shape}
 */
function avalanche(clients) {
  return {
    text: `the server is started again, ${clients.toLocaleString('en')} clients come back at once`,
    load: { ...said(clients, 100), mode: 'avalanche', timeout: 40 },
    view: 'avalanche',
    fresh: true,
    rounds: 3,
    candidates: [...ALL, 'reactor_inline'],
  };
}

/**
 * @param {number} connections
 * @param {number} payload
 * @returns {Shape['load']}
 */
function said(connections, payload) {
  return { mode: 'topics', connections, payload };
}

export const topicShapes = made();
