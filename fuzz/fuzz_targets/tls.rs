//! TLS: a client that may cut, damage, repeat and mix its flights and records breaks nothing. What it
//! sends whole, in order and undamaged comes back; after anything else the reactor goes on with others.
#![no_main]

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::Event;
use reactor_ws::reactor::tls::{ContextOptions, PairOptions, SecureContext, TlsOptions, TlsServer};
use reactor_ws::reactor::{Command, Events, Flow, ListenerConfig, Memory, Reactor, ReactorConfig, Conn};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName,
};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../src/reactor/tls/tests/files/", $name))
    };
}

#[derive(Debug, Arbitrary)]
enum Act<'a> {
    /// Bytes that are no client's.
    Raw(&'a [u8]),
    /// The client sends what it has to, in pieces of this length.
    Send(u8),
    /// As many bytes of that, and the rest never.
    Cut(u16),
    /// Damaged at one place.
    Damage(u16, u8),
    /// What was sent last, once more.
    Repeat,
    /// The client reads.
    Read,
    Request,
    /// A frame with this payload.
    Message(&'a [u8]),
    KeyUpdate,
    CloseNotify,
    Turn,
}

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    old: bool,
    with_certificate: bool,
    acts: Vec<Act<'a>>,
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
        match event {
            Event::Message { kind, payload } => conn.send(kind, true, payload.bytes(&self.0)),
            Event::Close { code, reason } => conn.close(code, reason.bytes(&self.0)),
            Event::Error(error) => conn.close(Some(error.kind.row().close_code), &[]),
            Event::Ping(_) | Event::Pong(_) => {}
        }
    }

    fn on_end(&mut self, conn: &mut Conn<'_>) {
        conn.end();
    }
}

struct World {
    reactor: Reactor<Echo>,
    /// By version and whether the client has a certificate.
    clients: [Arc<ClientConfig>; 4],
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

impl World {
    fn new() -> Self {
        let certificate = |pem: &[u8]| CertificateDer::from_pem_slice(pem).unwrap();
        let (own, authority) = (certificate(file!("server.pem")), certificate(file!("ca.pem")));
        let key = PrivatePkcs8KeyDer::from_pem_slice(file!("server.key")).unwrap();
        let list = CertificateRevocationListDer::from_pem_slice(file!("ca.crl")).unwrap();
        let context = SecureContext::new(&ContextOptions {
            pairs: &[PairOptions { chain: &[&own], key: key.secret_pkcs8_der() }],
            ca: &[&authority],
            crl: &[&list],
            request_cert: true,
            reject_unauthorized: false,
            versions: (0x0303, 0x0304),
            ciphers: &[],
        });
        let options = TlsOptions {
            context: Arc::new(context.unwrap()),
            alpn: vec![b"http/1.1".to_vec()],
            handshake_timeout: Duration::from_secs(3600),
            session_timeout: Duration::from_secs(300),
            ticket_keys: None,
            ask: 0,
        };
        let config = ListenerConfig {
            tls: Some(Arc::new(TlsServer::new(options).unwrap())),
            handshake_timeout: Duration::from_secs(3600),
            ..ListenerConfig::default()
        };
        let mut reactor = Reactor::new(Echo(vec![0; 64 << 10]), ReactorConfig::default()).unwrap();
        reactor.serve(Command::Join { id: 0, config: Arc::new(config) });
        let client = |version, with_certificate| Arc::new(client(version, with_certificate));
        let (new, old) = (&rustls::version::TLS13, &rustls::version::TLS12);
        Self { reactor, clients: [client(new, false), client(old, false), client(new, true), client(old, true)] }
    }

    fn turn(&mut self) {
        for _ in 0..3 {
            self.reactor.run_once(Some(Duration::ZERO)).unwrap();
        }
    }
}

fn client(version: &'static rustls::SupportedProtocolVersion, with_certificate: bool) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(file!("ca.pem")).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots);
    let mut config = if with_certificate {
        let chain = vec![CertificateDer::from_pem_slice(file!("client.pem")).unwrap()];
        builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(file!("client.key")).unwrap()).unwrap()
    } else {
        builder.with_no_client_auth()
    };
    config.resumption = Resumption::in_memory_sessions(4);
    config
}

struct Peer {
    tls: ClientConnection,
    socket: UnixStream,
    last: Vec<u8>,
    /// Nothing of what was sent is lost, damaged or another's.
    faithful: bool,
    expected: Vec<u8>,
    got: Vec<u8>,
}

impl Peer {
    fn records(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut records).unwrap();
        }
        records
    }

    fn write(&mut self, bytes: &[u8]) {
        // A server that has ended, or does not read.
        let written = self.socket.write(bytes).unwrap_or_default();
        self.faithful &= written == bytes.len();
    }

    fn read(&mut self) {
        let mut bytes = vec![0; 64 << 10];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(len) => self.take(&bytes[..len]),
            }
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.tls.read_tls(&mut bytes).unwrap_or_default() == 0 {
                return;
            }
            let processed = self.tls.process_new_packets();
            assert!(processed.is_ok() || !self.faithful, "{processed:?}");
            let mut plain = [0; 4096];
            while let Ok(len @ 1..) = self.tls.reader().read(&mut plain) {
                self.got.extend_from_slice(&plain[..len]);
            }
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        let taken = self.tls.writer().write(bytes).unwrap_or_default();
        self.faithful &= taken == bytes.len();
    }
}

fuzz_target!(|input: Input<'_>| {
    WORLD.with_borrow_mut(|world| attack(world, &input));
});

fn attack(world: &mut World, input: &Input<'_>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let stream = TcpStream::from(OwnedFd::from(theirs));
    world.reactor.serve(Command::Take { listener: 0, stream: stream.into() });
    let config = world.clients[usize::from(input.old) + 2 * usize::from(input.with_certificate)].clone();
    let tls = ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
    let mut peer =
        Peer { tls, socket: ours, last: Vec::new(), faithful: true, expected: Vec::new(), got: Vec::new() };
    let (mut asked, mut closed) = (false, false);
    for act in &input.acts {
        match act {
            Act::Raw(bytes) => {
                peer.faithful &= bytes.is_empty();
                peer.write(bytes);
            }
            Act::Send(len) => {
                let records = peer.records();
                for piece in records.chunks(usize::from(*len).max(1) * 16) {
                    peer.write(piece);
                    world.turn();
                }
                peer.last = records;
            }
            Act::Cut(len) => {
                let records = peer.records();
                let kept = records.len().min((*len).into());
                peer.faithful &= kept == records.len();
                peer.write(&records[..kept]);
            }
            Act::Damage(at, bits) => {
                let mut records = peer.records();
                if let Some(byte) = records.get_mut(usize::from(*at)) {
                    peer.faithful &= *bits == 0;
                    *byte ^= bits;
                }
                peer.write(&records);
            }
            Act::Repeat => {
                let last = peer.last.clone();
                peer.faithful &= last.is_empty();
                peer.write(&last);
            }
            // rustls asserts that nothing it would have to answer comes after its own close_notify.
            Act::Read if closed => {}
            Act::Read => peer.read(),
            Act::Request if !asked => {
                asked = true;
                peer.say(REQUEST);
            }
            Act::Message(payload) if asked && !closed && payload.len() < 126 => {
                let head = [0x82, 0x80 | payload.len() as u8, 0, 0, 0, 0];
                peer.say(&[&head, *payload].concat());
                peer.expected.extend([0x82, payload.len() as u8]);
                peer.expected.extend_from_slice(payload);
            }
            Act::KeyUpdate => drop(peer.tls.refresh_traffic_keys()),
            Act::CloseNotify if !peer.tls.is_handshaking() => {
                closed = true;
                peer.tls.send_close_notify();
            }
            Act::Request | Act::Message(_) | Act::CloseNotify | Act::Turn => {}
        }
        world.turn();
    }
    finish(world, peer, asked && !closed);
}

/// A client that has done nothing wrong gets all that it asked for.
fn finish(world: &mut World, mut peer: Peer, is_open: bool) {
    if peer.faithful && is_open {
        for _ in 0..8 {
            let records = peer.records();
            peer.write(&records);
            world.turn();
            peer.read();
        }
        if peer.faithful {
            let head = peer.got.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer") + 4;
            assert!(peer.got.starts_with(b"HTTP/1.1 101 "));
            assert_eq!(peer.got[head..], peer.expected);
        }
    }
    drop(peer.socket);
    for _ in 0..16 {
        if world.reactor.connections() == 0 {
            return;
        }
        world.turn();
    }
    panic!("a connection has outlived its client");
}
