//! The three system calls of the hot path, where systems differ.

use std::io::{self, IoSlice};

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

/// Reads what has arrived, at most `room`.
///
/// # Errors
/// The socket's; `WouldBlock` when there is nothing.
pub(in crate::reactor) fn receive(socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
    system::receive(socket, room)
}

/// Writes as much of `bytes` as the kernel takes.
///
/// # Errors
/// The socket's; `WouldBlock` when it takes nothing. A peer that is gone is an error, never a
/// signal that ends the embedding process (O02).
pub(in crate::reactor) fn send(socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    system::send(socket, bytes)
}

/// Writes as much of `parts`, one after the other, as the kernel takes.
///
/// # Errors
/// As `send`.
pub(in crate::reactor) fn send_vectored(socket: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    system::send_vectored(socket, parts)
}

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

    pub(super) fn send(socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
    }

    pub(super) fn send_vectored(socket: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
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

    pub(super) fn send(mut socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        socket.write(bytes)
    }

    pub(super) fn send_vectored(mut socket: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        socket.write_vectored(parts)
    }
}
