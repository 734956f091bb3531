//! A socket of the system: the three calls of the hot path, where systems differ.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::Shutdown;
use std::time::Duration;

use mio::Interest;
use mio::net::TcpStream;
use socket2::SockRef;

use super::stream::{Ahead, Received, Stream};

/// ENOBUFS, or the same of Windows.
const NO_BUFFERS: i32 = if cfg!(windows) {
    10055
} else if cfg!(any(target_os = "linux", target_os = "android")) {
    105
} else {
    55
};

/// Whether the system has no memory for a call; that says nothing of the socket.
pub(in crate::reactor) fn is_short(error: &io::Error) -> bool {
    error.kind() == ErrorKind::OutOfMemory || error.raw_os_error() == Some(NO_BUFFERS)
}

/// Whether the call can be repeated later: the socket is full, or the system has no memory.
pub(in crate::reactor) fn is_transient(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || is_short(error)
}

/// Urgent bytes (RFC 9293, section 3.8.5) are among a connection's events: a read stops before such
/// bytes and is short although there can be more.
pub(super) fn interest() -> Interest {
    let interest = Interest::READABLE;
    #[cfg(target_os = "linux")]
    let interest = interest.add(Interest::PRIORITY);
    interest
}

impl Stream for TcpStream {
    fn receive(&mut self, room: &mut [u8]) -> Received {
        loop {
            return match receive(self, room) {
                Ok(0) => Received::Eof,
                Ok(len) => Received::Bytes(len),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Received::Empty,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if is_short(&error) => Received::Short,
                Err(_) => Received::Dead,
            };
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(self, bytes)
    }

    fn send_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        send_vectored(self, parts)
    }

    fn look_ahead(&mut self) -> Ahead {
        match self.peek(&mut [0]) {
            Ok(0) => Ahead::End,
            Ok(_) => Ahead::Bytes,
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ahead::Nothing,
                _ if is_short(&error) => Ahead::Nothing,
                _ => Ahead::Dead,
            },
        }
    }

    fn end(&mut self) {
        // Fails only on a dead socket, as the next read will report.
        drop(self.shutdown(Shutdown::Write));
    }

    fn reset_when_dropped(&mut self) {
        drop(SockRef::from(&*self).set_linger(Some(Duration::ZERO)));
    }
}

use system::{receive, send, send_vectored};

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

/// Unix with MSG_NOSIGNAL (O02). On Linux these are system calls without the C library's functions, which are
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
