//! The way to a peer: bytes in and out, and the ends of both sides. With `listen/`, where sockets
//! come from, the only place that knows what a connection is made of.

pub(super) mod pipe;
pub(super) mod tcp;

use std::io::{self, IoSlice};
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
pub(super) use tcp::{Ahead, Received, is_short};

/// A socket that leaves the reactor.
#[cfg(unix)]
pub type Descriptor = std::os::fd::OwnedFd;
#[cfg(not(unix))]
pub type Descriptor = std::convert::Infallible;

/// Whether the poll reports when the socket takes bytes again. In the variant, where there is room for it.
type AwaitsRoom = bool;

pub enum Transport {
    /// A socket of the system. One of the file system refuses the options of TCP.
    Tcp(TcpStream, AwaitsRoom),
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
        Self::Tcp(TcpStream::from_std(stream), false)
    }
}

impl Transport {
    /// Reads what has arrived; `room` is not empty.
    #[inline]
    pub(super) fn receive(&mut self, room: &mut [u8]) -> Received {
        match self {
            Self::Tcp(socket, _) => tcp::receive_from(socket, room),
            Self::Tls(stream) => stream.receive(room),
            Self::Pipe(pipe) => pipe.receive(),
        }
    }

    /// Whether the last read used up the edge, so that the next bytes make a new one. `is_short`: it
    /// brought less than there was room for.
    #[inline]
    pub(super) fn is_dry(&self, is_short: bool) -> bool {
        match self {
            // On Windows mio arms the edge only when a read is refused.
            Self::Tcp(..) | Self::Pipe(_) => is_short && cfg!(unix),
            Self::Tls(stream) => stream.is_dry(),
        }
    }

    /// Whether the peer's end came without the word of TLS that it is one.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.is_cut())
    }

    /// Bytes that the last read took from the socket, if those are not what it brought; else 0.
    #[inline]
    pub(super) fn spent(&self) -> usize {
        match self {
            Self::Tcp(..) | Self::Pipe(_) => 0,
            Self::Tls(stream) => stream.spent(),
        }
    }

    /// Writes as many bytes as are taken.
    ///
    /// # Errors
    /// The transport's; `WouldBlock` when it takes nothing: the next bytes to be written must begin as
    /// these do. A peer that has left is an error, never a signal that ends the embedding process.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket, _) => tcp::send(socket, bytes),
            Self::Tls(stream) => stream.send_vectored(&[IoSlice::new(bytes)]),
            Self::Pipe(pipe) => pipe.send_vectored(&[IoSlice::new(bytes)]),
        }
    }

    #[inline]
    pub(super) fn send_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket, _) => tcp::send_vectored(socket, parts),
            Self::Tls(stream) => stream.send_vectored(parts),
            Self::Pipe(pipe) => pipe.send_vectored(parts),
        }
    }

    /// Writes what the transport itself has to say, such as its part of a handshake.
    ///
    /// # Errors
    /// As of `send`.
    #[inline]
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(..) | Self::Pipe(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
        }
    }

    /// Whether bytes that `send` has refused may have left in part.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_begun())
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

    /// Whether bytes can be sent: the handshake of the transport is done.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Tls(stream) => stream.is_open(),
            Self::Tcp(..) | Self::Pipe(_) => true,
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

    /// The program reports `count` sends itself, when its stream has written them. False: they have
    /// left.
    #[inline]
    pub(super) fn note_sent(&self, count: u32) -> bool {
        match self {
            Self::Tcp(..) | Self::Tls(_) => false,
            Self::Pipe(pipe) => {
                pipe.note_sent(count);
                true
            }
        }
    }

    /// What a read would find; it stays there.
    pub(super) fn look_ahead(&mut self) -> Ahead {
        match self {
            Self::Tcp(socket, _) => tcp::peek(socket),
            Self::Tls(stream) => stream.look_ahead(),
            Self::Pipe(pipe) => pipe.look_ahead(),
        }
    }

    pub(super) fn end(&mut self) {
        match self {
            // Fails only on a dead socket, as the next read will report.
            Self::Tcp(socket, _) => drop(socket.shutdown(Shutdown::Write)),
            Self::Tls(stream) => stream.end(),
            Self::Pipe(pipe) => pipe.end(),
        }
    }

    /// When this is dropped, both sides have ended and all bytes are written: nothing on its way
    /// may be cut off. `has_ended`: our side ended before.
    pub(super) fn leave_when_dropped(&mut self, has_ended: bool) {
        match self {
            // The kernel does that.
            Self::Tcp(..) => {}
            Self::Tls(stream) => stream.leave_when_dropped(),
            Self::Pipe(pipe) => pipe.leave(has_ended),
        }
    }

    /// When this is dropped, the peer gets a reset, and no waiting bytes.
    pub(super) fn reset_when_dropped(&mut self) {
        match self {
            Self::Tcp(socket, _) => drop(SockRef::from(&*socket).set_linger(Some(Duration::ZERO))),
            Self::Tls(stream) => drop(SockRef::from(stream.socket()).set_linger(Some(Duration::ZERO))),
            Self::Pipe(pipe) => pipe.reset_when_dropped(),
        }
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
    /// beginning, that edge would put a new connection before those whose bytes came earlier.
    pub(super) fn await_room(&mut self, registry: Option<&Registry>, token: Token) -> io::Result<()> {
        match (self, registry) {
            (Self::Tcp(socket, awaits @ false), Some(registry)) => {
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
