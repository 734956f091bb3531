//! Reactors with topics that the test turns: they are done when nothing happens any more.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::bridge::chunk::Chunk;
use crate::bridge::layout::*;
use crate::bridge::split::split;
use crate::reactor::tests::bridge::{Record, record};
use crate::reactor::tests::client::SWITCHED;
use crate::reactor::tests::server::bind;
use crate::reactor::tests::*;
use crate::reactor::topics::Topics;
use crate::reactor::{
    Command, ConnectionId, Forward, Link, ListenerConfig, Reactor, ReactorConfig, reactors,
};

/// The payload of a topic's record: slow, limit, history, ttl, most bytes.
pub(super) type Settings = [u32; TOPIC_WORDS];
/// A topic without history, with a queue for slow members.
pub(super) const PLAIN: Settings = [Slow::Queue as u32, 0, 0, 0, 0];

pub(super) struct Stage {
    pub(super) reactors: Vec<Reactor<Forward>>,
    links: Vec<Arc<Link>>,
    address: SocketAddr,
    /// Records that the test has written and not handed over.
    pub(super) chunk: Chunk,
    /// Records that came and have not been looked at.
    pub(super) reported: Vec<Record>,
}

impl Stage {
    pub(super) fn new(count: usize, config: ReactorConfig) -> Self {
        Self::with(count, config, ListenerConfig::default(), None)
    }

    /// `send_buffer`: how much the kernel takes of a connection's bytes.
    pub(super) fn with(
        count: usize,
        config: ReactorConfig,
        listening: ListenerConfig,
        send_buffer: Option<usize>,
    ) -> Self {
        let links = Link::group(count, &Link::new());
        let forward = |link: &Arc<Link>| Forward::new(link.clone(), &config, Box::new(|| {}));
        let reactors = reactors(links.iter().map(forward).collect(), config).unwrap();
        let listener = bind();
        if let Some(size) = send_buffer {
            listener.duplicate().set_send_buffer_size(size).unwrap();
        }
        let address = listener.address();
        let config = Arc::new(ListenerConfig { early_handshake: true, ..listening });
        for reactor in &reactors[1..] {
            reactor.handle().submit(Command::Join { id: 0, config: config.clone() }).unwrap();
        }
        reactors[0].handle().submit(Command::Listen { id: 0, listener, config }).unwrap();
        reactors[0].handle().submit(Command::Accept(0)).unwrap();
        Self { reactors, links, address, chunk: Chunk::default(), reported: Vec::new() }
    }

    /// A connection with its client.
    pub(super) fn open(&mut self) -> (Client, ConnectionId) {
        self.open_with(Client::connect, UPGRADE, SWITCHED)
    }

    /// A connection with a client that has little room for unread bytes.
    pub(super) fn open_narrow(&mut self) -> (Client, ConnectionId) {
        self.open_with(|address| Client::connect_narrow(address, 4 << 10), UPGRADE, SWITCHED)
    }

    pub(super) fn open_with(
        &mut self,
        connect: impl FnOnce(SocketAddr) -> Client,
        request: &str,
        answer: &str,
    ) -> (Client, ConnectionId) {
        let mut client = connect(self.address);
        client.write(request.as_bytes());
        let begun = std::time::Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "it does not open");
            self.turn();
            if let Some(place) = self.reported.iter().position(|record| record.kind == IN_OPEN) {
                let record = self.reported.remove(place);
                let generation = u32::from_le_bytes(*record.payload.first_chunk().unwrap());
                client.expect_text(answer);
                return (client, ConnectionId { slot: record.slot, generation });
            }
        }
    }

    /// Hands the records over and turns until nothing happens.
    pub(super) fn settle(&mut self) {
        self.submit();
        while {
            let before = self.reported.len();
            self.turn();
            let reports = self.reactors.iter().any(|reactor| !reactor.topics.dropped.is_empty());
            before != self.reported.len() || reports || self.reactors.iter().any(Reactor::is_behind)
        } {}
    }

    /// Hands the records over.
    pub(super) fn submit(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        let (count, mask) = (self.reactors.len(), self.reactors.len().next_power_of_two() - 1);
        let chunks = match count {
            1 => vec![chunk],
            _ => {
                let number = |slot| 1 + (slot as usize & mask);
                split(&chunk.bytes, chunk.large, count, number, |_| Vec::new()).split_off(1)
            }
        };
        for (reactor, chunk) in self.reactors.iter().zip(chunks) {
            if !chunk.bytes.is_empty() {
                reactor.handle().submit(Command::Chunk(chunk)).unwrap();
            }
        }
    }

    /// One turn of each reactor.
    pub(super) fn turn(&mut self) {
        for (reactor, link) in self.reactors.iter_mut().zip(&self.links) {
            reactor.run_once(Some(Duration::ZERO)).unwrap();
            while let Some(batch) = link.inbox.take() {
                self.reported.extend(batch.records.iter().map(|it| record(&batch, &it.0)));
                let _no_matter = link.inbox.give_back(batch);
            }
        }
    }

    pub(super) fn topic(&mut self, topic: u32, settings: Settings) {
        self.about(OUT_TOPIC, topic, 0, 0, &words(&settings));
    }

    pub(super) fn about(&mut self, kind: u8, topic: u32, flags: u8, aux: u16, payload: &[u8]) {
        self.chunk.push_record((TOPIC_SLOT, topic), kind, flags, aux, payload);
    }

    pub(super) fn record(&mut self, id: ConnectionId, kind: u8, flags: u8, aux: u16, payload: &[u8]) {
        self.chunk.push_record((id.slot, id.generation), kind, flags, aux, payload);
    }

    pub(super) fn join(&mut self, id: ConnectionId, topic: u32) {
        self.join_since(id, topic, 0, SINCE_NOW, 0);
    }

    pub(super) fn join_since(&mut self, id: ConnectionId, topic: u32, request: u32, since: u32, offset: u32) {
        self.record(id, OUT_SUBSCRIBE, 0, 0, &words(&[topic, request, since, offset, 0]));
    }

    pub(super) fn leave(&mut self, id: ConnectionId, topic: u32) {
        self.record(id, OUT_UNSUBSCRIBE, 0, 0, &words(&[topic]));
    }

    pub(super) fn publish(&mut self, topic: u32, text: &[u8]) {
        self.about(OUT_PUBLISH, topic, OUT_FLAG_FIN | OUT_FLAG_COMPRESS, PUBLISH_TEXT, text);
    }

    pub(super) fn target(&mut self, topic: u32, except: &[ConnectionId], key: &[u8]) {
        let mut all = vec![except.len() as u32, key.len() as u32, 0];
        all.extend(except.iter().flat_map(|id| [id.slot, id.generation]));
        let mut payload = words(&all);
        payload.extend_from_slice(key);
        self.about(OUT_TARGET, topic, 0, 0, &payload);
    }

    pub(super) fn send(&mut self, id: ConnectionId, text: &[u8]) {
        self.record(id, OUT_TEXT, OUT_FLAG_FIN, 0, text);
    }

    /// Received records of this kind, in order: their slots and words.
    pub(super) fn take(&mut self, kind: u8) -> Vec<(u32, Vec<u32>)> {
        let (taken, rest) =
            std::mem::take(&mut self.reported).into_iter().partition(|it: &Record| it.kind == kind);
        self.reported = rest;
        taken.into_iter().map(|it| (it.slot, unwords(&it.payload))).collect()
    }

    /// Asserts that no topic has left anything behind.
    #[track_caller]
    pub(super) fn expect_nothing_left(&self) {
        for reactor in &self.reactors {
            let Topics { topics, joined, leaving, dropped, histories, .. } = &reactor.topics;
            assert!(topics.is_empty() && joined.is_empty() && leaving.is_empty());
            assert!(dropped.is_empty() && histories.used == 0 && histories.deadline().is_none());
        }
    }
}

pub(super) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

pub(super) fn unwords(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// Texts that a client gets, whole frames of them, without waiting.
#[derive(Default)]
pub(super) struct Inflow {
    bytes: Vec<u8>,
    pub(super) ended: bool,
}

impl Inflow {
    /// Reads up to `most` bytes; gives the first byte and the payload of each whole frame.
    pub(super) fn read(&mut self, client: &mut Client, most: usize) -> Vec<(u8, Vec<u8>)> {
        client.0.set_nonblocking(true).unwrap();
        let mut piece = [0; 4096];
        let mut left = most;
        while left > 0 && !self.ended {
            let room = left.min(piece.len());
            match client.0.read(&mut piece[..room]) {
                Ok(0) => self.ended = true,
                Ok(len) => {
                    self.bytes.extend_from_slice(&piece[..len]);
                    left -= len;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.ended = true,
            }
        }
        client.0.set_nonblocking(false).unwrap();
        let mut frames = Vec::new();
        while let Some((first, payload, len)) = whole(&self.bytes) {
            frames.push((first, payload));
            self.bytes.drain(..len);
        }
        frames
    }
}

/// The first frame of a server, if it is whole, and its length.
fn whole(bytes: &[u8]) -> Option<(u8, Vec<u8>, usize)> {
    let (&first, &len) = (bytes.first()?, bytes.get(1)?);
    let (start, len) = match len {
        126 => (4, u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?).into()),
        127 => (10, u64::from_be_bytes(*bytes.get(2..)?.first_chunk()?) as usize),
        len => (2, usize::from(len)),
    };
    Some((first, bytes.get(start..start + len)?.to_vec(), start + len))
}

/// Turns the stage, and has a client read all, until it has had `count` frames.
#[track_caller]
pub(super) fn frames(stage: &mut Stage, client: &mut Client, count: usize) -> Vec<(u8, Vec<u8>)> {
    let begun = std::time::Instant::now();
    let (mut inflow, mut all) = (Inflow::default(), Vec::new());
    while all.len() < count {
        assert!(begun.elapsed() < PATIENCE, "{} of {count} came", all.len());
        stage.turn();
        all.extend(inflow.read(client, usize::MAX));
    }
    assert_eq!(all.len(), count);
    all
}
