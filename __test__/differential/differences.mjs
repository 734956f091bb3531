// Where this package behaves otherwise than ws, on purpose, and why. README.md tells users of those that they can
// notice. A `scenario` without `ways` differs over every way in.

/** The ways in whose sockets belong to the reactor. */
const REACTOR = ['port', 'server', 'noServer'];

const PONGS = 'the reactor answers pings when they come, not when their turn comes in JavaScript';

export const differences = [
  { scenario: 'receiving: a ping behind the message whose handler closes', ways: REACTOR, reason: PONGS },
  {
    scenario: 'receiving: terminate() inside a message handler: what follows in the chunk',
    reason: "after terminate() nothing is emitted but 'close'; ws still emits what it had read",
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
    scenario: 'closing: _closeFrameSent: after close(), and in the end',
    ways: REACTOR,
    reason: 'this private field says that the frame was handed to the reactor, not that it was written',
  },
  {
    scenario: 'sending: bufferedAmount before the connection is open',
    reason: '0, as the types say, instead of undefined',
  },
];
