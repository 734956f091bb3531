//! The way to a peer: bytes in and out, and the ends of both sides. The only place that knows what a
//! connection is made of, with `open/`, where sockets come from.

mod tcp;

use std::io::{self, ErrorKind, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Registry, Token};
use socket2::{SockRef, TcpKeepalive};

use crate::reactor::open::bind::TcpOptions;

/// Whether a short read has used the edge up, so that the next bytes make a new one. On Windows mio
/// arms the edge only when a read is refused.
pub(in crate::reactor) const SHORT_READ_IS_LAST: bool = cfg!(unix);

/// ENOBUFS, or the same of Windows.
const NO_BUFFERS: i32 = if cfg!(windows) {
    10055
} else if cfg!(any(target_os = "linux", target_os = "android")) {
    105
} else {
    55
};

/// Whether the system has no memory for a call, which says nothing of the socket.
pub(in crate::reactor) fn is_short(error: &io::Error) -> bool {
    error.kind() == ErrorKind::OutOfMemory || error.raw_os_error() == Some(NO_BUFFERS)
}

/// What carries the bytes of one connection.
pub enum Transport {
    /// A socket of the system. Also one of the file system, which refuses the options of TCP.
    Tcp(TcpStream),
}

/// The outcome of a read.
pub(in crate::reactor) enum Received {
    /// The number of bytes that came.
    Bytes(usize),
    /// The peer has ended its side.
    Eof,
    /// Nothing more for now; an edge will come.
    Empty,
    /// The system has no memory; no edge will come.
    Short,
    /// The transport is dead.
    Dead,
}

/// What a read would find, see [`Transport::look_ahead`].
#[derive(PartialEq, Eq)]
pub(in crate::reactor) enum Ahead {
    /// Bytes.
    Bytes,
    /// Nothing yet, as far as the system says.
    Nothing,
    /// The end of the peer's side, and no bytes before it.
    End,
    /// A transport that is dead.
    Dead,
}

#[expect(clippy::disallowed_types, reason = "a socket on its way to the reactor")]
impl From<std::net::TcpStream> for Transport {
    fn from(stream: std::net::TcpStream) -> Self {
        // A socket that refuses this is dead, as the first read will report.
        let _dead_anyway = stream.set_nonblocking(true);
        Self::Tcp(TcpStream::from_std(stream))
    }
}

impl Transport {
    /// Reads what has arrived, at most `room`, which is not empty.
    #[inline]
    pub(in crate::reactor) fn receive(&mut self, room: &mut [u8]) -> Received {
        match self {
            Self::Tcp(socket) => loop {
                return match tcp::receive(socket, room) {
                    Ok(0) => Received::Eof,
                    Ok(len) => Received::Bytes(len),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => Received::Empty,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) if is_short(&error) => Received::Short,
                    Err(_) => Received::Dead,
                };
            },
        }
    }

    /// Writes as many bytes as are taken.
    ///
    /// # Errors
    /// The transport's; `WouldBlock` when it takes nothing. A peer that is gone is an error, never a
    /// signal that ends the embedding process.
    #[inline]
    pub(in crate::reactor) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => tcp::send(socket, bytes),
        }
    }

    /// As `send`, of several parts.
    ///
    /// # Errors
    /// As `send`.
    #[inline]
    pub(in crate::reactor) fn send_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => tcp::send_vectored(socket, parts),
        }
    }

    /// Looks at what a read would find, and leaves it there.
    pub(in crate::reactor) fn look_ahead(&self) -> Ahead {
        match self {
            Self::Tcp(socket) => match socket.peek(&mut [0]) {
                Ok(0) => Ahead::End,
                Ok(_) => Ahead::Bytes,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => Ahead::Nothing,
                    _ if is_short(&error) => Ahead::Nothing,
                    _ => Ahead::Dead,
                },
            },
        }
    }

    /// Ends our side.
    pub(in crate::reactor) fn end(&mut self) {
        match self {
            // Fails only on a dead socket, as the next read will report.
            Self::Tcp(socket) => drop(socket.shutdown(Shutdown::Write)),
        }
    }

    /// When it is dropped, the peer gets a reset, and none of the bytes that wait.
    pub(in crate::reactor) fn reset_when_dropped(&mut self) {
        match self {
            Self::Tcp(socket) => drop(SockRef::from(&*socket).set_linger(Some(Duration::ZERO))),
        }
    }

    /// The socket.
    #[cfg(test)]
    pub(in crate::reactor) fn as_tcp(&self) -> &TcpStream {
        match self {
            Self::Tcp(socket) => socket,
        }
    }

    /// Our end; `None` when the system does not know it (a dead socket).
    pub(in crate::reactor) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.local_addr().ok(),
        }
    }

    /// The peer's end.
    pub(in crate::reactor) fn remote_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.peer_addr().ok(),
        }
    }

    /// Makes the poll report what happens to it.
    ///
    /// # Errors
    /// The system's: the poll is full.
    pub(in crate::reactor) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => registry.register(socket, token, tcp::interest()),
        }
    }

    /// The poll reports nothing more. Closing takes a socket out of the poll by itself, unless
    /// another process or thread holds a duplicate of it.
    pub(in crate::reactor) fn deregister(&mut self, registry: &Registry) {
        match self {
            Self::Tcp(socket) => drop(registry.deregister(socket)),
        }
    }

    /// Sets the options of accepted sockets.
    pub(in crate::reactor) fn set_options(&self, options: TcpOptions) {
        match self {
            Self::Tcp(socket) => options.apply(socket),
        }
    }

    /// Whether small writes leave at once (TCP_NODELAY). What refuses it stays as it is.
    pub(in crate::reactor) fn set_no_delay(&self, on: bool) {
        match self {
            Self::Tcp(socket) => drop(socket.set_nodelay(on)),
        }
    }

    /// Whether the system probes a silent peer (SO_KEEPALIVE), after `idle` if that is not zero.
    /// What refuses it stays as it is.
    pub(in crate::reactor) fn set_keep_alive(&self, on: bool, idle: Duration) {
        match self {
            Self::Tcp(socket) => {
                let socket = SockRef::from(socket);
                drop(if on && !idle.is_zero() {
                    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle))
                } else {
                    socket.set_keepalive(on)
                });
            }
        }
    }
}
