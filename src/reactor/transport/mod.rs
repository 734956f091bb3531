//! The way to a peer: bytes in and out, and the ends of both sides. With `listen/`, where sockets
//! come from, the only place that knows the parts of a connection.

pub(super) mod pipe;
pub(super) mod stream;
pub(super) mod tcp;

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::SockRef;

use crate::reactor::TcpOptions;
use crate::reactor::listen::bind::probe;
use crate::reactor::tls::TlsServer;
use crate::reactor::tls::stream::TlsStream;
use pipe::Pipe;
use stream::Stream;
pub(super) use stream::{Ahead, Received};
pub(super) use tcp::is_short;

/// A socket that leaves the reactor.
#[cfg(unix)]
pub type Descriptor = std::os::fd::OwnedFd;
#[cfg(not(unix))]
pub type Descriptor = std::convert::Infallible;

/// Of a socket. In the variant, where there is room for it.
#[derive(Default)]
pub struct Marks {
    /// The poll reports when it takes bytes again.
    awaits_writable: bool,
    /// Another process can have a duplicate: to close ours does not end it for the peer.
    pub(super) shared: bool,
}

pub enum Transport {
    /// A socket of the system. One of the file system refuses the options of TCP.
    Tcp(TcpStream, Marks),
    /// Such a socket with TLS. Boxed: it is larger.
    Tls(Box<TlsStream>),
    /// A stream of the program. Boxed: few are, and a socket is smaller.
    Pipe(Box<Pipe>),
}

#[expect(clippy::disallowed_types, reason = "a socket on its way to the reactor")]
impl From<std::net::TcpStream> for Transport {
    fn from(stream: std::net::TcpStream) -> Self {
        // A socket that refuses this is dead, as the first read will report.
        let _dead_anyway = stream.set_nonblocking(true);
        Self::Tcp(TcpStream::from_std(stream), Marks::default())
    }
}

impl Transport {
    #[inline]
    pub(super) fn stream(&self) -> &dyn Stream {
        match self {
            Self::Tcp(socket, _) => socket,
            Self::Tls(stream) => &**stream,
            Self::Pipe(pipe) => &**pipe,
        }
    }

    #[inline]
    pub(super) fn stream_mut(&mut self) -> &mut dyn Stream {
        match self {
            Self::Tcp(socket, _) => socket,
            Self::Tls(stream) => &mut **stream,
            Self::Pipe(pipe) => &mut **pipe,
        }
    }

    /// Makes an accepted socket one with TLS. `proxied`: a header of the PROXY protocol comes first.
    pub(super) fn secure(self, server: &Arc<TlsServer>, proxied: bool) -> Self {
        match self {
            Self::Tcp(socket, _) => Self::Tls(Box::new(TlsStream::new(socket, server.clone(), proxied))),
            other => other,
        }
    }

    pub(super) fn as_tls(&mut self) -> Option<&mut TlsStream> {
        match self {
            Self::Tls(stream) => Some(stream),
            Self::Tcp(..) | Self::Pipe(_) => None,
        }
    }

    /// The socket inside.
    pub(super) fn as_tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(socket, _) => Some(socket),
            Self::Tls(stream) => Some(stream.socket()),
            Self::Pipe(_) => None,
        }
    }

    pub(super) fn as_pipe(&mut self) -> Option<&mut Pipe> {
        match self {
            Self::Tcp(..) | Self::Tls(_) => None,
            Self::Pipe(pipe) => Some(pipe),
        }
    }

    /// Whether another reader and writer could go on with the socket alone.
    pub(super) fn is_socket(&self) -> bool {
        cfg!(unix) && matches!(self, Self::Tcp(..))
    }

    /// `None` unless `is_socket`.
    pub(super) fn into_descriptor(self) -> Option<Descriptor> {
        #[cfg(unix)]
        if let Self::Tcp(socket, _) = self {
            return Some(socket.into());
        }
        None
    }

    /// Another descriptor of the socket, if another process could go on with it alone.
    pub(super) fn duplicate(&mut self) -> Option<Descriptor> {
        self.share();
        #[cfg(unix)]
        if let Self::Tcp(socket, _) = self {
            return std::os::fd::AsFd::as_fd(socket).try_clone_to_owned().ok();
        }
        None
    }

    /// Another process has a duplicate.
    pub(super) fn share(&mut self) {
        if let Self::Tcp(_, marks) = self {
            marks.shared = true;
        }
    }

    /// Ends both sides of the socket, also for another process that has a duplicate.
    pub(super) fn end_everywhere(&self) {
        // Fails only on a dead socket.
        let _dead = self.as_tcp().map(|socket| socket.shutdown(Shutdown::Both));
    }

    /// `None` when the system does not know it (a dead socket).
    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        self.as_tcp()?.local_addr().ok()
    }

    pub(super) fn remote_address(&self) -> Option<SocketAddr> {
        self.as_tcp()?.peer_addr().ok()
    }

    pub(super) fn register(&mut self, registry: io::Result<&Registry>, token: Token) -> io::Result<()> {
        match self {
            Self::Tcp(socket, _) => registry?.register(socket, token, tcp::interest()),
            Self::Tls(stream) => {
                registry?.register(stream.socket_mut(), token, tcp::interest().add(Interest::WRITABLE))
            }
            Self::Pipe(_) => Ok(()),
        }
    }

    /// The socket has refused bytes: from now on an edge comes when it takes bytes again. From the
    /// beginning, that edge would put a new connection before others with earlier bytes.
    pub(super) fn await_writable(&mut self, registry: Option<&Registry>, token: Token) -> io::Result<()> {
        match (self, registry) {
            (Self::Tcp(socket, Marks { awaits_writable: awaits @ false, .. }), Some(registry)) => {
                *awaits = true;
                registry.reregister(socket, token, tcp::interest().add(Interest::WRITABLE))
            }
            _ => Ok(()),
        }
    }

    /// Closing takes a socket out of the poll by itself, unless another process or thread has a
    /// duplicate of it.
    pub(super) fn deregister(&mut self, registry: &Registry) {
        let _closed_next = match self {
            Self::Tcp(socket, _) => registry.deregister(socket),
            Self::Tls(stream) => registry.deregister(stream.socket_mut()),
            Self::Pipe(_) => Ok(()),
        };
    }

    pub(super) fn set_options(&self, options: TcpOptions) {
        if let Some(socket) = self.as_tcp() {
            options.apply(socket);
        }
    }

    /// TCP_NODELAY. What refuses it stays as it is.
    pub(super) fn set_no_delay(&self, on: bool) {
        let _stays = self.as_tcp().map(|socket| socket.set_nodelay(on));
    }

    /// SO_KEEPALIVE, after `idle` if that is not zero. What refuses it stays as it is.
    pub(super) fn set_keep_alive(&self, on: bool, idle: Duration) {
        let Some(socket) = self.as_tcp().map(SockRef::from) else { return };
        let _stays = if on { probe(&socket, idle) } else { socket.set_keepalive(false) };
    }
}
