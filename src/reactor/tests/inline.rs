//! A reactor that the loop of another program drives.

use std::time::Duration;

use super::server::reactor;
use super::turns::{opened, until};
use super::*;
use crate::bridge::chunk::Chunk;
use crate::bridge::layout::{OUT_BINARY, OUT_FLAG_FIN, OUT_TEXT};
use crate::engine::Large;
use crate::reactor::{Command, Due, ListenerConfig};

#[test]
fn what_is_sent_between_turns_is_written_at_once() {
    let (mut reactor, _seen, mut client, id) = opened(Setup::default());
    let to = (id.slot, id.generation);

    let mut chunk = Chunk::default();
    chunk.push_record(to, OUT_TEXT, OUT_FLAG_FIN, 0, b"hi");
    reactor.serve_records(&chunk.bytes, Vec::new(), None);
    client.expect("81 02 'hi'");

    // Large payloads in the order of their records, the borrowed one last.
    let mut chunk = Chunk::default();
    chunk.push_large(to, OUT_TEXT, OUT_FLAG_FIN, 0, Large::copy(b"first"));
    chunk.push_large(to, OUT_BINARY, OUT_FLAG_FIN, 0, Large::default());
    let large = vec![std::mem::take(&mut chunk.large).remove(0)];
    reactor.serve_records(&chunk.bytes, large, Some(&[7; 20_000]));
    client.expect("81 05 'first' 82 7e 4e20");
    assert_eq!(client.read(20_000), [7; 20_000]);

    // Bytes that the kernel does not take at once are copied.
    let mut chunk = Chunk::default();
    chunk.push_large(to, OUT_BINARY, OUT_FLAG_FIN, 0, Large::default());
    let payload = vec![9; 16 << 20];
    reactor.serve_records(&chunk.bytes, Vec::new(), Some(&payload));
    drop(payload);
    let reader = std::thread::spawn(move || client.read(10 + (16 << 20)));
    until(&mut reactor, |_| reader.is_finished());
    assert!(reader.join().unwrap()[10..].iter().all(|&byte| byte == 9));
}

#[test]
fn what_was_queued_is_served_before_what_is_served_at_once() {
    let (mut reactor, _seen, mut client, id) = opened(Setup::default());
    let chunk = |text: &[u8]| {
        let mut chunk = Chunk::default();
        chunk.push_record((id.slot, id.generation), OUT_TEXT, OUT_FLAG_FIN, 0, text);
        chunk
    };
    let handle = reactor.handle();
    handle.submit(Command::Chunk(chunk(b"1"))).unwrap();
    reactor.serve_records(&chunk(b"2").bytes, Vec::new(), None);
    handle.submit(Command::Chunk(chunk(b"3"))).unwrap();
    reactor.serve(Command::Chunk(chunk(b"4")));
    client.expect("81 01 '1' 81 01 '2' 81 01 '3' 81 01 '4'");
}

#[test]
fn it_says_when_it_wants_its_next_turn() {
    let config = ListenerConfig { handshake_timeout: Duration::from_secs(5), ..ListenerConfig::default() };
    let (mut reactor, address, _seen) = reactor(Setup { listener: config, ..Setup::default() });
    reactor.run_once(Some(Duration::ZERO)).unwrap();
    assert_eq!(reactor.rest(), Due::Never);
    let _silent = Client::connect(address);
    until(&mut reactor, |reactor| reactor.connections() == 1);
    let Due::At(at) = reactor.rest() else { panic!("{:?}", reactor.rest()) };
    let after = crate::reactor::until(at);
    assert!(after > Duration::ZERO && after <= Duration::from_millis(5040), "{after:?}");
}

#[test]
fn a_turn_whose_budget_is_used_up_wants_another_at_once() {
    let (mut reactor, seen, mut client, _) = opened(Setup::default());
    let flood = frame(0x82, Some([0; 4]), &vec![1; 2 << 20]);
    let writer = std::thread::spawn(move || {
        client.write(&flood);
        client
    });
    let (mut at_once, mut is_due) = (false, false);
    until(&mut reactor, |reactor| {
        assert!(!is_due || !reactor.last_wait().0, "the turn had something to do, events or not");
        is_due = reactor.rest() == Due::Now;
        at_once |= is_due;
        seen.try_recv().is_ok()
    });
    assert!(at_once);
    reactor.serve(Command::CloseListener(0));
    drop(writer.join().unwrap());
    until(&mut reactor, |reactor| reactor.connections() == 0);
}
