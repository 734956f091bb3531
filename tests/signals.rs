//! O06: signals that hit the reactor's thread. The handlers run there, and every system call that
//! they interrupt is made again or was not needed.
#![cfg(all(unix, feature = "reactor"))]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a client that blocks, and a clock")]
#![expect(clippy::expect_used, reason = "a test")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::ops::Range;
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use reactor_ws::engine::Event;
use reactor_ws::reactor::{
    BoundListener, Command, Conn, Events, Flow, ListenAddress, ListenerConfig, Memory, Reactor, ReactorConfig,
};

const UPGRADE: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

static CAUGHT: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// Installs a handler after which calls fail with EINTR instead of going on.
fn catch(signal: libc::c_int) {
    // SAFETY: all zeros is a `sigaction` without flags, so without SA_RESTART; the handler only
    // counts, which is async-signal-safe, and lives as long as the program.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    assert_eq!(installed, 0);
}

struct Echo(Vec<u8>);

impl Memory for Echo {
    fn buffer(&mut self, range: Range<usize>) -> &mut [u8] {
        self.0.get_mut(range).unwrap_or_default()
    }
}

impl Flow for Echo {}

impl Events for Echo {
    fn on_event(&mut self, conn: &mut Conn<'_>, event: Event) {
        if let Event::Message { kind, payload } = event {
            conn.send(kind, true, payload.bytes(&self.0));
        }
    }

    fn on_end(&mut self, conn: &mut Conn<'_>) {
        conn.end();
    }
}

/// A masked binary frame with a key of zeros.
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut all = vec![0x82, 0x80 | 126];
    all.extend((payload.len() as u16).to_be_bytes());
    all.extend([0; 4]);
    all.extend(payload);
    all
}

/// A connection that echoes one message, and then many, so that reads and writes are cut short.
fn converse(address: std::net::SocketAddr) {
    let mut client = TcpStream::connect(address).expect("accept goes on");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("not zero");
    client.write_all(UPGRADE).expect("a live socket");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("the 101");
        head.push(byte[0]);
    }
    for (count, len) in [(500, 200), (200, 20_000)] {
        let mut writer = client.try_clone().expect("a descriptor");
        let writing = std::thread::spawn(move || {
            (0..count).for_each(|n: u32| writer.write_all(&frame(&vec![n as u8; len])).expect("it is read"));
        });
        for n in 0..count {
            let mut echo = vec![0; 4 + len];
            client.read_exact(&mut echo).expect("the echo");
            assert!(echo[4..] == vec![n as u8; len], "message {n} of {len} bytes");
        }
        writing.join().expect("all is written");
    }
}

#[test]
fn o06_a_storm_of_signals_in_the_reactors_thread_changes_nothing() {
    catch(libc::SIGUSR1);
    let mut reactor = Reactor::new(Echo(vec![0; 64 << 10]), ReactorConfig::default()).expect("descriptors");
    let handle = reactor.handle();
    let host = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let place = ListenAddress { host, port: 0, ..ListenAddress::default() };
    let listener = BoundListener::bind(&place).expect("a port");
    let address = listener.address();
    let config = Arc::new(ListenerConfig::default());
    handle.submit(Command::Listen { id: 0, listener, config }).expect("a waker");
    handle.submit(Command::Accept(0)).expect("a waker");
    let thread = std::thread::spawn(move || reactor.run());

    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // musl has another type for it than std.
                let number = thread.as_pthread_t() as libc::pthread_t;
                // SAFETY: the thread has not been joined.
                assert_eq!(unsafe { libc::pthread_kill(number, libc::SIGUSR1) }, 0);
                // As often as possible while the thread still gets work done.
                std::thread::sleep(Duration::from_micros(20));
            }
        });
        (0..50).for_each(|_| converse(address));
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(CAUGHT.load(Ordering::Relaxed) > 500, "{CAUGHT:?} signals");
    handle.submit(Command::Stop).expect("a waker");
    thread.join().expect("no panic").expect("no error of the poll");
}
