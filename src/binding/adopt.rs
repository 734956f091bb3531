//! Sockets of Node's own servers and of other processes.
#![cfg_attr(unix, expect(unsafe_code, reason = "a descriptor comes from JavaScript as a number"))]
#![expect(clippy::disallowed_types, reason = "on its way to the reactor")]

use std::io;
use std::net::TcpStream;

#[cfg(unix)]
use std::os::fd::IntoRawFd as _;

use crate::reactor::{BoundListener, Descriptor};

/// As many bytes as Node reads from a socket at once.
#[cfg(unix)]
const SHARE: usize = 64 * 1024;

/// A copy of the descriptor, closed on exec. Node closes `fd` itself.
///
/// # Errors
/// The system's: `fd` is not open, or no descriptors are left.
#[cfg(unix)]
pub(super) fn duplicate(fd: i32) -> io::Result<TcpStream> {
    owned(fd).map(TcpStream::from)
}

/// For a socket to another process.
///
/// # Errors
/// As `duplicate`.
#[cfg(unix)]
pub(super) fn stream(fd: i32) -> io::Result<std::os::unix::net::UnixStream> {
    owned(fd).map(Into::into)
}

/// For a socket that listens, or is bound.
///
/// # Errors
/// As `duplicate`; `InvalidInput` for a socket that cannot listen.
#[cfg(unix)]
pub(super) fn listener(fd: i32, backlog: i32) -> io::Result<BoundListener> {
    BoundListener::take(owned(fd)?, backlog)
}

#[cfg(unix)]
pub(super) fn owned(fd: i32) -> io::Result<std::os::fd::OwnedFd> {
    if fd < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: lib passes a descriptor that it closes after this call, on this thread, and a reactor's
    // stays open while the caller has the reactor, so it is open while it is borrowed; -1 is ruled out above.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned()
}

/// The bytes that the kernel has now, as many as Node reads at once.
#[cfg(unix)]
pub(super) fn read_waiting(socket: &Descriptor) -> Option<Vec<u8>> {
    // Without bytes, a read would take the error of the socket, which Node reports.
    let waiting = rustix::io::ioctl_fionread(socket).ok().filter(|count| *count > 0)?;
    let mut bytes = vec![0; usize::try_from(waiting).unwrap_or(SHARE).min(SHARE)];
    let count = rustix::io::read(socket, &mut bytes).ok()?;
    bytes.truncate(count);
    Some(bytes)
}

#[cfg(not(unix))]
pub(super) fn read_waiting(socket: &Descriptor) -> Option<Vec<u8>> {
    match *socket {}
}

/// The caller closes it.
#[cfg(unix)]
pub(super) fn number(socket: Descriptor) -> i32 {
    socket.into_raw_fd()
}

#[cfg(not(unix))]
pub(super) fn number(socket: Descriptor) -> i32 {
    match socket {}
}

/// libuv binds a socket to its completion port for good, so it cannot be duplicated.
#[cfg(not(unix))]
pub(super) fn duplicate(_fd: i32) -> io::Result<TcpStream> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
pub(super) fn owned(_fd: i32) -> io::Result<Descriptor> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
pub(super) fn listener(_fd: i32, _backlog: i32) -> io::Result<BoundListener> {
    Err(io::ErrorKind::Unsupported.into())
}
