//! Faults that concern no other file: endless messages, floods of frames that need no answer,
//! urgent bytes, a process that stood still, a thread that hangs.

use std::io::Write;
use std::sync::mpsc::channel;

use super::bridge::Js;
use super::*;
use crate::bridge::layout::{IN_OPEN, IN_PONG, OUT_BINARY, OUT_CLOSE};
use crate::bridge::limits::BATCH_BYTES;
use crate::reactor::ReactorConfig;
use crate::reactor::config::READ_BUDGET;

/// Unsolicited pongs are events too: above the mark their peer is not read, and none is lost.
#[test]
fn f18_a_flood_of_pongs_waits_for_a_consumer_that_takes_them() {
    let mark = 100_000;
    let js = Js::start(ReactorConfig { connection_mark: mark, ..ReactorConfig::default() });
    let client = Client::open(js.address);
    js.opened(IN_OPEN);
    let total = 200_000;
    let mut writer = client.0.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        let pongs = frame(0x8a, Some([0; 4]), &[b'p'; 125]).repeat(1000);
        (0..total / 1000).for_each(|_| writer.write_all(&pongs).expect("the server reads again"));
    });
    let mut seen = 0;
    while seen < total {
        let weight = js.link.inbox.weight();
        assert!(weight < mark + READ_BUDGET + 2 * BATCH_BYTES, "{weight} bytes wait");
        let pongs = js.drain();
        assert!(pongs.iter().all(|record| record.kind == IN_PONG && record.payload == [b'p'; 125]));
        seen += pongs.len();
    }
    assert_eq!(seen, total);
    writing.join().unwrap();
}

/// An urgent byte is no part of the stream, a read stops before it, and its event is used up.
#[test]
#[cfg(target_os = "linux")]
fn o08_an_urgent_byte_changes_nothing() {
    let (mut reactor, seen, mut client, _) = turns::opened(Setup::default());
    client.send("81 85 00000000 'he'");
    socket2::SockRef::from(&client.0).send_out_of_band(b"!").unwrap();
    client.send("'llo'");
    turns::until(&mut reactor, |_| seen.try_recv().is_ok());
    client.expect("81 05 'hello'");
    turns::until(&mut reactor, |reactor| turns::idle_for(reactor, Duration::from_millis(30)));
    // Also where reading goes on in a later turn, which sees no event.
    let large = frame(0x82, Some([0; 4]), &[7; 300 << 10]);
    let (first, last) = large.split_at(200 << 10);
    client.write(first);
    socket2::SockRef::from(&client.0).send_out_of_band(b"!").unwrap();
    client.write(last);
    turns::until(&mut reactor, |_| seen.try_recv().is_ok());
}

/// No thread waits for a reactor that hangs; its commands are done in order when it goes on.
#[test]
fn p13_a_reactor_that_hangs_holds_nobody_up() {
    let (hung, hanging) = channel();
    let (release, released) = channel::<()>();
    let script = Script::on_message(move |_, _| {
        hung.send(()).unwrap();
        released.recv().unwrap();
    });
    let server = Server::script(script);
    let mut client = Client::open(server.address);
    let id = server.opened();
    client.send("81 81 00000000 'x'");
    hanging.recv_timeout(PATIENCE).unwrap();
    for n in 0..10_000_u32 {
        server.send(id, OUT_BINARY, &n.to_be_bytes());
    }
    server.send(id, OUT_CLOSE, b"");
    release.send(()).unwrap();
    for n in 0..10_000_u32 {
        assert_eq!(client.read(6), [&[0x82, 4], &n.to_be_bytes()[..]].concat());
    }
    client.expect("88 00");
    client.send("88 80 00000000");
    client.expect_end();
}
