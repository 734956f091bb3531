//! Connections move between two reactors of one process as they do between two processes.
#![expect(clippy::disallowed_types, reason = "clients block")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;

use proptest::prelude::*;

use super::parcel::{Early, Heads, LONGEST, Opened, Parcel, Rest, State};
use super::{BATCH_BYTES, Copied, MOST, Packed, Packs, SHORT_HEADS, Stays, Told};
use crate::bridge::admission::{Admission, Limits};
use crate::bridge::rates::Rates;
use crate::engine::deflate::Settings;
use crate::engine::portable::{Decoder, Encoder};
use crate::engine::{CloseCode, MessageKind};
use crate::reactor::config::IN_PLACE;
use crate::reactor::conn::life::Life;
use crate::reactor::read::{PeerSide, ReadClass};
use crate::reactor::tests::bridge::forward_with;
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::{Reports, Turned, until};
use crate::reactor::tests::*;
use crate::reactor::upgrade::accept;
use crate::reactor::{
    Connection, ConnectionId, Consumer, DeflateConfig, Forward, Http, ListenerConfig, Reactor, ReactorConfig,
    Transport,
};

/// A process, whose listener has the number 0.
struct Process {
    reactor: Turned,
    address: SocketAddr,
    seen: Reports,
}

impl Process {
    fn with(script: Script, listener: ListenerConfig) -> Self {
        let listener = ListenerConfig { movable: Some(0), ..listener };
        let (mut reactor, address, seen) = reactor(Setup { script, listener, ..Setup::default() });
        reactor.run_once(Some(Duration::ZERO)).unwrap();
        Self { reactor, address, seen }
    }

    fn new() -> Self {
        Self::with(Script::default(), ListenerConfig::default())
    }

    fn turn(&mut self) {
        self.reactor.run_once(Some(Duration::ZERO)).unwrap();
    }

    fn until(&mut self, done: impl FnMut(&mut Turned) -> bool) {
        until(&mut self.reactor, done);
    }

    fn pack(&mut self) -> Packs {
        let (to, packs) = channel();
        self.reactor.on_freeze(0);
        self.reactor.on_pack(0, &to);
        let packs: Packs = packs.recv().unwrap();
        assert!(packs.is_last);
        packs
    }

    /// What another process learns of at most `ahead` connections, and the records for its program.
    fn tell(&mut self, ahead: usize) -> (Early, Vec<u8>) {
        let (to, told) = channel();
        self.reactor.on_tell(0, None, ahead, &to);
        let Told { heads, count: told, left } = told.recv().unwrap();
        assert!(left.is_empty());
        let mut early = Early::default();
        let records = early.note(&heads).expect("they were just encoded");
        assert_eq!((told, told <= ahead), (early.heads.len(), true));
        (early, records)
    }

    /// All connections go to `other`, which knows of at most `ahead`. Returns how many stay.
    fn hand_over(&mut self, other: &mut Self, ahead: usize) -> usize {
        let (early, _) = self.tell(ahead);
        let Packs { packed, stay, .. } = self.pack();
        let ids: Vec<ConnectionId> = packed.iter().map(|packed| packed.id).collect();
        other.take(packed, early);
        self.reactor.on_given(&ids);
        self.reactor.on_moved(&ids);
        self.reactor.on_thaw(0, true);
        stay.by_name().map(|(_, count)| count).sum()
    }

    fn take(&mut self, packed: Vec<Packed>, mut early: Early) {
        let parcels = packed.into_iter().map(|Packed { socket, state, .. }| {
            let parcel = Parcel::decode(&state).expect("it was just encoded");
            let mut again = Vec::new();
            parcel.encode(&mut again);
            assert!(state == again, "the same bytes");
            again.push(0);
            assert_eq!(Parcel::decode(&again), None, "a byte too many");
            (Transport::from(std::net::TcpStream::from(socket)), parcel.complete(&mut early).unwrap())
        });
        let parcels = parcels.collect();
        self.reactor.on_import(0, parcels);
        self.reactor.on_thaw(0, true);
    }

    fn received(&mut self) -> u64 {
        let slots = self.reactor.connections.slots();
        slots
            .first()
            .and_then(|&slot| self.reactor.connections.get_mut(slot))
            .map_or(0, |it| it.read.received)
    }
}

/// The next process does not take the connections.
pub(in crate::reactor) fn give_up<C: Consumer>(old: &mut Reactor<C>) {
    let (to, _copied) = channel();
    old.on_copy(0, None, &to);
    old.on_freeze(0);
    let (to, _packs) = channel();
    old.on_pack(0, &to);
    old.on_thaw(0, true);
}

/// All connections of listener 0 that can move go to `new`, which has copies of their output before `meanwhile`. Returns these,
/// and why others stay.
pub(in crate::reactor) fn move_all<C: Consumer>(
    old: &mut Reactor<C>,
    new: &mut Reactor<C>,
    meanwhile: impl FnOnce(&mut Reactor<C>),
) -> (Vec<ConnectionId>, Vec<(&'static str, usize)>) {
    let (to, copied) = channel();
    old.on_copy(0, None, &to);
    let Copied { copies, left } = copied.recv().unwrap();
    assert!(left.is_empty());
    let copies = copies.into_iter().map(|(slot, copy)| (slot.into(), copy)).collect();
    let mut early = Early { copies, ..Early::default() };
    meanwhile(old);
    old.on_freeze(0);
    let (to, packs) = channel();
    old.on_pack(0, &to);
    let Packs { packed, stay, is_last } = packs.recv().unwrap();
    assert!(is_last);
    let ids: Vec<ConnectionId> = packed.iter().map(|packed| packed.id).collect();
    let parcels = packed.into_iter().map(|Packed { socket, state, .. }| {
        let parcel = Parcel::decode(&state).expect("it was just encoded");
        (Transport::from(std::net::TcpStream::from(socket)), parcel.complete(&mut early).unwrap())
    });
    new.on_import(0, parcels.collect());
    old.on_given(&ids);
    old.on_moved(&ids);
    old.on_thaw(0, true);
    new.on_thaw(0, true);
    (ids, stay.by_name().filter(|&(_, count)| count > 0).collect())
}

/// What a client sends after its request: fragments of text that is cut within characters, pings within and between
/// messages, an empty message, and one with a long header.
fn stream() -> Vec<u8> {
    let key = Some([1, 2, 3, 4]);
    let text = "gr\u{fc}\u{df}e \u{1f642}".as_bytes();
    [
        frame(0x01, key, &text[..3]),
        frame(0x89, key, b"ping"),
        frame(0x00, key, &text[3..9]),
        frame(0x80, key, &text[9..]),
        frame(0x82, key, b""),
        frame(0x89, key, b""),
        frame(0x82, key, &[7; 130]),
    ]
    .concat()
}

/// The answers to `stream`.
fn answers() -> Vec<u8> {
    [
        frame(0x8a, None, b"ping"),
        frame(0x81, None, "gr\u{fc}\u{df}e \u{1f642}".as_bytes()),
        frame(0x82, None, b""),
        frame(0x8a, None, b""),
        frame(0x82, None, &[7; 130]),
    ]
    .concat()
}

/// The connection moves when each of `cuts` bytes have been read, to and fro.
fn converse(cuts: &[usize]) {
    let mut processes = [Process::new(), Process::new()];
    let mut client = Client::connect(processes[0].address);
    let sent = [UPGRADE.as_bytes(), &stream()].concat();
    let (mut at, mut here) = (0, 0);
    processes[0].until(|reactor| reactor.connections() == 1);
    for &cut in cuts {
        client.write(&sent[at..cut]);
        at = cut;
        let process = &mut processes[here];
        let mut turns = 0;
        until(&mut process.reactor, |reactor| {
            let slot = reactor.connections.slots()[0];
            let connection = reactor.connections.get_mut(slot).unwrap();
            turns += 1;
            connection.read.received as usize == cut && turns > 1
        });
        assert_eq!(process.received(), cut as u64);
        let [first, second] = &mut processes;
        let (from, to) = if here == 0 { (first, second) } else { (second, first) };
        assert_eq!(from.hand_over(to, cut % 2), 0, "at {cut}");
        assert_eq!((from.reactor.connections(), to.reactor.connections()), (0, 1));
        here = 1 - here;
    }
    client.write(&sent[at..]);
    let expected = [client::SWITCHED.as_bytes(), &answers()].concat();
    let process = &mut processes[here];
    client.0.set_nonblocking(true).unwrap();
    let mut got = Vec::new();
    process.until(|_| {
        let mut piece = [0; 1024];
        while let Ok(len @ 1..) = std::io::Read::read(&mut client.0, &mut piece) {
            got.extend_from_slice(&piece[..len]);
        }
        got.len() >= expected.len()
    });
    assert_eq!(got, expected, "{cuts:?}");
    let (mut messages, mut moves) = (0, 0);
    for (_, seen) in processes.iter().flat_map(|process| process.seen.try_iter()) {
        assert_ne!(seen, Seen::Closed);
        messages += usize::from(matches!(seen, Seen::Text(_) | Seen::Binary(_)));
        moves += usize::from(seen == Seen::Moved);
    }
    // The consumer knows of it when it has opened.
    assert_eq!((messages, moves), (3, cuts.iter().filter(|&&cut| cut >= UPGRADE.len()).count()));
}

#[test]
fn a_move_after_any_byte_changes_nothing() {
    for cut in 0..=UPGRADE.len() + stream().len() {
        converse(&[cut]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moves_to_and_fro_change_nothing(mut cuts in prop::collection::vec(0..=UPGRADE.len() + stream().len(), 1..20)) {
        cuts.sort_unstable();
        converse(&cuts);
    }

    #[test]
    fn hostile_parcels(bytes in prop::collection::vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..200)) {
        let _refused = Parcel::decode(&bytes);
    }
}

/// Bytes that the kernel does not take move, and those of a connection that stays after all leave once.
#[test]
fn queued_output_leaves_once() {
    for resumes in [false, true] {
        let payload: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 7) as u8).collect();
        let sent = payload.clone();
        let script = Script::on_open(move |conn| {
            conn.send(MessageKind::Binary, true, &sent);
            conn.mark();
        });
        let mut old = Process::with(script, ListenerConfig::default());
        let mut new = Process::new();
        let mut client = Client::connect_narrow(old.address, 4096);
        client.write(UPGRADE.as_bytes());
        old.until(|reactor| {
            reactor.connections.get_mut(0).is_some_and(|it| it.write.queued() > 0 && it.write.sizes().1 > 200)
        });
        for _ in 0..5 {
            old.turn();
        }
        if resumes {
            let packs = old.pack();
            assert_eq!(packs.packed.len(), 1);
            // Sends meanwhile wait.
            let id = packs.packed[0].id;
            drop(packs);
            old.reactor.step(id, |conn, _| conn.send(MessageKind::Text, true, b"late"));
            old.turn();
            old.reactor.on_thaw(0, true);
        } else {
            assert_eq!(old.hand_over(&mut new, 0), 0);
        }
        let process = if resumes { &mut old } else { &mut new };
        let mut expected = [client::SWITCHED.as_bytes(), &frame(0x82, None, &payload)].concat();
        if resumes {
            expected.extend(frame(0x81, None, b"late"));
        }
        client.0.set_nonblocking(true).unwrap();
        let mut got = Vec::new();
        process.until(|_| {
            let mut piece = [0; 65536];
            while let Ok(len @ 1..) = std::io::Read::read(&mut client.0, &mut piece) {
                got.extend_from_slice(&piece[..len]);
            }
            got.len() >= expected.len()
        });
        assert!(got == expected);
        old.turn();
        let sent = old.seen.try_iter().filter(|(_, seen)| *seen == Seen::Sent(1)).count();
        assert_eq!(sent, 1, "the callback of the send");
    }
}

#[test]
fn what_is_sent_on_the_way_leaves_when_the_connection_stays() {
    let mut old = Process::new();
    let mut client = Client::asking(old.address);
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    old.turn();
    let id = old.pack().packed[0].id;
    let late = vec![7; IN_PLACE];
    old.reactor.step(id, |conn, _| conn.send(MessageKind::Binary, true, &late));
    old.turn();
    assert!(
        old.reactor.connections.get_mut(0).unwrap().write.queued() > IN_PLACE,
        "the other process writes"
    );
    old.reactor.on_thaw(0, true);
    old.turn();
    client.expect_text(client::SWITCHED);
    let expected = frame(0x82, None, &late);
    assert!(client.read(expected.len()) == expected);
}

/// A send between the pack and the move is lost, and so is its callback.
#[test]
fn what_is_sent_too_late_does_not_count_as_moved() {
    let script = Script::on_open(|conn| {
        conn.send(MessageKind::Binary, true, &[7; 4 << 20]);
        conn.mark();
    });
    let mut old = Process::with(script, ListenerConfig::default());
    let mut new = Process::new();
    let mut client = Client::connect_narrow(old.address, 4096);
    client.write(UPGRADE.as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    let packed = old.pack().packed;
    let id = packed[0].id;
    new.take(packed, Early::default());
    old.reactor.step(id, |conn, _| {
        conn.send(MessageKind::Text, true, b"late");
        conn.mark();
    });
    old.reactor.on_given(&[id]);
    old.reactor.on_moved(&[id]);
    assert!(!old.reactor.handovers.knows(id.slot));
    let sent = old
        .seen
        .try_iter()
        .filter_map(|(_, seen)| if let Seen::Sent(count) = seen { Some(count) } else { None });
    assert_eq!(sent.sum::<u32>(), 1);
}

/// The other process had a copy of the output before: since then the kernel took some of it, or all, and more was queued.
#[test]
fn copied_output_leaves_once() {
    let payload: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 7) as u8).collect();
    let cases =
        [(0, false), (0, true), (1 << 20, false), (1 << 20, true), (usize::MAX, false), (usize::MAX, true)];
    for (reads, more) in cases {
        let sent = payload.clone();
        let script = Script::on_open(move |conn| {
            conn.send(MessageKind::Binary, true, &sent);
        });
        let (mut old, mut new) = (Process::with(script, ListenerConfig::default()), Process::new());
        let mut client = Client::connect_narrow(old.address, 4096);
        client.write(UPGRADE.as_bytes());
        old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.write.queued() > 0));
        let (to, copied) = channel();
        old.reactor.on_copy(0, None, &to);
        let Copied { copies, left } = copied.recv().unwrap();
        assert!(left.is_empty());
        let copies = copies.into_iter().map(|(slot, copy)| (slot.into(), copy)).collect();
        let mut early = Early { copies, ..Early::default() };
        let mut expected = [client::SWITCHED.as_bytes(), &frame(0x82, None, &payload)].concat();
        let (mut got, all) = (Vec::new(), expected.len());
        client.0.set_nonblocking(true).unwrap();
        let mut read = |got: &mut Vec<u8>, most: usize| {
            let mut piece = [0; 65536];
            while got.len() < most
                && let Ok(len @ 1..) = std::io::Read::read(&mut client.0, &mut piece)
            {
                got.extend_from_slice(&piece[..len]);
            }
            got.len() >= most
        };
        old.until(|_| read(&mut got, reads.min(all)));
        if reads > all && !more {
            // That process has left, and there is nothing to copy for the next one.
            old.reactor.on_copy(0, None, &to);
            assert!(copied.recv().unwrap().copies.is_empty());
            early.copies.clear();
        }
        // The second time, the kernel has also taken some that came after the copy.
        for _ in 0..usize::from(more) + usize::from(more && reads > all) {
            old.until(|_| read(&mut got, reads.min(expected.len())));
            old.reactor.step_at(0, |conn, _| {
                conn.send(MessageKind::Text, true, b"more");
            });
            expected.extend(frame(0x81, None, b"more"));
        }
        let Packs { packed, .. } = old.pack();
        let ids = [packed[0].id];
        assert!(
            packed[0].state.len() < 2000,
            "{reads} {more}: {} bytes, the copy is sent again",
            packed[0].state.len()
        );
        if reads < all {
            let parcel = || Parcel::decode(&packed[0].state).unwrap();
            assert!(parcel().complete(&mut Early::default()).is_none());
            let State::Open(opened) = parcel().state else { panic!("it is open") };
            let left = opened.rest.copied.map(|(_, left)| left);
            let short =
                parcel().complete(&mut Early { copies: [(0, Vec::new())].into(), ..Early::default() });
            assert_eq!(short.is_none(), left != Some(0), "of which more has left than it has");
        }
        new.take(packed, early);
        old.reactor.on_given(&ids);
        old.reactor.on_moved(&ids);
        new.until(|_| read(&mut got, expected.len()));
        assert!(got == expected, "{reads} {more}");
    }
}

/// Once the other process has a connection, the program here cannot end it.
#[test]
fn a_conversation_that_fails_half_way_leaves_nothing_to_the_next_one() {
    let mut old = Process::new();
    let _clients: Vec<Client> = (0..=MOST).map(|_| Client::connect(old.address)).collect();
    old.until(|reactor| reactor.connections() == MOST + 1);
    for _ in 0..2 {
        let (to, packs) = channel();
        old.reactor.on_freeze(0);
        old.reactor.on_pack(0, &to);
        let Packs { packed, is_last, .. } = packs.recv().unwrap();
        assert_eq!((packed.len(), is_last), (MOST, false));
        old.reactor.on_thaw(0, true);
    }
}

/// The consumer knows of the connection by then.
#[test]
fn an_answer_that_waits_for_the_consumer_moves() {
    let mut old = Process::new();
    let _client = Client::asking(old.address);
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    old.reactor.step_at(0, |conn, _| conn.withhold(1));
    assert_eq!(old.pack().packed.len(), 1);
}

/// The reactor compresses the rest of the message before the connection moves.
#[test]
fn a_long_message_that_is_being_compressed_moves() {
    let settings = Settings { threshold: 0, movable: true, ..Settings::default() };
    let deflate = DeflateConfig { settings, ..DeflateConfig::default() };
    let listener = ListenerConfig { deflate: Some(deflate), ..ListenerConfig::default() };
    let script = Script::on_open(|conn| {
        conn.send(MessageKind::Binary, true, &vec![7; 8 << 20]);
    });
    let mut old = Process::with(script, listener);
    let mut client = Client::connect(old.address);
    let offer = "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    client.write(UPGRADE.replace("\r\n\r\n", offer).as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.write.deferred.is_some()));
    assert_eq!(old.pack().packed.len(), 1);
}

/// The limit of all unfinished messages counts it.
#[test]
fn an_unfinished_message_takes_memory_in_the_new_process() {
    let (mut old, mut new) = (Process::new(), Process::new());
    let mut client = Client::connect(old.address);
    client.write(UPGRADE.as_bytes());
    client.write(&frame(0x82, Some([0; 4]), &[7; 100_000])[..60_000]);
    old.until(|reactor| reactor.reader.unfinished_bytes() > 59_000);
    assert_eq!(old.hand_over(&mut new, 0), 0);
    assert!(new.reactor.reader.unfinished_bytes() > 59_000);
}

/// The other process has the output that precedes it.
#[test]
fn a_close_on_the_way_after_queued_output_writes_nothing() {
    let payload = vec![7; 4 << 20];
    let all = client::SWITCHED.len() + frame(0x82, None, &payload).len();
    let script = Script::on_open(move |conn| {
        conn.send(MessageKind::Binary, true, &payload);
    });
    let mut old = Process::with(script, ListenerConfig::default());
    let mut client = Client::connect_narrow(old.address, 4096);
    client.write(UPGRADE.as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.write.queued() > 0));
    let Packs { packed, .. } = old.pack();
    let id = packed[0].id;
    let left = old.reactor.connections.get_mut(0).unwrap().write.queued();
    client.read(all - left);
    old.reactor.step(id, |conn, _| conn.close(None, b""));
    old.reactor.on_given(&[id]);
    client.expect_end();
}

#[test]
fn a_connection_that_is_given_cannot_be_ended() {
    for closes in [false, true] {
        let (mut old, mut new) = (Process::new(), Process::new());
        let mut client = Client::connect(old.address);
        client.write(UPGRADE.as_bytes());
        old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
        let Packs { packed, .. } = old.pack();
        let id = packed[0].id;
        old.reactor.on_given(&[id]);
        old.reactor.step(id, |conn, _| if closes { conn.close(None, b"") } else { conn.terminate() });
        old.turn();
        new.take(packed, Early::default());
        old.reactor.on_moved(&[id]);
        old.reactor.on_thaw(0, true);
        assert_eq!(old.reactor.connections(), 0);
        assert!(old.seen.try_iter().all(|(_, seen)| seen != Seen::Closed));
        client.write(&frame(0x81, Some([0; 4]), b"x"));
        let seen = &new.seen;
        until(&mut new.reactor, |_| seen.try_iter().any(|(_, seen)| seen == Seen::Text(b"x".to_vec())));
    }
}

#[test]
fn a_paused_connection_is_paused_where_it_goes_on() {
    let mut old = Process::with(Script::on_open(|conn| conn.pause()), ListenerConfig::default());
    let mut new = Process::new();
    let mut client = Client::connect(old.address);
    client.write(UPGRADE.as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.read.paused));
    client.write(&frame(0x81, Some([0; 4]), b"later"));
    assert_eq!(old.hand_over(&mut new, 0), 0);
    for _ in 0..5 {
        new.turn();
    }
    assert!(new.seen.try_iter().all(|(_, seen)| !matches!(seen, Seen::Text(_))));
    new.reactor.step_at(0, |conn, _| conn.resume());
    let seen = &new.seen;
    until(&mut new.reactor, |_| seen.try_iter().any(|(_, seen)| seen == Seen::Text(b"later".to_vec())));
}

/// A closing handshake ends where it began, also while others move.
#[test]
fn a_closing_connection_stays() {
    let script = Script::on_open(|conn| conn.close(None, b""));
    let mut old = Process::with(script, ListenerConfig::default());
    let mut client = Client::connect(old.address);
    client.write(UPGRADE.as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    old.turn();
    let Packs { packed, stay, .. } = old.pack();
    assert_eq!((packed.len(), stay.by_name().next()), (0, Some(("closing", 1))));
    client.write(&frame(0x88, Some([0; 4]), b""));
    client.end();
    old.until(|reactor| reactor.connections() == 0);
    client.expect_text(client::SWITCHED);
    client.expect("88 00");
    client.expect_end();
}

/// The program ends a connection that is on its way: it ends wherever it goes on.
#[test]
fn a_connection_that_ends_on_its_way_ends_everywhere() {
    for (closes, moves) in [(false, false), (false, true), (true, true)] {
        let (mut old, mut new) = (Process::new(), Process::new());
        let mut client = Client::connect(old.address);
        client.write(UPGRADE.as_bytes());
        old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
        let Packs { packed, .. } = old.pack();
        let id = packed[0].id;
        let code = Some(CloseCode::SERVICE_RESTART);
        old.reactor.step(id, |conn, _| if closes { conn.close(code, b"") } else { conn.terminate() });
        if moves {
            old.reactor.on_given(&[id]);
            new.take(packed, Early::default());
            new.until(|reactor| reactor.connections() == 0);
            assert!(new.seen.try_iter().any(|(_, seen)| seen == Seen::Closed));
        }
        old.reactor.on_thaw(0, true);
        old.until(|reactor| reactor.connections() == 0);
        assert!(old.seen.try_iter().any(|(_, seen)| seen == Seen::Closed));
        client.expect_text(client::SWITCHED);
        if closes {
            client.expect("88 02 03 f4");
        }
        client.expect_end();
    }
}

/// A process that is stopped keeps its duplicates: a client of the other one sees the end all the same.
#[test]
fn a_connection_that_stays_or_has_come_ends_everywhere() {
    for moves in [false, true] {
        let (mut old, mut new) = (Process::new(), Process::new());
        let mut client = Client::connect(old.address);
        client.write(UPGRADE.as_bytes());
        old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
        let Packs { packed, .. } = old.pack();
        let stopped = packed[0].socket.try_clone().expect("a duplicate");
        if moves {
            new.take(packed, Early::default());
        } else {
            old.reactor.on_thaw(0, true);
        }
        client.write(&frame(0x88, Some([0; 4]), b""));
        let process = if moves { &mut new } else { &mut old };
        process.until(|reactor| reactor.connections() == 0);
        process.turn();
        client.expect_text(client::SWITCHED);
        client.expect("88 00");
        client.expect_end();
        drop(stopped);
    }
}

/// While a connection is frozen or packed its deadlines wait.
#[test]
fn silence_while_a_connection_moves_does_no_harm() {
    let listener = ListenerConfig { idle_timeout: Duration::from_millis(40), ..ListenerConfig::default() };
    let mut old = Process::with(Script::default(), listener.clone());
    let mut client = Client::connect(old.address);
    client.write(UPGRADE.as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    let packs = old.pack();
    assert_eq!(packs.packed.len(), 1);
    let begun = std::time::Instant::now();
    until(&mut old.reactor, |_| begun.elapsed() > Duration::from_millis(300));
    assert_eq!(old.reactor.connections(), 1);
    old.reactor.on_thaw(0, true);
    old.until(|reactor| reactor.connections() == 0);
    // The settings of the new version hold.
    let long = ListenerConfig { idle_timeout: Duration::from_secs(600), ..listener.clone() };
    let (mut patient, mut new) =
        (Process::with(Script::default(), long), Process::with(Script::default(), listener));
    let mut client = Client::connect(patient.address);
    client.write(UPGRADE.as_bytes());
    patient.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    assert_eq!(patient.hand_over(&mut new, 0), 0);
    new.until(|reactor| reactor.connections() == 0);
}

/// The state of the only connection, which goes on here.
fn state_of(process: &mut Process) -> Parcel {
    let Packs { packed, stay, .. } = process.pack();
    process.reactor.on_thaw(0, true);
    assert_eq!(stay, Stays::default());
    Parcel::decode(&packed[0].state).unwrap()
}

/// Heads come once, before the connection or with it, and belong to this use of its slot.
#[test]
fn heads_that_came_before_are_not_sent_again() {
    let (mut old, mut new) = (Process::new(), Process::new());
    let client = Client::asking(old.address);
    let upgraded = |process: &mut Process, count| {
        process.until(|reactor| {
            let slots = reactor.connections.slots();
            slots.len() == count
                && slots.iter().all(|&slot| reactor.connections.get_mut(slot).unwrap().is_open())
        });
    };
    upgraded(&mut old, 1);
    let whole = state_of(&mut old);
    let (mut early, records) = old.tell(2);
    assert!(records.windows(5).any(|bytes| bytes == b"GET\0/"));
    let short = state_of(&mut old);
    let again = || Parcel::decode(&encoded(&short)).unwrap();
    assert!(encoded(&short).len() + UPGRADE.len() < encoded(&whole).len());
    assert_eq!(again().complete(&mut Early::default()), None);
    let complete = again().complete(&mut early).unwrap();
    assert_eq!(again().complete(&mut early), None, "they belong to one connection");
    import(&mut new, &client, complete);
    assert_eq!(state_of(&mut new), whole);
    // Another process knows nothing.
    old.tell(0);
    assert_eq!(state_of(&mut old), whole);
    // Not to the next connection of the slot.
    let (mut early, _) = old.tell(1);
    // Here it has the socket of the client.
    drop((client, new));
    old.until(|reactor| reactor.connections() == 0);
    let _next = Client::asking(old.address);
    upgraded(&mut old, 1);
    let next = state_of(&mut old).complete(&mut early).unwrap();
    assert_eq!(next, Parcel { client: next.client, ..whole });
    let _other = Client::asking(old.address);
    upgraded(&mut old, 2);
    assert_eq!([1, 2, 3].map(|most| old.tell(most).0.heads.len()), [1, 2, 2]);
    let slots = old.reactor.connections.slots();
    let named = Some("192.0.2.7:4711".parse().unwrap());
    old.reactor.handovers.origins.values_mut().for_each(|origin| origin.client = named);
    assert!(old.tell(2).0.heads.values().all(|(_, heads)| heads.remote == named));
    old.reactor.handovers.origins.get_mut(&slots[0]).unwrap().request = vec![b'x'; 1 << 12].into();
    assert_eq!(old.tell(2).0.heads.len(), 1, "it is long");
}

#[test]
fn heads_that_cannot_be_read_are_refused() {
    let mut old = Process::new();
    let _client = Client::asking(old.address);
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    let (to, told) = channel();
    old.reactor.on_tell(0, None, 1, &to);
    let heads = told.recv().unwrap().heads;
    for len in 1..heads.len() {
        assert_eq!(Early::default().note(&heads[..len]), None, "{len}");
    }
    let at = |text: &[u8]| heads.windows(text.len()).position(|bytes| bytes == text).unwrap();
    for at in [at(b"GET "), at(b"HTTP/1.1 101")] {
        let mut strange = heads.clone();
        strange[at] = 0;
        assert_eq!(Early::default().note(&strange), None);
    }
    assert!(Early::default().note(&[]).is_some_and(|records| records.is_empty()));
    let mut heads = Heads::decode(&mut Decoder(&heads)).unwrap();
    let mut note = |len: usize| {
        let other = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".len() + heads.response.len();
        heads.request = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(len - other)).into();
        let mut message = Vec::new();
        heads.encode(&mut Encoder(&mut message));
        Early::default().note(&message)
    };
    assert!(note(SHORT_HEADS).is_some() && note(SHORT_HEADS + 1).is_none());
}

fn encoded(parcel: &Parcel) -> Vec<u8> {
    let mut bytes = Vec::new();
    parcel.encode(&mut bytes);
    bytes
}

fn import(process: &mut Process, client: &Client, parcel: Parcel) {
    let stream = Transport::from(client.0.try_clone().unwrap());
    process.reactor.on_import(0, vec![(stream, parcel)]);
}

/// A connection that moved is as it was, also for the next move.
#[test]
fn all_state_of_a_connection_moves_again() {
    const LONG: Duration = Duration::from_secs(3600);
    let listener = || ListenerConfig {
        ping_interval: LONG,
        rates: Some(Rates::new(1000, 1 << 20, false).into()),
        ..ListenerConfig::default()
    };
    let mut old = Process::with(Script::default(), listener());
    let mut client = Client::connect(old.address);
    client.write(UPGRADE.as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    let mut moved = state_of(&mut old);
    let State::Open(opened) = &mut moved.state else { panic!("it is open") };
    let (silence, rates) = (Duration::from_secs(600), [Duration::from_secs(50), Duration::from_secs(40)]);
    opened.rest = Rest {
        attachment: b"mine".to_vec(),
        paused: true,
        pinged: true,
        silence: Some(silence),
        rates,
        received: 1 << 33,
        copied: None,
        queued: frame(0x81, None, b"queued"),
    };
    (moved.client, moved.unread) = (Some("192.0.2.7:4711".parse().unwrap()), vec![0x81]);
    let mut bytes = Vec::new();
    moved.encode(&mut bytes);
    let one = Limits { connections_per_address: 1, ..Limits::default() };
    let admission = Arc::new(Admission::new(one));
    let counting = ListenerConfig { admission: Some(admission.clone()), ..listener() };
    let mut new = Process::with(Script::default(), counting);
    import(&mut new, &client, Parcel::decode(&bytes).unwrap());
    assert!(admission.admit(moved.client.map(|address| address.ip())).is_err(), "it counts");
    new.reactor.handovers.attach(0, b"mine", false);
    let mut again = state_of(&mut new);
    let State::Open(opened) = &mut again.state else { panic!("it is open") };
    let is_left = |left: Duration, of: Duration| left <= of + LONG / 3600 && left > of / 2;
    assert!(opened.rest.silence.is_some_and(|left| is_left(left, silence)), "{:?}", opened.rest.silence);
    assert!(
        opened.rest.rates.iter().zip(rates).all(|(&left, of)| is_left(left, of)),
        "{:?}",
        opened.rest.rates
    );
    (opened.rest.silence, opened.rest.rates) = (Some(silence), rates);
    assert_eq!(again, moved);
}

#[test]
fn all_state_of_a_connection_before_its_request_moves_again() {
    let named = |address: &str| Some(address.parse().unwrap());
    for (client, proxied, unread, kept) in [
        (named("192.0.2.7:4711"), false, "GET / HT", None),
        (named("[2001:db8::7]:4711"), false, "GET / HT", None),
        (None, true, "PROXY TC", None),
        (None, false, "", None),
        (named("192.0.2.7:4711"), false, "", Some(Duration::from_secs(1000))),
    ] {
        let mut new = Process::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = Client::connect(listener.local_addr().unwrap());
        let parcel = || Parcel { client, unread: unread.into(), state: State::Opening { proxied, kept } };
        import(&mut new, &socket, parcel());
        new.reactor.on_thaw(0, true);
        new.turn();
        let connection = new.reactor.connections.get_mut(0).unwrap();
        let limit = kept.unwrap_or(connection.config.handshake_timeout);
        let left = new.reactor.timers.left(&connection.deadline).unwrap();
        assert!(left + PATIENCE > limit && left <= limit + Duration::from_secs(1), "{left:?}");
        assert_eq!(state_of(&mut new), parcel());
    }
}

#[test]
fn a_message_that_is_half_sent_ends_after_the_move() {
    let script = || {
        Script::on_message(|conn, message| {
            conn.send(MessageKind::Text, message.payload == b"end", message.payload)
        })
    };
    let [mut old, mut new] = [(); 2].map(|()| Process::with(script(), ListenerConfig::default()));
    let mut client = Client::connect(old.address);
    client.write(UPGRADE.as_bytes());
    client.write(&frame(0x82, Some([0; 4]), b"begin"));
    let seen = &old.seen;
    until(&mut old.reactor, |_| seen.try_iter().any(|(_, seen)| seen == Seen::Binary(b"begin".to_vec())));
    old.turn();
    assert_eq!(old.hand_over(&mut new, 0), 0);
    client.write(&frame(0x82, Some([0; 4]), b"end"));
    let seen = &new.seen;
    until(&mut new.reactor, |_| seen.try_iter().any(|(_, seen)| seen == Seen::Binary(b"end".to_vec())));
    new.turn();
    client.expect_text(client::SWITCHED);
    client.expect("01 05 'begin' 80 03 'end'");
}

/// Clients wait for the process that has the port.
#[test]
fn a_frozen_listener_does_not_accept() {
    let mut old = Process::new();
    old.reactor.on_freeze(0);
    let _client = Client::connect(old.address);
    (0..5).for_each(|_| old.turn());
    assert_eq!(old.reactor.connections(), 0);
    old.reactor.on_thaw(0, true);
    old.until(|reactor| reactor.connections() == 1);
}

/// Only that connection ends.
#[test]
fn a_connection_that_this_version_cannot_have_is_refused() {
    let mut old = Process::new();
    let mut client = Client::connect(old.address);
    client.write(UPGRADE.as_bytes());
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    let strange: [fn(&mut Opened); 2] =
        [|opened| opened.response = b"HTTP/1.1 200".to_vec(), |opened| opened.request.truncate(9)];
    for make_strange in strange {
        let mut parcel = state_of(&mut old);
        let State::Open(opened) = &mut parcel.state else { panic!("it is open") };
        make_strange(opened);
        let mut new = Process::new();
        let other = Client::connect(new.address);
        new.until(|reactor| reactor.connections() == 1);
        import(&mut new, &client, parcel);
        new.reactor.on_thaw(0, true);
        new.until(|reactor| reactor.connections() == 1);
        assert_eq!(new.reactor.metrics.tally.refused, 1);
        assert!(
            new.seen.try_iter().all(|(_, seen)| seen != Seen::Closed),
            "the consumer does not know of it"
        );
        drop(other);
    }
}

#[test]
fn connections_that_stay_say_why() {
    type Act = fn(&mut Turned);
    fn connection(reactor: &mut Turned) -> &mut Connection {
        reactor.connections.get_mut(0).unwrap()
    }
    let acts: [(Option<&str>, Act); 9] = [
        (Some("closing"), |reactor| connection(reactor).read.peer = PeerSide::Ended),
        // Bytes that the consumer hands back come first.
        (Some("closing"), |reactor| connection(reactor).read.class = ReadClass::AwaitingHandback),
        (Some("asked"), |reactor| connection(reactor).life = Life::AwaitingDecision(Box::default())),
        (Some("long"), |reactor| connection(reactor).write.import(vec![0; LONGEST])),
        (Some("busy"), |reactor| reactor.handovers.attach(0, b"", true)),
        (Some("unknown"), |reactor| reactor.handovers.forget(0)),
        (Some("unknown"), |reactor| {
            reactor.handovers.origins.get_mut(&0).unwrap().response = b"HTTP/1.1 200"[..].into()
        }),
        (Some("unknown"), |reactor| {
            // An answer that its client does not read, such as to a health check.
            connection(reactor).life = Life::Opening(Box::default());
            connection(reactor).write.import(b"HTTP/1.1 200".to_vec());
        }),
        // The HTTP server has it.
        (None, |reactor| connection(reactor).life = Life::Relayed),
    ];
    for (why, act) in acts {
        let mut old = Process::new();
        let _client = Client::asking(old.address);
        old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
        act(&mut old.reactor);
        let Packs { packed, stay, .. } = old.pack();
        assert!(packed.is_empty());
        assert_eq!(stay.by_name().find(|&(_, count)| count > 0), why.map(|why| (why, 1)));
    }
}

/// Much output is copied and packed in parts, and more than a parcel can have is not copied.
#[test]
fn few_connections_with_much_output_are_packed_together() {
    let mut old = Process::new();
    let _clients = [Client::asking(old.address), Client::asking(old.address), Client::asking(old.address)];
    let open = |reactor: &mut Turned, slot| reactor.connections.get_mut(slot).is_some_and(|it| it.is_open());
    old.until(|reactor| (0..3).all(|slot| open(reactor, slot)));
    for (slot, len) in [(0, LONGEST), (1, BATCH_BYTES), (2, BATCH_BYTES)] {
        old.reactor.connections.get_mut(slot).unwrap().write.import(vec![0; len]);
    }
    let (to, copied) = channel();
    let mut left = None;
    for len in [1, 1, 0] {
        old.reactor.on_copy(0, left, &to);
        let Copied { copies, left: next } = copied.recv().unwrap();
        assert_eq!(copies.len(), len);
        left = Some(next);
    }
    old.reactor.handovers.origins.values_mut().for_each(|origin| origin.copied = None);
    let (to, packs) = channel();
    old.reactor.on_freeze(0);
    for is_last in [false, true] {
        old.reactor.on_pack(0, &to);
        let packs = packs.recv().unwrap();
        assert_eq!((packs.packed.len(), packs.is_last), (1, is_last));
    }
}

/// Other connections can have some of them on their way.
#[test]
fn without_descriptors_a_connection_is_packed_later() {
    // A connection with TLS has no duplicate.
    let tls = Some(crate::reactor::tls::tests::server());
    let mut old = Process::with(Script::default(), ListenerConfig { tls, ..ListenerConfig::default() });
    let _client = Client::connect(old.address);
    old.until(|reactor| reactor.connections() == 1);
    let (to, packs) = channel();
    old.reactor.on_freeze(0);
    for _ in 0..2 {
        old.reactor.on_pack(0, &to);
        let Packs { packed, stay, is_last } = packs.recv().unwrap();
        assert_eq!((packed.len(), stay, is_last), (0, Stays::default(), false));
    }
}

/// JavaScript reads the counters of the old connection until then.
#[test]
fn a_slot_is_used_again_when_the_consumer_knows_that_its_connection_has_moved() {
    let listener = ListenerConfig { movable: Some(0), ..ListenerConfig::default() };
    let (js, mut reactor) = forward_with(ReactorConfig::default(), listener);
    let _client = Client::asking(js.address);
    until(&mut reactor, |reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    js.give_all_back();
    let (to, packs) = channel();
    reactor.on_freeze(0);
    reactor.on_pack(0, &to);
    let ids = [packs.recv().unwrap().packed[0].id];
    reactor.on_given(&ids);
    reactor.on_moved(&ids);
    let is_free = |reactor: &mut Reactor<Forward>| {
        reactor.run_once(Some(Duration::ZERO)).unwrap();
        reactor.connections.next_id().unwrap().slot == 0
    };
    assert!(!is_free(&mut reactor));
    js.give_all_back();
    assert!(is_free(&mut reactor));
}

/// The program decides when its server has been read for long.
#[test]
fn what_was_queued_and_sent_meanwhile_goes_on_when_the_program_accepts() {
    for len in [0, 4 << 20] {
        let script = Script::on_open(move |conn| conn.send(MessageKind::Binary, true, &vec![7; len]));
        let mut old = Process::with(script, ListenerConfig::default());
        let http = Some(Http { routes: Arc::default(), sockets: true });
        let mut new = Process::with(Script::default(), ListenerConfig { http, ..ListenerConfig::default() });
        let mut client = Client::connect_narrow(old.address, 4096);
        client.write(UPGRADE.as_bytes());
        old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
        assert_eq!(old.hand_over(&mut new, 0), 0);
        let mut expected = [client::SWITCHED.as_bytes(), &frame(0x82, None, &vec![7; len])].concat();
        // An answer would write the queue as well.
        if len == 0 {
            client.write(&frame(0x81, Some([0; 4]), b"x"));
            expected.extend(frame(0x81, None, b"x"));
        }
        (0..5).for_each(|_| new.turn());
        new.reactor.step_at(0, |conn, consumer| accept(consumer, conn, b""));
        client.0.set_nonblocking(true).unwrap();
        let mut got = Vec::new();
        new.until(|_| {
            let mut piece = [0; 65536];
            while let Ok(len @ 1..) = std::io::Read::read(&mut client.0, &mut piece) {
                got.extend_from_slice(&piece[..len]);
            }
            got.len() >= expected.len()
        });
        assert!(got == expected);
    }
}

/// One has ended on its way.
#[test]
fn the_next_connection_of_a_slot_does_not_move() {
    let mut old = Process::new();
    let _client = Client::asking(old.address);
    old.until(|reactor| reactor.connections.get_mut(0).is_some_and(|it| it.is_open()));
    let id = old.pack().packed[0].id;
    old.reactor.step(id, |conn, _| conn.terminate());
    old.turn();
    let client = Client::connect(old.address);
    let next = old.reactor.connections.next_id().unwrap();
    assert_eq!(next.slot, id.slot);
    let config = old.reactor.listeners.config(0).unwrap();
    old.reactor.admit(next, Transport::from(client.0.try_clone().unwrap()), 0, config, Life::Open).unwrap();
    old.reactor.on_given(&[id]);
    old.reactor.on_moved(&[id]);
    assert_eq!(old.reactor.connections.get(next).map(|it| it.read.class), Some(ReadClass::Frozen));
}

/// Another reactor has accepted it before.
#[test]
fn a_connection_that_comes_to_a_frozen_listener_is_frozen() {
    let mut old = Process::new();
    old.reactor.on_freeze(0);
    let client = Client::connect(old.address);
    let id = old.reactor.connections.next_id().unwrap();
    let config = old.reactor.listeners.config(0).unwrap();
    old.reactor.admit(id, Transport::from(client.0.try_clone().unwrap()), 0, config, Life::Open).unwrap();
    assert_eq!(old.reactor.connections.get_mut(id.slot).unwrap().read.class, ReadClass::Frozen);
}
