//! The three system calls of the hot path, where systems differ.

use std::io::{self, ErrorKind, IoSlice};

use mio::Interest;
use mio::net::TcpStream;

/// Whether a short read has used the edge up, so that the next bytes make a new one. On Windows mio
/// arms the edge only when a read is refused.
pub(in crate::reactor) const SHORT_READ_IS_LAST: bool = cfg!(unix);

/// The events of a connection. Urgent bytes (RFC 9293, section 3.8.5) are among them: a read stops
/// before such bytes and is short although there may be more.
pub(in crate::reactor) fn interest() -> Interest {
    let both = Interest::READABLE.add(Interest::WRITABLE);
    #[cfg(target_os = "linux")]
    let both = both.add(Interest::PRIORITY);
    both
}

/// The outcome of a read.
pub(in crate::reactor) enum Received {
    /// The number of bytes that came.
    Bytes(usize),
    /// The peer has ended its side.
    Eof,
    /// Nothing more for now; an edge will come.
    Empty,
    /// The socket is dead.
    Dead,
}

/// Reads what has arrived, at most `room`, which is not empty.
pub(in crate::reactor) fn receive(socket: &TcpStream, room: &mut [u8]) -> Received {
    loop {
        return match system::receive(socket, room) {
            Ok(0) => Received::Eof,
            Ok(len) => Received::Bytes(len),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Received::Empty,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => Received::Dead,
        };
    }
}

/// `send` and `send_vectored` write as many bytes as the kernel takes.
///
/// # Errors
/// The socket's; `WouldBlock` when it takes nothing. A peer that is gone is an error, never a
/// signal that ends the embedding process (O02).
pub(in crate::reactor) use system::{send, send_vectored};

/// Unix with MSG_NOSIGNAL. On Linux these are system calls without the C library, whose own are
/// cancellation points: in a process with several threads each costs two atomic operations, 2 % of
/// an echo of 20 bytes.
#[cfg(all(unix, not(target_vendor = "apple")))]
mod system {
    use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

    use super::{IoSlice, TcpStream, io};

    pub(super) fn receive(socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(socket, room, RecvFlags::empty())?.0)
    }

    pub(in crate::reactor) fn send(socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
    }

    pub(in crate::reactor) fn send_vectored(socket: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = SendAncillaryBuffer::default();
        Ok(rustix::net::sendmsg(socket, parts, &mut nothing, SendFlags::NOSIGNAL)?)
    }
}

/// Elsewhere: on macOS accepted sockets inherit SO_NOSIGPIPE from their listener, and Windows has
/// no signals.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
mod system {
    use std::io::{Read as _, Write as _};

    use super::{IoSlice, TcpStream, io};

    pub(super) fn receive(mut socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        socket.read(room)
    }

    pub(in crate::reactor) fn send(mut socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        socket.write(bytes)
    }

    pub(in crate::reactor) fn send_vectored(
        mut socket: &TcpStream,
        parts: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        socket.write_vectored(parts)
    }
}
