//! The other process is broken, or an enemy. Each test ends with a reactor that serves its connections as before, and with no
//! descriptor left.
#![expect(clippy::disallowed_types, reason = "clients block")]

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use super::*;
use crate::reactor::ListenerConfig;
use crate::reactor::handover::parcel::Heads;
use crate::reactor::tests::{Client, PATIENCE, Server, frame};

/// A server whose connections move.
fn server() -> Server {
    Server::serve(ListenerConfig { movable: Some(0), ..ListenerConfig::default() })
}

/// A conversation of `ours` with `theirs`. `begin` brings the order to our side.
fn converse(
    ours: impl FnOnce(UnixStream, &dyn Fn(Report)) + Send,
    theirs: impl FnOnce(&mut Peer) -> io::Result<()> + Send,
    mut begin: impl FnMut(Report),
) -> Outcome {
    let (our_stream, their_stream) = UnixStream::pair().unwrap();
    let (to, reports) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || ours(our_stream, &|report| to.send(report).unwrap()));
        scope.spawn(move || drop(theirs(&mut Peer::new(their_stream, PATIENCE).unwrap())));
        loop {
            match reports.recv().unwrap() {
                Report::Ended(outcome) => {
                    // The caller needs the conversation no more.
                    drop(begin);
                    return outcome;
                }
                report => begin(report),
            }
        }
    })
}

fn give_to(old: &Server, theirs: impl FnOnce(&mut Peer) -> io::Result<()> + Send) -> Outcome {
    let (start, begun) = channel();
    converse(
        move |stream, report| {
            let mut program = stream.try_clone().unwrap();
            give(stream, &begun, report);
            let _left = program.write_all(&message(READY, 0, &[]));
        },
        theirs,
        |report| {
            let handles = vec![old.handle.clone()];
            if let Report::Met = report {
                return start.send(Order::Copy { handles, listener: 0 }).unwrap();
            }
            let Report::Copied = report else { return };
            old.submit(Command::Freeze(0));
            let giving = Giving {
                handles,
                listener: 0,
                port: TcpListener::bind("127.0.0.1:0").unwrap().into(),
                state: b"state".to_vec(),
                frozen: Instant::now(),
            };
            start.send(Order::Give(giving)).unwrap();
        },
    )
}

/// The program runs.
fn answer(report: Report) {
    if let Report::Alive(program) | Report::Ahead(_, program) = report {
        program.send(()).unwrap();
    }
}

fn take_from(new: &Server, theirs: impl FnOnce(&mut Peer) -> io::Result<()> + Send) -> Outcome {
    let (start, begun) = channel();
    converse(
        move |stream, report| take(stream, true, &begun, report),
        theirs,
        move |report| {
            if let Report::Whole(_) = report {
                start.send(Taking { handles: vec![new.handle.clone()], listener: 0 }).unwrap();
            }
            answer(report);
        },
    )
}

/// It answers these clients, and a new one.
#[track_caller]
fn assert_serves(server: &Server, clients: &mut [Client]) {
    assert_answered(server.address, clients);
}

#[track_caller]
fn assert_answered(address: SocketAddr, clients: &mut [Client]) {
    for client in [Client::open(address)].iter_mut().chain(clients) {
        client.write(&frame(0x81, Some([0; 4]), b"x"));
        client.expect("81 01 'x'");
    }
}

/// All bytes of a message, with any length in its head.
fn message(kind: u8, len: u32, body: &[u8]) -> Vec<u8> {
    [&[kind], &len.to_le_bytes()[..], body].concat()
}

/// A descriptor to give away, and another one that has an end when the last copy is closed.
fn descriptor() -> (OwnedFd, UnixStream) {
    let (one, other) = UnixStream::pair().unwrap();
    (one.into(), other)
}

#[track_caller]
fn assert_closed(mut other: UnixStream) {
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    other.read_to_end(&mut Vec::new()).expect("no descriptor is left");
}

/// What a new process says.
const NEW: [u8; 4] = [HELLO, READY, HELD, MINE];

/// A new process as it should be, before message `at` of `NEW`.
fn up_to(peer: &mut Peer, at: usize) -> io::Result<()> {
    if at > 0 {
        peer.send(HELLO, &hello(false), &[])?;
        peer.receive_kind(HELLO)?;
        peer.receive_kind(READY)?;
    }
    if at > 1 {
        peer.send(READY, &[], &[])?;
        let (state, sockets) = peer.receive_kind(PORT)?;
        assert_eq!((state.as_slice(), sockets.len()), (&b"state"[..], 1));
        peer.receive(MOST_BYTES)?;
    }
    if at > 2 {
        peer.send(HELD, &[], &[])?;
        peer.receive_kind(END)?;
    }
    Ok(())
}

#[test]
fn a_new_process_that_says_something_else_gets_nothing() {
    let old = server();
    let mut clients = [Client::open(old.address), Client::open(old.address)];
    for (at, right) in NEW.into_iter().enumerate() {
        let body = if right == HELLO { hello(false) } else { Vec::new() };
        let whole = message(right, body.len() as u32, &body);
        let mut wrong: Vec<Vec<u8>> = (0..whole.len()).map(|len| whole[..len].to_vec()).collect();
        wrong.extend((0..=9).chain([255]).filter(|&kind| kind != right).map(|kind| message(kind, 0, &[])));
        // A body that never comes.
        wrong.push(message(right, 7, b"abc"));
        if right == HELLO {
            wrong.push(message(HELLO, 3, b"abc"));
            wrong.push(message(HELLO, 8, &[0xff; 8]));
        }
        for bytes in wrong {
            let outcome = give_to(&old, |peer| up_to(peer, at).and_then(|()| peer.write(&bytes)));
            assert!(outcome.failure.is_some(), "{bytes:?}");
            assert_eq!(outcome.moved, 0);
        }
        // Its length is refused, and not read.
        for len in [SHORT + 1, MOST_BYTES, u32::MAX as usize] {
            let bytes = message(right, len as u32, &body);
            let outcome = give_to(&old, |peer| up_to(peer, at).and_then(|()| peer.write(&bytes)));
            assert_eq!(outcome.failure.unwrap().kind(), ErrorKind::InvalidData, "{len}");
            assert_eq!(outcome.moved, 0);
        }
        assert_serves(&old, &mut clients);
    }
}

#[test]
fn descriptors_of_a_new_process_are_closed() {
    let old = server();
    let mut clients = [Client::open(old.address)];
    for (at, kind) in NEW.into_iter().enumerate() {
        let (one, other) = descriptor();
        let outcome = give_to(&old, |peer| {
            up_to(peer, at)?;
            let body = if kind == HELLO { hello(false) } else { Vec::new() };
            peer.send(kind, &body, &[one.as_fd(); MOST])?;
            // The answer to MINE is the end.
            if kind == MINE { peer.receive(0).map(drop) } else { Ok(()) }
        });
        assert_eq!((outcome.failure.is_some(), outcome.moved > 0), (kind != MINE, kind == MINE));
        drop(one);
        assert_closed(other);
        if kind != MINE {
            assert_serves(&old, &mut clients);
        }
    }
    // The process that has them has left.
    clients[0].drain();
}

/// Connections wait only for a process that goes on.
#[test]
fn a_new_process_that_stands_still_is_given_up() {
    let old = server();
    let address = old.address;
    let mut clients = [Client::open(address)];
    let outcome = give_to(&old, |peer| {
        up_to(peer, 1)?;
        assert_answered(address, &mut clients);
        Ok(())
    });
    assert_eq!(outcome.failure.unwrap().kind(), ErrorKind::UnexpectedEof);
    let begun = Instant::now();
    let outcome = give_to(&old, |peer| up_to(peer, 3).and_then(|()| peer.receive(0).map(drop)));
    assert_eq!(outcome.failure.unwrap().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() < TRANSFER / 2);
    assert_serves(&old, &mut clients);
    let outcome = give_to(&old, |peer| {
        up_to(peer, 3)?;
        for _ in 0..4 {
            std::thread::sleep(STANDSTILL / 3);
            peer.send(READY, &[], &[])?;
        }
        peer.send(MINE, &[], &[])?;
        peer.receive(0).map(drop)
    });
    assert!(outcome.failure.is_none() && outcome.moved > 0, "{outcome:?}");
}

/// Such as for its broker.
#[test]
fn a_new_process_whose_program_waits_says_that_it_runs() {
    let new = server();
    let (body, socket, _client) = batch();
    let (start, begun) = channel();
    let opening = start.clone();
    let handle = new.handle.clone();
    let mut beats = 0;
    let outcome = converse(
        move |stream, report| {
            let mut program = stream.try_clone().unwrap();
            take(stream, true, &begun, report);
            assert_eq!(program.read(&mut [0]).unwrap(), 1, "it waits for the end of the other process");
        },
        move |peer| {
            greet(peer)?;
            peer.send(BATCH, &body, &[socket.as_fd()])?;
            peer.receive_kind(HELD)?;
            peer.send(END, &[0; 8], &[])?;
            peer.receive_kind(READY)?;
            peer.receive_kind(READY)?;
            peer.receive_kind(MINE)?;
            peer.within(Duration::from_millis(50));
            assert_eq!(peer.receive(0).unwrap_err().kind(), ErrorKind::TimedOut);
            drop(opening);
            peer.within(PATIENCE);
            assert_eq!(peer.receive(0).unwrap_err().kind(), ErrorKind::UnexpectedEof);
            peer.write(b"x")
        },
        move |report| {
            beats += usize::from(matches!(report, Report::Alive(_)));
            answer(report);
            // The first one is before PORT.
            if beats == 3 {
                start.send(Taking { handles: vec![handle.clone()], listener: 0 }).unwrap();
                beats = 0;
            }
        },
    );
    assert!(outcome.failure.is_none() && outcome.moved == 1, "{outcome:?}");
}

/// Before it knows of connections, and before connections wait for it.
#[test]
fn a_new_process_answers_when_its_program_has() {
    let (_start, begun) = channel();
    let (keep, kept) = channel::<Sender<()>>();
    let outcome = converse(
        move |stream, report| take(stream, true, &begun, report),
        move |peer| {
            peer.receive_kind(HELLO)?;
            peer.send(HELLO, &hello(false), &[])?;
            for (kind, answer) in [(AHEAD, HELD), (READY, READY)] {
                peer.send(kind, &[], &[])?;
                peer.within(Duration::from_millis(50));
                assert_eq!(peer.receive(0).unwrap_err().kind(), ErrorKind::TimedOut);
                peer.within(PATIENCE);
                kept.recv().unwrap().send(()).unwrap();
                assert_eq!(peer.receive(0)?.0, answer);
            }
            Ok(())
        },
        move |report| {
            if let Report::Alive(program) | Report::Ahead(_, program) = report {
                keep.send(program).unwrap();
            }
        },
    );
    assert_eq!(outcome.failure.unwrap().kind(), ErrorKind::UnexpectedEof);
}

/// A new process that wants to be told ahead.
fn listen(peer: &mut Peer) -> io::Result<Vec<u8>> {
    peer.send(HELLO, &hello(true), &[])?;
    peer.receive_kind(HELLO)?;
    let (kind, body, _) = peer.receive(MOST_BYTES)?;
    assert_eq!(kind, AHEAD);
    Ok(body)
}

/// And then ends, or says something else: the old one goes on.
#[test]
fn a_new_process_that_was_told_ahead_has_nothing() {
    let old = server();
    let mut clients = [Client::open(old.address)];
    for kind in [None, Some(MINE), Some(HELLO)] {
        let outcome = give_to(&old, |peer| {
            listen(peer)?;
            kind.map_or(Ok(()), |kind| peer.send(kind, &[], &[]))
        });
        assert!(outcome.failure.is_some() && outcome.moved == 0, "{outcome:?}");
        assert_serves(&old, &mut clients);
    }
    let has_request = |bytes: &[u8]| bytes.windows(4).any(|bytes| bytes == b"GET ");
    let outcome = give_to(&old, |peer| {
        assert!(has_request(&listen(peer)?));
        peer.send(HELD, &[], &[])?;
        peer.receive_kind(READY)?;
        peer.send(READY, &[], &[])?;
        peer.receive_kind(PORT)?;
        let (_, body, sockets) = peer.receive(MOST_BYTES)?;
        assert!(!has_request(&body) && !sockets.is_empty());
        peer.send(HELD, &[], &[])?;
        peer.receive_kind(END)?;
        peer.send(MINE, &[], &[])?;
        peer.receive(0).map(drop)
    });
    assert!(outcome.failure.is_none() && outcome.moved > 0, "{outcome:?}");
}

#[test]
fn a_conversation_ends_when_the_program_needs_it_no_more() {
    let (start, begun) = channel();
    drop(start);
    let outcome = converse(
        move |stream, report| give(stream, &begun, report),
        |peer| {
            peer.send(HELLO, &hello(false), &[])?;
            peer.receive_kind(HELLO)?;
            peer.receive(0).map(drop)
        },
        |_| {},
    );
    assert_eq!(outcome.failure.unwrap().kind(), ErrorKind::Interrupted);
}

/// Connections leave when the other process has opened them.
#[test]
fn an_old_process_waits_for_the_new_one() {
    let old = server();
    let _client = Client::open(old.address);
    let waits = std::sync::atomic::AtomicBool::new(false);
    let outcome = give_to(&old, |peer| {
        up_to(peer, 3)?;
        peer.send(MINE, &[], &[])?;
        peer.within(Duration::from_millis(50));
        let ended = peer.receive(0).err();
        // Then its program can say something.
        peer.stream.shutdown(Shutdown::Write)?;
        peer.within(PATIENCE);
        let ends = peer.receive(0).is_err();
        let waits_long = ended.unwrap().kind() == ErrorKind::TimedOut;
        waits.store(waits_long && !ends, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    });
    assert!(outcome.failure.is_none() && waits.into_inner());
}

#[test]
fn few_descriptors_are_on_their_way() {
    let old = server();
    let _clients: Vec<Client> = (0..=MOST_UNHELD * MOST).map(|_| Client::open(old.address)).collect();
    let is_silent = std::sync::atomic::AtomicBool::new(false);
    give_to(&old, |peer| {
        up_to(peer, 2)?;
        for _ in 1..MOST_UNHELD {
            peer.receive(MOST_BYTES)?;
        }
        peer.within(Duration::from_millis(50));
        let early = peer.receive(MOST_BYTES).err();
        is_silent.store(early.unwrap().kind() == ErrorKind::TimedOut, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    });
    assert!(is_silent.into_inner());
}

/// Such as while this process was stopped. Later it can say it no more.
#[test]
fn mine_that_has_come_counts() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (mut ours, mut theirs) =
        (Peer::new(ours, Duration::ZERO).unwrap(), Peer::new(theirs, PATIENCE).unwrap());
    theirs.send(MINE, &[], &[]).unwrap();
    assert!(receive_mine(&mut ours).is_ok());
    ours.within(Duration::ZERO);
    assert_eq!(receive_mine(&mut ours).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(theirs.send(MINE, &[], &[]).unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn an_old_process_without_descriptors_goes_on() {
    // A connection with TLS has no duplicate.
    let tls = Some(crate::reactor::tls::tests::server());
    let old = Server::serve(ListenerConfig { movable: Some(0), tls, ..ListenerConfig::default() });
    let (_first, mut second) = (Client::connect(old.address), Client::connect(old.address));
    second.write(b"no TLS");
    second.read(1);
    let outcome = give_to(&old, |peer| {
        up_to(peer, 1)?;
        peer.send(READY, &[], &[])?;
        peer.receive_kind(PORT)?;
        peer.receive(0).map(drop)
    });
    assert_eq!(outcome.failure.unwrap().to_string(), "no descriptors are left");
}

/// However slowly bytes come and go.
#[test]
fn a_message_in_small_parts_has_an_end() {
    const SHORTLY: Duration = Duration::from_millis(100);
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let bytes = message(BATCH, 1 << 20, &[]);
            for byte in bytes.into_iter().chain(std::iter::repeat(0)) {
                if (&theirs).write_all(&[byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut peer = Peer::new(ours, SHORTLY).unwrap();
        let error = peer.receive(MOST_BYTES).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(peer);
    });
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while let Ok(1..) = (&theirs).read(&mut [0; 1000]) {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let mut peer = Peer::new(ours, SHORTLY).unwrap();
        let error = peer.send(PORT, &vec![0; 64 << 20], &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(peer);
    });
}

/// A batch with one connection, as an old process sends it, and its client.
fn batch() -> (Vec<u8>, OwnedFd, Client) {
    let old = server();
    let client = Client::open(old.address);
    let (to, batches) = channel();
    let outcome = give_to(&old, |peer| {
        up_to(peer, 1)?;
        peer.send(READY, &[], &[])?;
        peer.receive_kind(PORT)?;
        let (_, body, mut sockets) = peer.receive(MOST_BYTES)?;
        to.send((body, sockets.pop())).unwrap();
        peer.send(HELD, &[], &[])?;
        peer.receive_kind(END)?;
        peer.send(MINE, &[], &[])?;
        peer.receive(0).map(drop)
    });
    assert!(outcome.failure.is_none() && outcome.moved == 1, "{outcome:?}");
    let (body, socket) = batches.recv().unwrap();
    (body, socket.unwrap(), client)
}

/// An old process up to PORT.
fn greet(peer: &mut Peer) -> io::Result<()> {
    peer.receive_kind(HELLO)?;
    peer.send(HELLO, &hello(false), &[])?;
    peer.send(READY, &[], &[])?;
    peer.receive_kind(READY)?;
    let (port, _) = descriptor();
    peer.send(PORT, b"state", &[port.as_fd(); 3])
}

/// A whole conversation about these connections.
fn offer(peer: &mut Peer, body: &[u8], sockets: &[BorrowedFd<'_>]) -> io::Result<()> {
    greet(peer)?;
    peer.send(BATCH, body, sockets)?;
    peer.receive_kind(HELD)?;
    peer.send(END, &[0; 8], &[])?;
    peer.receive_kind(MINE).map(drop)
}

#[test]
fn an_old_process_that_says_something_else_gives_nothing() {
    type Act<'a> = (&'a str, &'a (dyn Fn(&mut Peer) -> io::Result<()> + Sync), &'a str);
    let new = server();
    let (body, socket, mut client) = batch();
    let socket = [socket.as_fd()];
    let doubled = [socket[0]; 2];
    let twice = [&body[..], &body[..]].concat();
    let huge = [&u64::MAX.to_le_bytes()[..], &body[8..]].concat();
    let other = hello(false).iter().map(|byte| byte ^ u8::from(*byte == b'w')).collect::<Vec<_>>();
    let mut later = hello(false);
    *later.iter_mut().nth_back(8).unwrap() += 1;
    let with =
        |body, sockets| move |peer: &mut Peer| greet(peer).and_then(|()| peer.send(BATCH, body, sockets));
    // A slot in place of its heads, which follow a few bytes.
    let rest = &mut Decoder(&body[8..]);
    let _client = (rest.flag().unwrap(), rest.bytes().unwrap(), rest.number().unwrap());
    let (_unread, _open) = (rest.bytes().unwrap(), rest.byte().unwrap());
    let before = &body[8..body.len() - rest.0.len()];
    assert_eq!(rest.flag(), Some(false));
    assert!(
        rest.bytes().unwrap().starts_with(b"GET ") && rest.bytes().unwrap().starts_with(b"HTTP/1.1 101 ")
    );
    let mut known = Vec::new();
    Encoder(&mut known).bytes(&[before, &[1], &[7; 8], rest.0].concat());
    let acts: [Act<'_>; 18] = [
        ("HELLO of another program", &|peer| peer.send(HELLO, &other, &[]), "no server of reactor-ws"),
        ("HELLO of another version", &|peer| peer.send(HELLO, &later, &[]), "has version 3"),
        ("REFUSED", &|peer| peer.send(REFUSED, &hello(false), &[]), "refuses"),
        ("PORT without HELLO", &|peer| peer.send(PORT, b"", &socket), "no server"),
        (
            "COPY without a slot",
            &|peer| {
                peer.send(HELLO, &hello(false), &[])?;
                peer.send(COPY, &[0; 7], &[])
            },
            "an unexpected message",
        ),
        (
            "AHEAD without heads",
            &|peer| {
                peer.send(HELLO, &hello(false), &[])?;
                peer.send(AHEAD, &[7; 7], &[])
            },
            "malformed heads, or too many",
        ),
        (
            "a connection that was not told ahead",
            &|peer| {
                peer.receive_kind(HELLO)?;
                peer.send(HELLO, &hello(false), &[])?;
                peer.send(AHEAD, &[], &[])?;
                peer.receive_kind(HELD)?;
                let (port, _) = descriptor();
                peer.send(PORT, b"state", &[port.as_fd()])?;
                peer.send(BATCH, &known, &socket)
            },
            "malformed connection",
        ),
        (
            "PORT without a descriptor",
            &|peer| {
                peer.send(HELLO, &hello(false), &[])?;
                peer.send(PORT, b"state", &[])?;
                peer.send(END, &[0; 8], &[])
            },
            "no port",
        ),
        ("no descriptor", &with(&body, &[]), "missing"),
        ("too few descriptors", &with(&twice, &socket), "missing"),
        ("too many descriptors", &with(&body, &doubled), "malformed"),
        ("an empty batch", &with(&[], &[]), "missing"),
        ("no connection", &with(&[7; 100], &socket), "malformed"),
        ("a length beyond all", &with(&huge, &socket), "malformed"),
        ("half a connection", &with(&body[..body.len() / 2], &socket), "malformed"),
        (
            "MINE for END",
            &|peer| with(&body, &socket)(peer).and_then(|()| peer.send(MINE, &[], &[])),
            "unexpected",
        ),
        (
            "END without a time",
            &|peer| with(&body, &socket)(peer).and_then(|()| peer.send(END, &[0; 7], &[])),
            "malformed end",
        ),
        ("no END", &with(&body, &socket), ""),
    ];
    for (name, act, why) in acts {
        let outcome = take_from(&new, |peer| {
            act(peer)?;
            peer.stream.shutdown(Shutdown::Write)?;
            peer.stream.read_to_end(&mut Vec::new()).map(drop)
        });
        let failure = outcome.failure.map(|failure| failure.to_string());
        assert!(failure.as_ref().is_some_and(|failure| failure.contains(why)), "{name}: {failure:?}");
        assert_eq!(outcome.moved, 0, "{name}");
        assert_serves(&new, &mut []);
    }
    // None of them has touched the connection.
    let outcome = take_from(&new, |peer| offer(peer, &body, &socket));
    assert!(outcome.failure.is_none() && outcome.moved == 1, "{outcome:?}");
    client.write(&frame(0x81, Some([0; 4]), b"x"));
    client.expect("81 01 'x'");
}

/// The new process keeps what comes ahead until the end: as much as a server of ours tells, and no more.
#[test]
fn an_old_process_that_tells_without_end_gives_nothing() {
    let new = server();
    let heads = Heads {
        slot: 0,
        local: None,
        remote: None,
        request: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        response: b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec(),
    };
    let mut body = Vec::new();
    heads.encode(&mut Encoder(&mut body));
    let some = body.repeat(MOST_TOLD / 16);
    let held = std::sync::atomic::AtomicUsize::new(0);
    let outcome = take_from(&new, |peer| {
        peer.receive_kind(HELLO)?;
        peer.send(HELLO, &hello(false), &[])?;
        for message in [&[&some[..]; 16][..], &[&body]].concat() {
            peer.send(AHEAD, message, &[])?;
            peer.receive_kind(HELD)?;
            held.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    });
    let failure = outcome.failure.unwrap().to_string();
    assert_eq!((&failure[..], held.into_inner()), ("malformed heads, or too many", 16));
    assert_serves(&new, &mut []);
}

/// Each of these is a connection that ends, and no other one does.
#[test]
fn descriptors_that_are_no_connections_do_no_harm() {
    let new = server();
    let (body, _socket, _client) = batch();
    let file = std::env::temp_dir().join(format!("courier-{}", std::process::id()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = || std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (blocking, _silent) = (connect(), listener.accept().unwrap());
    let closed = connect();
    drop(listener.accept().unwrap());
    let local = UnixListener::bind(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let strange: [(&str, OwnedFd); 9] = [
        ("a socket that blocks", blocking.into()),
        ("a socket whose peer has left", closed.into()),
        ("a listener", listener.into()),
        ("a listener of the file system", local.into()),
        ("UDP", UdpSocket::bind("127.0.0.1:0").unwrap().into()),
        ("a file", std::fs::File::create(&file).unwrap().into()),
        ("a folder", std::fs::File::open(std::env::temp_dir()).unwrap().into()),
        ("a pipe", io::pipe().unwrap().1.into()),
        ("a socket without a peer", UnixStream::pair().unwrap().0.into()),
    ];
    std::fs::remove_file(&file).unwrap();
    let (one, other) = descriptor();
    let two = [&body[..], &body[..]].concat();
    for (name, fd) in strange {
        let outcome = take_from(&new, |peer| offer(peer, &two, &[fd.as_fd(), one.as_fd()]));
        assert!(outcome.failure.is_none() && outcome.moved == 2, "{name}: {outcome:?}");
        assert_serves(&new, &mut []);
    }
    // A stream like any other, whose peer leaves.
    drop(one);
    other.shutdown(Shutdown::Write).unwrap();
    assert_closed(other);
}
