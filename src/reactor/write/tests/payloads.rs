//! Every kind of record that has a payload, with the payload in every place where it can be.

use std::time::Duration;

use crate::bridge::chunk::Chunk;
use crate::bridge::layout::*;
use crate::engine::Large;
use crate::reactor::tests::bridge::{Js, forward};
use crate::reactor::tests::turns::until;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, Forward, Reactor, ReactorConfig};

/// Lengths on both sides of the sizes of a receive buffer, a gathering buffer, and a large payload.
const LENGTHS: [usize; 7] = [0, 1, 2047, 2048, 65_535, 65_536, 300_000];

#[derive(Clone, Copy, Debug)]
enum Place {
    /// The payload is behind its record.
    Chunk,
    /// A large payload of the chunk.
    Large,
    /// A large payload that the caller has.
    Last,
}

const PLACES: [Place; 3] = [Place::Chunk, Place::Large, Place::Last];

/// A reactor that the test turns, and JavaScript's parts of it.
struct World {
    js: Js,
    reactor: Reactor<Forward>,
}

impl World {
    fn new() -> Self {
        let (js, mut reactor) = forward(ReactorConfig::default());
        reactor.run_once(Some(Duration::ZERO)).expect("epoll works");
        Self { js, reactor }
    }

    /// A client that has sent an upgrade request, and the record of it.
    fn connect(&mut self, kind: u8) -> (Client, ConnectionId) {
        let client = Client::asking(self.js.address);
        until(&mut self.reactor, |_| self.js.link.inbox.is_waiting());
        (client, self.js.opened(kind))
    }

    /// A record with a payload, and a message right after it.
    fn send(&mut self, id: ConnectionId, (kind, flags): (u8, u8), place: Place, payload: &[u8]) {
        let (mut chunk, to) = (Chunk::default(), (id.slot, id.generation));
        match place {
            Place::Chunk => chunk.push_record(to, kind, flags, 0, payload),
            Place::Large => chunk.push_large(to, kind, flags, 0, Large::copy(payload)),
            Place::Last => {
                chunk.push_large(to, kind, flags, 0, Large::default());
                self.reactor.serve_records(&chunk.bytes, Vec::new(), Some(payload));
                chunk = Chunk::default();
            }
        }
        chunk.push_record(to, OUT_TEXT, OUT_FLAG_FIN | OUT_FLAG_WANT_SENT, 0, b"next");
        self.reactor.serve_records(&chunk.bytes, chunk.large, None);
    }
}

fn noise(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 % 251) as u8).collect()
}

#[test]
fn what_came_behind_a_request_is_read_from_wherever_it_lies() {
    for len in LENGTHS {
        for place in PLACES {
            let mut world = World::new();
            world.js.link.set_ask(0, ASK_ACCEPTED);
            let (_client, id) = world.connect(IN_REQUEST);
            let payload = noise(len);
            world.send(id, (OUT_HEAD, 0), place, &frame(0x82, Some([1, 2, 3, 4]), &payload));
            world.send(id, (OUT_ACCEPT, 0), PLACES[0], client::SWITCHED.as_bytes());
            let mut reported = Vec::new();
            until(&mut world.reactor, |_| {
                if world.js.link.inbox.is_waiting() {
                    reported.extend(world.js.drain());
                }
                reported.iter().any(|record| record.kind == IN_BINARY)
            });
            reported.retain(|record| record.kind == IN_BINARY);
            assert!(reported.iter().map(|record| &record.payload).eq([&payload]), "{len} {place:?}");
        }
    }
}

/// A close frame is not a send: it is counted neither with the sends nor here.
#[test]
fn what_is_counted_is_what_was_sent_before_and_behind_a_close_frame() {
    let mut world = World::new();
    let (mut client, id) = world.connect(IN_OPEN);
    client.expect_text(client::SWITCHED);
    let to = (id.slot, id.generation);
    let mut chunk = Chunk::default();
    chunk.push_record(to, OUT_TEXT, OUT_FLAG_FIN, 0, b"text");
    chunk.push_record(to, OUT_CLOSE, 0, 1000, &[b'x'; 123]);
    chunk.push_record(to, OUT_WRITE, 0, 0, b"raw");
    world.reactor.serve_records(&chunk.bytes, Vec::new(), None);
    let close = frame(0x88, None, &[&[3, 232], &[b'x'; 123][..]].concat());
    assert!(client.read(6 + close.len() + 3) == [bytes("81 04 'text'"), close, b"raw".to_vec()].concat());
    assert_eq!(world.js.link.gauges.written(id.slot, id.generation), Some(6 + 3));
}

/// Dropped bytes are never reported as sent.
#[test]
fn a_send_that_is_dropped_does_not_count_as_sent() {
    let mut world = World::new();
    let (mut client, id) = world.connect(IN_OPEN);
    client.expect_text(client::SWITCHED);
    client.send("88 80 00000000");
    until(&mut world.reactor, |_| world.js.link.inbox.is_waiting());
    assert_eq!(world.js.records(1)[0].kind, IN_CLOSE);
    let to = (id.slot, id.generation);
    let mut chunk = Chunk::default();
    chunk.push_record(to, OUT_CLOSE, OUT_FLAG_WANT_SENT, 0, b"");
    chunk.push_record(to, OUT_TEXT, OUT_FLAG_FIN | OUT_FLAG_WANT_SENT, 0, b"late");
    chunk.push_large(to, OUT_BINARY, OUT_FLAG_FIN | OUT_FLAG_WANT_SENT, 0, Large::copy(b"late"));
    world.reactor.serve_records(&chunk.bytes, chunk.large, None);
    client.expect("88 00");
    until(&mut world.reactor, |_| world.js.link.inbox.is_waiting());
    client.expect_end();
    let mut chunk = Chunk::default();
    chunk.push_record(to, OUT_WRITE, OUT_FLAG_WANT_SENT, 0, b"after the end");
    world.reactor.serve_records(&chunk.bytes, Vec::new(), None);
    let [sent, closed] = &world.js.records(2)[..] else { panic!("two") };
    assert_eq!((sent.kind, sent.count), (IN_SENT, 1), "the close frame");
    assert_eq!(closed.kind, IN_CLOSED);
}
