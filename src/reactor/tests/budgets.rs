//! However many commands the reactor gets at once, other connections have their turns in between,
//! and no command overtakes another.

use super::server::reactor;
use super::turns::{Turned, until};
use super::*;
use crate::bridge::chunk::Chunk;
use crate::bridge::layout::{
    OUT_BINARY, OUT_FLAG_FIN, OUT_FLAG_SHARED, OUT_PING, OUT_TERMINATE, OUT_TEXT, SHARED_OTHER, SHARED_TEXT,
};
use crate::engine::Large;
use crate::reactor::config::{COMMAND_BUDGET, COST_OF_CALL, FLUSH_BUDGET, FREE_BUDGET, WRITE_BUDGET};
use crate::reactor::{Command, ConnectionId, ListenerConfig};

/// `serve_commands` twice, and the end of the turn.
const FLUSHES: usize = 3;
/// The maximum number of connections that one call of `serve_commands` reaches.
const SERVED: usize = COMMAND_BUDGET / COST_OF_CALL;
/// The id of a connection that is gone.
const GONE: (u32, u32) = (7, 999);

/// A reactor that the test turns, and its clients with their ids.
fn opened<const N: usize>(setup: Setup) -> (Turned, [(Client, ConnectionId); N]) {
    let (mut reactor, address, seen) = reactor(setup);
    let clients = std::array::from_fn(|_| turns::open(&mut reactor, address, &seen));
    (reactor, clients)
}

fn own(id: ConnectionId) -> (u32, u32) {
    (id.slot, id.generation)
}

/// A chunk that begins with this many commands for connections that are gone.
fn behind(commands: usize) -> Chunk {
    let mut chunk = Chunk::default();
    for n in 0..commands as u32 {
        chunk.push_record((GONE.0 + n % 2, GONE.1), OUT_TERMINATE, 0, 0, b"");
    }
    chunk
}

fn submit(reactor: &Turned, command: Command) {
    reactor.handle().submit(command).expect("an eventfd takes it");
}

/// More commands than one turn reaches, and all of them take effect.
fn comes_in_turns(mut reactor: Turned, chunk: Chunk, mut client: Client, expected: Vec<u8>) {
    submit(&reactor, Command::Chunk(chunk));
    reactor.run_once(Some(PATIENCE)).expect("epoll works");
    assert!(!reactor.commands.is_empty());
    let reader = std::thread::spawn(move || client.read(expected.len()) == expected);
    until(&mut reactor, |_| reader.is_finished());
    assert!(reader.join().unwrap(), "all frames, in order");
}

#[test]
fn r17_a_ping_does_not_wait_for_all_that_was_sent_to_others_at_once() {
    const OTHERS: usize = 80;
    const LEN: usize = 2 << 20;
    let setup = Setup { send_buffer: Some(200 << 10), ..Setup::default() };
    let (mut reactor, [(mut canary, canary_id), others @ ..]) = opened::<{ OTHERS + 1 }>(setup);
    let mut chunk = Chunk::default();
    for (_, id) in &others {
        chunk.push_large(own(*id), OUT_BINARY, OUT_FLAG_FIN, 0, Large::copy(&vec![7; LEN]));
    }
    submit(&reactor, Command::Chunk(chunk));
    let written = |reactor: &mut Turned| -> Vec<u64> {
        let of = |id: &ConnectionId| reactor.connections.get(*id).expect("open").write.sizes().1;
        others.iter().map(|(_, id)| id).map(of).collect()
    };
    let before = written(&mut reactor);
    canary.send("89 82 00000000 'hi'");
    let mut turns = 0;
    let mut answered_before_all = false;
    while !reactor.writer.has_written() || turns == 0 {
        let was = written(&mut reactor);
        reactor.run_once(Some(PATIENCE)).expect("epoll works");
        turns += 1;
        let shares = written(&mut reactor).iter().zip(&was).map(|(now, was)| now - was).collect::<Vec<_>>();
        assert!(shares.iter().all(|&share| share <= (FLUSHES * WRITE_BUDGET) as u64), "{shares:?}");
        assert!(shares.iter().sum::<u64>() <= (FLUSHES * (FLUSH_BUDGET + WRITE_BUDGET)) as u64, "{shares:?}");
        let canary = reactor.connections.get(canary_id).expect("open");
        let is_asked = canary.write.sizes().0 > client::SWITCHED.len() as u64;
        assert!(!is_asked || canary.write.queued() == 0, "the pong leaves in the turn of the ping");
        answered_before_all |= is_asked && !reactor.writer.has_written();
    }
    assert!(turns > 1 && answered_before_all, "{turns} turns");
    canary.expect("8a 02 'hi'");
    assert!(written(&mut reactor).iter().zip(before).all(|(now, before)| *now > before), "each had a share");
    drop(others);
}

#[test]
fn r17_a_ping_does_not_wait_for_all_that_was_asked_at_once() {
    let (mut reactor, [(mut client, id), (mut canary, _)]) = opened(Setup::default());
    let mut chunk = behind(200 * SERVED);
    chunk.push_record(own(id), OUT_TEXT, OUT_FLAG_FIN, 0, b"a");
    submit(&reactor, Command::Chunk(chunk));
    let mut chunk = Chunk::default();
    chunk.push_record(own(id), OUT_TEXT, OUT_FLAG_FIN, 0, b"b");
    submit(&reactor, Command::Chunk(chunk));
    canary.send("89 82 00000000 'hi'");
    reactor.run_once(Some(PATIENCE)).expect("epoll works");
    assert!(!reactor.commands.is_empty());
    let reader = std::thread::spawn(move || canary.expect("8a 02 'hi'"));
    until(&mut reactor, |reactor| reader.is_finished() || reactor.commands.is_empty());
    assert!(!reactor.commands.is_empty(), "the ping was answered before");
    // This command comes while others are under way, and stays after them.
    let mut chunk = Chunk::default();
    chunk.push_record(own(id), OUT_TEXT, OUT_FLAG_FIN, 0, b"c");
    submit(&reactor, Command::Chunk(chunk));
    until(&mut reactor, |reactor| reactor.commands.is_empty());
    client.expect("81 01 'a' 81 01 'b' 81 01 'c'");
}

#[test]
fn r02_records_keep_their_order_and_their_payloads_wherever_a_turn_ends() {
    let listener = ListenerConfig { high_water_mark: usize::MAX, ..ListenerConfig::default() };
    let (reactor, [(client, id)]) = opened(Setup { listener, ..Setup::default() });
    let (mut chunk, mut expected) = (Chunk::default(), Vec::new());
    for n in 0..4 * SERVED {
        match n % 5 {
            0 => {
                let payload = [n as u8; 100];
                chunk.push_large(own(id), OUT_BINARY, OUT_FLAG_FIN, 0, Large::copy(&payload));
                expected.extend(frame(0x82, None, &payload));
            }
            1 => chunk.push_large(GONE, OUT_BINARY, OUT_FLAG_FIN, 0, Large::copy(&[0; 50])),
            2 => {
                chunk.push_record(own(id), OUT_PING, OUT_FLAG_FIN, 0, &[n as u8]);
                expected.extend(frame(0x89, None, &[n as u8]));
            }
            3 => chunk.push_record(GONE, OUT_TEXT, OUT_FLAG_FIN, 0, b"nobody's"),
            _ => {
                chunk.push_record(own(id), OUT_TEXT, OUT_FLAG_FIN, 0, b"text");
                expected.extend(frame(0x81, None, b"text"));
            }
        }
    }
    comes_in_turns(reactor, chunk, client, expected);
}

#[test]
fn r02_records_find_the_payload_that_they_share_in_a_later_turn() {
    let listener = ListenerConfig { high_water_mark: usize::MAX, ..ListenerConfig::default() };
    let (reactor, [(client, id)]) = opened(Setup { listener, ..Setup::default() });
    let (large, short) = ([3; 3000], [2; 2500]);
    let mut chunk = Chunk::default();
    let bytes = Large::copy(&large);
    chunk.push_large(own(id), OUT_BINARY, OUT_FLAG_FIN | OUT_FLAG_SHARED, 0, bytes);
    chunk.push_record(own(id), OUT_TEXT, OUT_FLAG_FIN | OUT_FLAG_SHARED, 0, &short);
    let mut expected = [frame(0x82, None, &large), frame(0x81, None, &short)].concat();
    for _ in 0..SERVED {
        // Commands for no connection end a run, behind which a turn can end.
        chunk.push_record(GONE, OUT_TERMINATE, 0, 0, b"");
        chunk.push_same(own(id), OUT_BINARY, OUT_FLAG_FIN, 0, SHARED_OTHER);
        expected.extend(frame(0x82, None, &large));
        chunk.push_record(GONE, OUT_TERMINATE, 0, 0, b"");
        chunk.push_same(own(id), OUT_TEXT, OUT_FLAG_FIN, 0, SHARED_TEXT);
        expected.extend(frame(0x81, None, &short));
    }
    comes_in_turns(reactor, chunk, client, expected);
}

#[test]
fn all_that_was_asked_before_the_end_is_done() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let id = server.opened();
    let mut chunk = behind(10 * SERVED);
    chunk.push_record(own(id), OUT_TEXT, OUT_FLAG_FIN, 0, b"last");
    server.submit(Command::Chunk(chunk));
    server.stop();
    assert_eq!(client.read_to_end(), bytes("81 04 'last'"));
}

/// The memory is the caller's again when the call returns.
#[test]
fn between_turns_all_records_are_applied() {
    let (mut reactor, [(mut client, id)]) = opened(Setup::default());
    let mut chunk = behind(10 * SERVED);
    chunk.push_record(own(id), OUT_TEXT, OUT_FLAG_FIN, 0, b"now");
    reactor.serve_records(&chunk.bytes, Vec::new(), None);
    client.expect("81 03 'now'");
}

#[test]
fn what_was_on_its_way_to_the_dead_is_freed_in_portions() {
    const LEN: usize = 20 << 20;
    let (mut reactor, [(client, id), (mut canary, _)]) = opened(Setup::default());
    let mut chunk = Chunk::default();
    for _ in 0..3 * FREE_BUDGET / LEN {
        chunk.push_large(own(id), OUT_BINARY, OUT_FLAG_FIN, 0, Large::copy(&vec![0; LEN]));
    }
    submit(&reactor, Command::Chunk(chunk));
    until(&mut reactor, |reactor| {
        reactor.connections.get(id).expect("open").write.queued() > 2 * FREE_BUDGET
    });
    client.reset();
    until(&mut reactor, |reactor| reactor.connections() == 1);
    assert!(reactor.writer.is_behind());
    canary.send("89 82 00000000 'hi'");
    until(&mut reactor, |reactor| !reactor.writer.is_behind());
    until(&mut reactor, |reactor| reactor.writer.has_written());
    canary.send("81 82 00000000 'yo'");
    let reader = std::thread::spawn(move || canary.expect("8a 02 'hi' 81 02 'yo'"));
    until(&mut reactor, |_| reader.is_finished());
    assert!(reader.join().is_ok());
}
