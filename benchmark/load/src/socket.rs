//! A connection's bytes: TCP, or TLS over it.

use std::cell::Cell;
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, NamedGroup, SignatureScheme,
    StreamOwned,
};
use socket2::{Domain, SockRef, Type};

/// A socket that does not block.
pub(crate) enum Socket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// Whether handshakes of TLS go on from an earlier session.
#[derive(Clone, Copy)]
pub(crate) struct Resume(pub(crate) bool);

/// Makes sockets to one address.
pub(crate) struct Connector {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
    /// The next connection's place among the sources, if they are many.
    next: Option<Cell<u32>>,
}

/// Addresses that many connections come from: 127.0.0.1 to 127.0.0.40. One address has 64,000 ports.
const SOURCES: u32 = 40;
const FIRST_PORT: u32 = 10_000;

impl Connector {
    /// A connector to `address`. Over TLS, every certificate of the server is accepted.
    pub(crate) fn new(address: SocketAddr, tls: Option<Resume>) -> Result<Self, Box<dyn Error>> {
        let tls = tls.map(config).transpose()?.map(Arc::new);
        Ok(Self { address, tls, next: None })
    }

    /// Lets connections come from many addresses of this machine.
    pub(crate) fn spread_over_sources(self) -> Self {
        Self { next: Some(Cell::new(0)), ..self }
    }

    /// Begins to connect.
    pub(crate) fn connect(&self) -> Result<Socket, Box<dyn Error>> {
        let stream = match &self.next {
            None => TcpStream::connect(self.address)?,
            Some(next) => self.connect_from(next)?,
        };
        let Some(tls) = &self.tls else { return Ok(Socket::Plain(stream)) };
        let session = ClientConnection::new(tls.clone(), ServerName::from(self.address.ip()))?;
        Ok(Socket::Tls(Box::new(StreamOwned::new(session, stream))))
    }
}

impl Connector {
    fn connect_from(&self, next: &Cell<u32>) -> Result<TcpStream, Box<dyn Error>> {
        let socket = socket2::Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        // Ports of an earlier run.
        socket.set_reuse_address(true)?;
        loop {
            let number = next.replace(next.get() + 1);
            let port = u16::try_from(FIRST_PORT + number / SOURCES).map_err(|_| "no port is left")?;
            let source = SocketAddr::from(([127, 0, 0, 1 + (number % SOURCES) as u8], port));
            match socket.bind(&source.into()) {
                // The port is another program's.
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                bound => break bound?,
            }
        }
        match socket.connect(&self.address.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error.into()),
            _ => Ok(TcpStream::from_std(socket.into())),
        }
    }
}

impl Socket {
    /// The error of connecting, if it failed.
    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.tcp().take_error()
    }

    /// Whether TLS has gone on from an earlier session.
    pub(crate) fn is_resumed(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.conn.handshake_kind() == Some(HandshakeKind::Resumed))
    }

    /// Sends small writes at once.
    pub(crate) fn set_nodelay(&self) -> io::Result<()> {
        self.tcp().set_nodelay(true)
    }

    /// Makes a drop reset the connection, so that no port stays in TIME_WAIT.
    pub(crate) fn reset_on_drop(&self) -> io::Result<()> {
        SockRef::from(self.tcp()).set_linger(Some(Duration::ZERO))
    }

    /// Lets the kernel keep only a few unread bytes.
    pub(crate) fn keep_little(&self) -> io::Result<()> {
        SockRef::from(self.tcp()).set_recv_buffer_size(4096)
    }

    /// Whether a short read has emptied the socket: not with TLS, which delivers record by record.
    pub(crate) fn is_empty_after(&self, length: usize, asked: usize) -> bool {
        length < asked && matches!(self, Self::Plain(_))
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }

    fn tcp_mut(&mut self) -> &mut TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &mut stream.sock,
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            // Servers end the TCP connection without a close_notify.
            Self::Tls(stream) => match stream.read(buffer) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
                other => other,
            },
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    /// Writes TLS records that the kernel has not taken yet.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => match stream.flush() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
                other => other,
            },
        }
    }
}

impl Source for Socket {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.tcp_mut().register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.tcp_mut().reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.tcp_mut().deregister(registry)
    }
}

fn config(resume: Resume) -> Result<ClientConfig, Box<dyn Error>> {
    let provider = Arc::new(ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let verifier = Arc::new(AnyCertificate(provider));
    let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.resumption =
        if resume.0 { Resumption::store(Arc::new(Tickets::default())) } else { Resumption::disabled() };
    Ok(config)
}

/// Tickets of all connections: as many clients of their own would have. rustls keeps eight of a server.
#[derive(Debug, Default)]
struct Tickets {
    all: Mutex<Vec<Tls13ClientSessionValue>>,
    group: Mutex<Option<NamedGroup>>,
}

/// Most that are kept.
const MOST_TICKETS: usize = 100_000;

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _server_name: ServerName<'static>, group: NamedGroup) {
        *self.group.lock().unwrap_or_else(PoisonError::into_inner) = Some(group);
    }

    fn kx_hint(&self, _server_name: &ServerName<'_>) -> Option<NamedGroup> {
        *self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_tls12_session(&self, _server_name: ServerName<'static>, _value: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _server_name: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _server_name: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST_TICKETS {
            all.push(value);
        }
    }

    fn take_tls13_ticket(&self, _server_name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

/// Accepts every certificate: the server was just started by the benchmark, with a self-signed one.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
