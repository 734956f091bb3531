//! Events and commands across threads, with a test in place of JavaScript.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use super::server::{bind, listen};
use super::turns::until;
use super::*;
use crate::bridge::batch::Batch;
use crate::bridge::chunk::Chunk;
use crate::bridge::layout::*;
use crate::reactor::{Command, ConnectionId, Forward, Handle, Link, ListenerConfig, Reactor, ReactorConfig};

/// One record: its slot, kind, flags, aux, count or length, and payload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) slot: u32,
    pub(crate) kind: u8,
    pub(crate) aux: u16,
    pub(crate) count: u32,
    pub(crate) payload: Vec<u8>,
}

/// The other side of the bridge.
pub(crate) struct Js {
    pub(crate) link: Arc<Link>,
    pub(crate) handle: Handle,
    pub(crate) address: SocketAddr,
    pub(crate) bell: Receiver<()>,
    pub(crate) thread: Option<JoinHandle<()>>,
}

/// The reactor of this side, before it has a thread.
pub(crate) fn forward(config: ReactorConfig) -> (Js, Reactor<Forward>) {
    forward_with(config, ListenerConfig::default())
}

/// The same for connections that are served with `listening`.
pub(crate) fn forward_with(config: ReactorConfig, listening: ListenerConfig) -> (Js, Reactor<Forward>) {
    let (link, (ring, bell)) = (Arc::new(Link::new()), channel());
    let ring = Box::new(move || {
        // The other side is gone when a test has failed.
        let _failed = ring.send(());
    });
    let consumer = Forward::new(link.clone(), &config, ring);
    let reactor = Reactor::new(consumer, config).unwrap();
    let listener = bind();
    let (handle, address) = (reactor.handle(), listener.address());
    // Clients open before anything is drained.
    listen(&handle, 0, listener, ListenerConfig { early_handshake: true, ..listening });
    (Js { link, handle, address, bell, thread: None }, reactor)
}

impl Js {
    pub(crate) fn start(config: ReactorConfig) -> Self {
        let (mut js, mut reactor) = forward(config);
        js.thread = Some(std::thread::spawn(move || reactor.run().expect("epoll works")));
        js
    }

    /// The next batch, waiting for the bell where necessary.
    pub(crate) fn take(&self) -> Box<Batch> {
        loop {
            if let Some(batch) = self.link.inbox.take() {
                return batch;
            }
            self.link.inbox.bell().answer();
            if let Some(batch) = self.link.inbox.take() {
                return batch;
            }
            self.bell.recv_timeout(PATIENCE).expect("a ring");
        }
    }

    /// Copies the records out and gives the batch back.
    pub(crate) fn drain(&self) -> Vec<Record> {
        let batch = self.take();
        let mut words = vec![0; MAX_RECORDS * RECORD_WORDS];
        let count = batch.copy_records(&mut words);
        assert_eq!(count, batch.records.len(), "no more records than the other side has room for");
        let records = words.as_chunks::<RECORD_WORDS>().0.iter().take(count);
        let records = records.map(|words| record(&batch, words)).collect();
        if self.link.inbox.give_back(batch) {
            self.handle.wake().unwrap();
        }
        records
    }

    pub(crate) fn give_all_back(&self) {
        while let Some(batch) = self.link.inbox.take() {
            let _wakes_nobody = self.link.inbox.give_back(batch);
        }
    }

    /// Drains until `count` records are there.
    pub(crate) fn records(&self, count: usize) -> Vec<Record> {
        let mut all = Vec::new();
        while all.len() < count {
            all.extend(self.drain());
        }
        assert_eq!(all.len(), count, "{:?}", all.last());
        all
    }

    /// The next record, which opens or asks for a connection.
    pub(crate) fn opened(&self, kind: u8) -> ConnectionId {
        let [record] = &self.records(1)[..] else { panic!("one") };
        assert_eq!(record.kind, kind);
        let generation = record.payload.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
        ConnectionId { slot: record.slot, generation: generation.unwrap() }
    }

    pub(crate) fn send(&self, to: ConnectionId, kind: u8, flags: u8, aux: u16, payload: &[u8]) {
        let mut chunk = Chunk { bytes: self.handle.outbox().buffer(), ..Chunk::default() };
        chunk.push_record((to.slot, to.generation), kind, flags, aux, payload);
        self.handle.submit(Command::Chunk(chunk)).unwrap();
    }
}

impl Drop for Js {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.handle.submit(Command::Stop).unwrap();
        let ended = thread.join();
        assert!(std::thread::panicking() || ended.is_ok(), "the reactor's thread panicked");
    }
}

pub(crate) fn record(batch: &Batch, words: &[u32; RECORD_WORDS]) -> Record {
    let (kind, flags, aux) = unpack(words[1]);
    let (offset, length) = (words[2] as usize, words[3] as usize);
    let carries = matches!(
        kind,
        IN_OPEN | IN_REQUEST | IN_TEXT | IN_BINARY | IN_PING | IN_PONG | IN_CLOSE | IN_FAILURE | IN_SUBSCRIBED
            ..=IN_HISTORY
    );
    let payload = match (carries, flags & IN_FLAG_OWNED != 0) {
        (false, _) => Vec::new(),
        (true, true) => batch.large[offset].clone(),
        // The other side copies `..used`, and no reference can lead outside of it.
        (true, false) => batch.bytes[..batch.used][offset..offset + length].to_vec(),
    };
    Record { slot: words[0], kind, aux, count: words[3], payload }
}

#[test]
fn an_empty_message_refers_to_no_byte_beyond_the_batch() {
    let js = Js::start(ReactorConfig::default());
    let mut client = Client::open(js.address);
    js.opened(IN_OPEN);
    for _ in 0..3 {
        client.send("81 80 01020304  8a 80 01020304");
        let reported: Vec<_> = js.records(2).into_iter().map(|r| (r.kind, r.payload.len())).collect();
        assert_eq!(reported, [(IN_TEXT, 0), (IN_PONG, 0)]);
    }
}

/// While the consumer decides, only a small read is taken of what follows a request.
#[test]
fn what_comes_behind_a_request_stays_in_the_socket_while_the_consumer_decides() {
    let message = frame(0x82, Some([0; 4]), &[7; 1000]);
    let stream = message.repeat(60);
    let all = [UPGRADE.as_bytes(), &stream].concat();
    for split in [0, 1, UPGRADE.len() - 1, UPGRADE.len()] {
        let (js, mut reactor) = forward(ReactorConfig::default());
        js.link.set_ask(0, ASK_ACCEPTED);
        let mut client = Client::connect(js.address);
        let (first, rest) = all.split_at(split);
        client.write(first);
        until(&mut reactor, |reactor| reactor.connections() == 1);
        client.write(rest);
        until(&mut reactor, |reactor| {
            reactor.connections.get_mut(0).is_some_and(|c| c.life.is_awaiting_decision())
        });
        let received = reactor.connections.get_mut(0).map_or(0, |connection| connection.read.received);
        assert!(received < UPGRADE.len() as u64 + 2048, "{received}");
        let id = reactor.connections.find(0).expect("it is asked about").0;
        js.drain();
        js.send(id, OUT_HEAD, 0, 0, &stream[..received as usize - UPGRADE.len()]);
        js.send(id, OUT_ACCEPT, 0, 0, client::SWITCHED.as_bytes());
        let mut messages = 0;
        until(&mut reactor, |_| {
            while let Some(batch) = js.link.inbox.take() {
                messages += batch.records.iter().filter(|record| record.kind().0 == IN_BINARY).count();
                let _no_matter = js.link.inbox.give_back(batch);
            }
            messages == 60
        });
        client.expect_text(client::SWITCHED);
    }
}

#[test]
fn r15_commands_of_many_threads_arrive_in_the_order_of_each() {
    let js = Js::start(ReactorConfig::default());
    let mut client = Client::open(js.address);
    let id = js.opened(IN_OPEN);
    let threads: Vec<_> = (0..4_u8)
        .map(|thread| {
            let handle = js.handle.clone();
            std::thread::spawn(move || {
                for n in 0..1000_u16 {
                    let [high, low] = n.to_be_bytes();
                    let mut chunk = Chunk::default();
                    let to = (id.slot, id.generation);
                    chunk.push_record(to, OUT_BINARY, OUT_FLAG_FIN, 0, &[thread, high, low]);
                    handle.submit(Command::Chunk(chunk)).unwrap();
                }
            })
        })
        .collect();
    let mut next = [0_u16; 4];
    for _ in 0..4000 {
        let [0x82, 3, thread, high, low] = client.read(5)[..] else { panic!("a frame") };
        let expected = &mut next[usize::from(thread)];
        assert_eq!(u16::from_be_bytes([high, low]), *expected);
        *expected += 1;
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
