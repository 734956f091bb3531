//! A socket of the system: the three calls of the hot path, where systems differ.

use std::io::{self, IoSlice, Write};

use mio::Interest;
use mio::net::TcpStream;

/// Urgent bytes (RFC 9293, section 3.8.5) are among a connection's events: a read stops before such
/// bytes and is short although there may be more.
pub(super) fn interest() -> Interest {
    let interest = Interest::READABLE;
    #[cfg(target_os = "linux")]
    let interest = interest.add(Interest::PRIORITY);
    interest
}

pub(super) use system::{receive, send, send_vectored};

/// The socket as rustls writes to it.
pub(in crate::reactor) struct Socket<'a>(pub(in crate::reactor) &'a TcpStream);

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(self.0, bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match parts {
            [only] => send(self.0, only),
            parts => send_vectored(self.0, parts),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Unix with MSG_NOSIGNAL (O02). On Linux these are system calls without the C library, whose own are
/// cancellation points: in a process with several threads each costs two atomic operations, 2 % of
/// an echo of 20 bytes.
#[cfg(all(unix, not(target_vendor = "apple")))]
mod system {
    use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

    use super::{IoSlice, TcpStream, io};

    pub(in crate::reactor::transport) fn receive(socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(socket, room, RecvFlags::empty())?.0)
    }

    pub(in crate::reactor::transport) fn send(socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
    }

    pub(in crate::reactor::transport) fn send_vectored(
        socket: &TcpStream,
        parts: &[IoSlice<'_>],
    ) -> io::Result<usize> {
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

    pub(in crate::reactor::transport) fn receive(
        mut socket: &TcpStream,
        room: &mut [u8],
    ) -> io::Result<usize> {
        socket.read(room)
    }

    pub(in crate::reactor::transport) fn send(mut socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        socket.write(bytes)
    }

    pub(in crate::reactor::transport) fn send_vectored(
        mut socket: &TcpStream,
        parts: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        socket.write_vectored(parts)
    }
}
