//! A consumer that watches the bytes and has its own read.

use super::bridge::{Js, Record};
use super::*;
use crate::bridge::layout::*;
use crate::reactor::ReactorConfig;

fn told(records: Vec<Record>) -> Vec<(u8, Vec<u8>)> {
    records.into_iter().map(|record| (record.kind, record.payload)).collect()
}

#[test]
fn a_watched_connection_shows_its_bytes_before_what_they_say() {
    let js = Js::start(ReactorConfig::default());
    let mut client = Client::open(js.address);
    let id = js.opened(IN_OPEN);
    js.send(id, OUT_WATCH, OUT_FLAG_WANT_SENT, 1, b"");
    assert_eq!(js.records(1)[0].kind, IN_SENT);
    client.send("81 81 01020304 'a'");
    let raw = bytes("81 81 01020304 'a'");
    assert_eq!(told(js.records(2)), [(IN_RAW, raw), (IN_TEXT, vec![b'a' ^ 1])]);
    js.send(id, OUT_WATCH, OUT_FLAG_WANT_SENT, 0, b"");
    assert_eq!(js.records(1)[0].kind, IN_SENT);
    client.send("81 81 00000000 'b'");
    assert_eq!(told(js.records(1)), [(IN_TEXT, b"b".to_vec())]);
}

#[test]
fn what_is_fed_is_read_before_what_the_peer_sends_and_is_not_counted() {
    let js = Js::start(ReactorConfig::default());
    let mut client = Client::open(js.address);
    let id = js.opened(IN_OPEN);
    // While it is paused, nothing of either is read.
    js.send(id, OUT_PAUSE, 0, 0, b"");
    let large = frame(0x82, Some([1, 2, 3, 4]), &[7; 300_000]);
    let (first, rest) = large.split_at(200_000);
    js.send(id, OUT_FEED, 0, 0, first);
    js.send(id, OUT_FEED, 0, 0, rest);
    js.send(id, OUT_FEED, 0, 0, b"");
    js.send(id, OUT_FEED, OUT_FLAG_WANT_SENT, 0, &bytes("81 81 00000000 'f'"));
    assert_eq!(js.records(1)[0].kind, IN_SENT);
    client.send("81 81 00000000 'p'");
    js.send(id, OUT_RESUME, 0, 0, b"");
    let expected = [(IN_BINARY, vec![7; 300_000]), (IN_TEXT, b"f".to_vec()), (IN_TEXT, b"p".to_vec())];
    assert!(told(js.records(3)) == expected);
    assert_eq!(js.link.gauges.read_given(id.slot, id.generation), Some(UPGRADE.len() as u64 + 7));
}

#[test]
fn the_end_can_be_fed() {
    let js = Js::start(ReactorConfig::default());
    let mut client = Client::open(js.address);
    let id = js.opened(IN_OPEN);
    js.send(id, OUT_FEED, OUT_FLAG_FIN, 0, &bytes("81 81 00000000 'f'"));
    js.send(id, OUT_FEED, 0, 0, &bytes("81 81 00000000 'g'"));
    assert_eq!(told(js.records(2)), [(IN_TEXT, b"f".to_vec()), (IN_END, vec![])]);
    js.send(id, OUT_END, 0, 0, b"");
    assert_eq!(js.records(1)[0].kind, IN_CLOSED);
    client.expect_end();
}

#[test]
fn a_connection_can_be_told_of_before_its_request() {
    let js = Js::start(ReactorConfig::default());
    js.link.set_ask(0, ASK_CONNECTIONS);
    let mut client = Client::connect(js.address);
    let id = js.opened(IN_CONNECTION);
    client.write(UPGRADE.as_bytes());
    assert_eq!(js.opened(IN_OPEN), id);
    client.expect_text(client::SWITCHED);
    drop(client);
    js.records(1);

    let mut client = Client::connect(js.address);
    let id = js.opened(IN_CONNECTION);
    js.send(id, OUT_WRITE, 0, 0, b"no");
    js.send(id, OUT_END, 0, 0, b"");
    client.write(UPGRADE.as_bytes());
    client.expect_text("no");
    client.expect_end();
    client.end();
    assert_eq!(js.records(1)[0].kind, IN_CLOSED);
}
