//! A connection that is not read: its peer is held back. A peer that does not read.

use std::io::{ErrorKind, Write};

use crate::bridge::layout::{
    OUT_FLAG_FIN, OUT_FLAG_WANT_SENT, OUT_PAUSE, OUT_RESUME, OUT_TERMINATE, OUT_TEXT,
};
use crate::reactor::ListenerConfig;
use crate::reactor::tests::*;

/// R13.
#[test]
fn pause_holds_the_peer_back_and_resume_loses_nothing() {
    let server = Server::script(Script::on_message(|_, _| {}));
    let mut client = Client::connect(server.address);
    socket2::SockRef::from(&client.0).set_send_buffer_size(8 << 10).unwrap();
    let mut client = {
        client.write(UPGRADE.as_bytes());
        client.expect_text(client::SWITCHED);
        client
    };
    let id = server.opened();
    server.records(id, &[(OUT_PAUSE, 0, 0, b"")]);
    // Frames of 1000 bytes until TCP takes no more.
    let frame = frame(0x82, Some([1, 2, 3, 4]), &[7; 1000]);
    client.0.set_nonblocking(true).unwrap();
    let (mut written, mut at) = (0, 0);
    loop {
        match client.0.write(&frame[at..]) {
            Ok(len) => {
                written += len;
                at = written % frame.len();
                assert!(written < 64 << 20, "nothing holds the peer back");
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    client.0.set_nonblocking(false).unwrap();
    server.records(id, &[(OUT_RESUME, 0, 0, b"")]);
    client.write(&frame[at..]);
    client.end();
    // Frames that were read before the pause might have been reported before it.
    let expected = written.div_ceil(frame.len()) + usize::from(at == 0);
    for _ in 0..expected {
        assert_eq!(server.next(), Seen::Binary(vec![7; 1000]));
    }
    server.expect(&[Seen::End, Seen::Closed]);
}

#[test]
fn what_terminate_still_writes_was_sent() {
    let server = Server::script(Script::on_message(|_, _| {}));
    let mut client = Client::open(server.address);
    let id = server.opened();
    let flags = OUT_FLAG_FIN | OUT_FLAG_WANT_SENT;
    server.records(id, &[(OUT_TEXT, flags, 0, b"last"), (OUT_TERMINATE, 0, 0, b"")]);
    client.expect("81 04 'last'");
    server.expect(&[Seen::Sent(1), Seen::Closed]);
}

#[test]
fn f17_without_a_limit_pongs_wait_for_the_peer() {
    let listener = ListenerConfig { max_pending_auto_pongs: 0, ..ListenerConfig::default() };
    let server = Server::with(Setup { listener, send_buffer: Some(4 << 10), ..Setup::default() });
    let mut client = Client::connect_narrow(server.address, 4 << 10).upgrade();
    client.write(&frame(0x89, Some([0; 4]), &[b'p'; 125]).repeat(2000));
    let pongs = client.read(127 * 2000);
    assert!(pongs == frame(0x8a, None, &[b'p'; 125]).repeat(2000));
}
