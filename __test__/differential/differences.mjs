// The deliberate differences of this package from ws, with their reasons. docs/differences.md lists
// those that users can notice. A `scenario` without `ways` differs over every way in.

/** The ways in whose sockets belong to the reactor. */
const REACTOR = ['port', 'server', 'noServer', 'tls'];

const PONGS = 'the reactor answers pings when they come, not when their turn comes in JavaScript';
const TERMINATED = "after terminate() nothing is emitted but 'close'; ws still emits what it had read";
const NO_HTTP = 'with a port of its own there is no HTTP server of Node behind it';
const NO_TLS = 'ws has no TLS on a port: in its place it stands behind an https server that listens already';
const LAST = "'close' of the server follows that of its last client, as over the other ways; in ws it comes before";

export const differences = [
  {
    scenario: "receiving: 'data' of the socket has the bytes",
    ways: REACTOR,
    reason: 'the reactor reads the socket: nothing comes out of what stands for it',
  },
  { scenario: 'receiving: a ping behind the message whose handler closes', ways: REACTOR, reason: PONGS },
  {
    scenario: 'receiving: terminate() inside a message handler: what follows in the chunk',
    reason: TERMINATED,
  },
  {
    scenario: 'receiving: messages that came with the request, listeners that are added a microtask after connection',
    ways: REACTOR,
    reason: 'messages come in a later turn, so that such listeners get them; in ws they come too late',
  },
  {
    scenario: 'receiving: binaryType fragments',
    reason: 'a message is one piece of memory, so that it is given as one fragment',
  },
  {
    scenario: 'handshake: a version that is a number in another form',
    ways: ['port', 'tls'],
    reason: 'the version must be 13 or 8 to the letter (RFC 6455, 4.4); ws takes any text that JavaScript reads as one',
  },
  {
    scenario: 'handshake: what is not HTTP',
    reason: 'HTTP/1.0 and 1.1 only; Node takes a request line without a version for HTTP/0.9',
  },
  {
    scenario: 'options: listening: the callback, the event, and when',
    reason: 'address() has the address as soon as the server is bound, where ws waits for the lookup of the host',
  },
  {
    scenario: 'options: options that are changed count for the next connection',
    ways: ['port', 'tls'],
    reason: 'the reactor learns how to serve connections when it starts to listen; hooks and path may be changed',
  },
  ...[
    'options: the defaults in server.options',
    'options: given options in server.options',
    'overrides: emit of a subclass sees events and changes header lines',
    'every member: server: methods of a subclass',
  ].map((scenario) => ({ scenario, ways: ['tls'], reason: NO_TLS })),
  { scenario: 'options: _server is an HTTP server that can be asked', reason: NO_HTTP },
  { scenario: 'server closing: clients stay open, and close comes behind the last of them', ways: ['port'], reason: LAST },
  { scenario: 'server closing: without tracking close does wait with a port', reason: LAST },
  { scenario: 'server closing: close() inside of connection', ways: ['port'], reason: LAST },
  {
    scenario: 'server closing: two servers on one HTTP server, each for its path',
    reason: 'each serves its path; in ws each of them also refuses what is for another, into its frames',
  },
  { scenario: 'pausing: a paused WebSocket and terminate()', reason: TERMINATED },
  {
    scenario: 'pausing: events of the socket when the peer closes',
    ways: REACTOR,
    reason: "the reactor ends its sockets itself, and reports that they are closed: there is no 'end'",
  },
  {
    scenario: 'exports: as an ES module',
    reason: 'Server is exported by name as well, so that the lists of both kinds of module are the same',
  },
  {
    scenario: 'closing: _closeFrameSent: after close(), and in the end',
    ways: REACTOR,
    reason: 'this private field says that the frame was handed to the reactor, not that it was written',
  },
  {
    scenario: 'sending: bufferedAmount before the connection is open',
    reason: '0, as the types say, instead of undefined',
  },
  {
    scenario: 'exceptions: in a message handler: what comes later',
    reason: 'a handler that throws loses nothing but its own message; in ws the connection reads no more for ever',
  },
  {
    scenario: 'protocol errors: invalid UTF-8 in a fragment that is not the last',
    reason: 'the connection ends with the fragment that is wrong (RFC 6455, 8.1); ws looks when the message is complete',
  },
  { scenario: 'exports: names, and which of them are the same', reason: 'emitUpgrades and listen are additions' },
  {
    scenario: 'special: maxPendingAutoPongs: a peer that does not read',
    reason: 'the connection ends with the first ping above the limit, ws goes on to the end of what it has read',
  },
  {
    scenario: 'special: maxBufferedChunks',
    reason: 'a frame in many pieces takes no more memory than in one, so that there is nothing to bound',
  },
  ...['a block with BFINAL that ends with its fragment', 'a block with BFINAL that the trailer ends'].map((title) => ({
    scenario: `deflate: ${title}`,
    reason: 'the next fragment or message begins a stream (RFC 7692, 7.2.1); ws loses it',
  })),
];
