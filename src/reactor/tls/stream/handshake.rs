//! The handshake, which can wait for the program once the client has named its server and its
//! protocols.
//!
//! ```text
//! Hello --- the whole ClientHello, without callbacks --> Chosen --> Going --> HandshakeStep::Done
//!   '-- HandshakeStep::Asks --> Pending --- choose() ----------^
//! ```
//!
//! From each of them to `HandshakeStep::Failed`. A call can cost a signature and a key exchange, so the
//! reactor has a budget for them.

use std::io::{self, Write as _};
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::server::{Accepted, Acceptor};
use rustls::{Error, PeerIncompatible, ProtocolVersion, ServerConnection};

use super::{Stage, TlsConn, TlsStream, with_scratch, write_records};
use crate::reactor::tls::{Chosen, Failure, SecureContext, TlsServer};
use crate::reactor::transport::stream::{Received, Stream as _};
use crate::reactor::transport::tcp::{Socket, is_transient};

/// Most ciphertext read at once during a handshake: flights of clients are shorter.
const FLIGHT: usize = 8 << 10;

const ACCESS_DENIED: u8 = 49;
const PROTOCOL_VERSION: u8 = 70;

pub(in crate::reactor::tls) enum HandshakeStep {
    /// An edge will come.
    Waits,
    /// The system has no memory; no edge will come.
    Short,
    /// `choose` goes on with it.
    Asks(Hello),
    Done,
    Failed(Failure),
}

/// Wishes of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    pub server_name: Option<String>,
    /// Each after its length in a byte.
    pub alpn: Vec<u8>,
}

pub(super) struct Handshake {
    server: Arc<TlsServer>,
    progress: Progress,
}

enum Progress {
    Hello(Box<Acceptor>, Begun),
    Pending(Box<Accepted>),
    Chosen(Box<Accepted>, Chosen),
    Going(Box<TlsConn>),
}

/// The first bytes, by which HTTP without TLS is known.
#[derive(Default)]
struct Begun {
    bytes: [u8; 8],
    len: usize,
    may_be_plain: bool,
}

impl TlsStream {
    /// Goes on with the handshake, until the client must answer, or the program.
    pub(in crate::reactor::tls) fn handshake(&mut self) -> HandshakeStep {
        match std::mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Handshaking(handshake) => {
                let (stage, step) = with_scratch(|scratch| {
                    let flight = scratch.get_mut(..FLIGHT).unwrap_or_default();
                    handshake.go_on(&mut self.socket, &mut self.unfed, flight)
                });
                self.stage = stage;
                step
            }
            other => {
                self.stage = other;
                HandshakeStep::Waits
            }
        }
    }

    /// Answers `HandshakeStep::Asks`. `context`: `None` is the host's, or the server's; `alpn`: `None`
    /// is by the server's list. Does nothing without a question.
    pub(in crate::reactor::tls) fn choose(&mut self, context: Option<&SecureContext>, alpn: Option<Vec<u8>>) {
        let Stage::Handshaking(mut handshake) = std::mem::replace(&mut self.stage, Stage::Failed) else {
            return;
        };
        let Handshake { server, progress } = &mut *handshake;
        if let Progress::Pending(_) = progress {
            let Progress::Pending(accepted) = std::mem::replace(progress, Progress::new()) else { return };
            let mut chosen = match context {
                Some(context) => server.of_context(context),
                None => server.of_host(accepted.client_hello().server_name()),
            };
            if let Some(alpn) = alpn {
                chosen = chosen.with_protocol(alpn);
            }
            *progress = Progress::Chosen(accepted, chosen);
        }
        self.stage = Stage::Handshaking(handshake);
    }

    /// Whether the program has been asked, and has yet to answer.
    pub(in crate::reactor::tls) fn is_pending(&self) -> bool {
        matches!(&self.stage, Stage::Handshaking(handshake) if matches!(handshake.progress, Progress::Pending(_)))
    }

    /// Ends the handshake with an alert.
    pub(in crate::reactor::tls) fn refuse(&mut self, alert: u8) {
        if let Stage::Handshaking(handshake) = &self.stage {
            handshake.alert(&self.socket, alert);
            self.stage = Stage::Failed;
        }
    }
}

impl Handshake {
    pub(super) fn new(server: Arc<TlsServer>) -> Self {
        Self { server, progress: Progress::new() }
    }

    /// Tells the client that it must not connect.
    pub(super) fn deny(&self, socket: &TcpStream) {
        self.alert(socket, ACCESS_DENIED);
    }

    fn alert(&self, socket: &TcpStream, alert: u8) {
        // Once there are keys an alert would need them.
        if !matches!(self.progress, Progress::Going(_)) {
            send_alert(socket, alert);
        }
    }

    pub(super) fn flush(&mut self, socket: &TcpStream) -> io::Result<()> {
        match &mut self.progress {
            Progress::Going(session) => write_records(&mut session.connection, socket),
            _ => Ok(()),
        }
    }

    fn go_on(
        mut self: Box<Self>,
        socket: &mut TcpStream,
        unfed: &mut Vec<u8>,
        flight: &mut [u8],
    ) -> (Stage, HandshakeStep) {
        loop {
            self.progress = match self.progress {
                Progress::Pending(_) => return (Stage::Handshaking(self), HandshakeStep::Waits),
                Progress::Going(session) if !session.connection.is_handshaking() => {
                    return (Stage::Open(session), HandshakeStep::Done);
                }
                Progress::Chosen(accepted, chosen) => match start(*accepted, chosen, socket) {
                    Ok(session) => Progress::Going(session),
                    Err(failure) => return (Stage::Failed, HandshakeStep::Failed(failure)),
                },
                waiting => {
                    self.progress = waiting;
                    if unfed.is_empty() {
                        match socket.receive(flight) {
                            Received::Bytes(len) => {
                                unfed.extend_from_slice(flight.get(..len).unwrap_or_default());
                            }
                            Received::Empty => return (Stage::Handshaking(self), HandshakeStep::Waits),
                            Received::Short => return (Stage::Handshaking(self), HandshakeStep::Short),
                            Received::Eof | Received::Cut | Received::Dead => {
                                return (Stage::Failed, HandshakeStep::Failed(Failure::gone()));
                            }
                        }
                    }
                    match self.feed(socket, unfed) {
                        Ok(None) => {}
                        Ok(Some(hello)) => return (Stage::Handshaking(self), HandshakeStep::Asks(hello)),
                        Err(failure) => return (Stage::Failed, HandshakeStep::Failed(failure)),
                    }
                    self.progress
                }
            };
        }
    }

    /// Consumes bytes as far as possible. `Some`: the program is to choose.
    fn feed(&mut self, socket: &TcpStream, unfed: &mut Vec<u8>) -> Result<Option<Hello>, Failure> {
        let bytes = std::mem::take(unfed);
        let mut rest = &*bytes;
        let mut asks = None;
        match &mut self.progress {
            Progress::Hello(acceptor, begun) => {
                if let Some(accepted) = accept(acceptor, begun, &mut rest, socket)? {
                    let hello = hello_of(&accepted);
                    if self.server.asks().hello(hello.server_name.is_some(), !hello.alpn.is_empty()) {
                        asks = Some(hello);
                        self.progress = Progress::Pending(Box::new(accepted));
                    } else {
                        let chosen = self.server.of_host(hello.server_name.as_deref());
                        self.progress = Progress::Chosen(Box::new(accepted), chosen);
                    }
                }
            }
            Progress::Going(session) => shake_hands(&mut session.connection, &mut rest, socket)?,
            Progress::Pending(_) | Progress::Chosen(..) => {}
        }
        unfed.extend_from_slice(rest);
        Ok(asks)
    }
}

impl Progress {
    fn new() -> Self {
        Self::Hello(Box::default(), Begun::default())
    }
}

impl Begun {
    /// Whether HTTP has begun; `None`: it might have.
    fn is_plain_http(&mut self, bytes: &[u8]) -> Option<bool> {
        for (to, from) in self.bytes.iter_mut().skip(self.len).zip(bytes) {
            *to = *from;
            self.len += 1;
        }
        let begun = self.bytes.get(..self.len).unwrap_or_default();
        let methods: [&[u8]; 7] =
            [b"GET ", b"HEAD ", b"POST ", b"PUT ", b"OPTIONS ", b"CONNECT ", b"DELETE "];
        match methods.iter().any(|method| begun.starts_with(method)) {
            true => Some(true),
            false if methods.iter().any(|method| method.starts_with(begun)) => None,
            false => Some(false),
        }
    }
}

fn hello_of(accepted: &Accepted) -> Hello {
    let hello = accepted.client_hello();
    let names = hello.alpn().into_iter().flatten();
    // A name is at most 255 bytes long on the wire.
    let alpn = names.flat_map(|name| std::iter::once(name.len() as u8).chain(name.iter().copied())).collect();
    Hello { server_name: hello.server_name().map(str::to_owned), alpn }
}

fn accept(
    acceptor: &mut Acceptor,
    begun: &mut Begun,
    rest: &mut &[u8],
    socket: &TcpStream,
) -> Result<Option<Accepted>, Failure> {
    while !rest.is_empty() {
        match begun.is_plain_http(rest) {
            Some(true) => return Err(Failure::plain()),
            Some(false) if begun.may_be_plain => return Err(Failure::malformed()),
            Some(false) => {}
            None => {
                // No record begins with such a letter.
                begun.may_be_plain = true;
                *rest = &[];
                return Ok(None);
            }
        }
        acceptor.read_tls(rest).map_err(|_too_long| Failure::too_long())?;
        match acceptor.accept() {
            Ok(None) => {}
            Ok(accepted) => return Ok(accepted),
            // TLS 1.1 and earlier do without it, and that comes first.
            Err((Error::PeerIncompatible(PeerIncompatible::SignatureAlgorithmsExtensionRequired), _)) => {
                send_alert(socket, PROTOCOL_VERSION);
                return Err(Failure::of(&PeerIncompatible::Tls12NotOffered.into()));
            }
            Err((error, mut alert)) => {
                let _unread = alert.write(&mut Socket(socket));
                return Err(Failure::of(&error));
            }
        }
    }
    Ok(None)
}

fn start(accepted: Accepted, chosen: Chosen, socket: &TcpStream) -> Result<Box<TlsConn>, Failure> {
    let Chosen { config, trust } = chosen;
    let hello = accepted.client_hello();
    let mut suites = config.crypto_provider().cipher_suites.iter();
    let shares_new = suites.any(|one| {
        one.version().version == ProtocolVersion::TLSv1_3 && hello.cipher_suites().contains(&one.suite())
    });
    match accepted.into_connection(config) {
        Ok(mut connection) => {
            // Bytes that the client sent after its ClientHello are in the session's buffer.
            process(&mut connection, socket)?;
            Ok(Box::new(TlsConn { connection, trust, rejection: None }))
        }
        Err((error, mut alert)) => {
            let _unread = alert.write(&mut Socket(socket));
            Err(Failure::of(match error {
                // Groups are part of the old suites.
                Error::PeerIncompatible(PeerIncompatible::NoKxGroupsInCommon) if !shares_new => {
                    &Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon)
                }
                ref error => error,
            }))
        }
    }
}

fn send_alert(socket: &TcpStream, alert: u8) {
    // A socket that takes no seven bytes has a client that does not read.
    let _unread = Socket(socket).write(&[21, 3, 3, 0, 2, 2, alert]);
}

/// Until the handshake is done, or there are no more bytes.
fn shake_hands(
    connection: &mut ServerConnection,
    rest: &mut &[u8],
    socket: &TcpStream,
) -> Result<(), Failure> {
    while !rest.is_empty() && connection.is_handshaking() {
        connection.read_tls(rest).map_err(|_too_long| Failure::too_long())?;
        process(connection, socket)?;
    }
    Ok(())
}

fn process(connection: &mut ServerConnection, socket: &TcpStream) -> Result<(), Failure> {
    let processed = connection.process_new_packets();
    // With an error, this is the alert.
    let written = write_records(connection, socket);
    processed.map_err(|error| Failure::of(&error))?;
    written.or_else(|error| if is_transient(&error) { Ok(()) } else { Err(Failure::gone()) })
}
