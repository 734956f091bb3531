//! Sockets of Node's own servers: the only place of this layer that touches a descriptor.
#![cfg_attr(unix, expect(unsafe_code, reason = "a descriptor comes from JavaScript as a number"))]
#![expect(clippy::disallowed_types, reason = "on its way to the reactor")]

use std::io;
use std::net::TcpStream;

/// The socket behind a descriptor, under a descriptor of its own that is closed on exec: Node
/// closes the one it has.
///
/// # Errors
/// The system's: `fd` is not open, or there are no descriptors left.
#[cfg(unix)]
pub(super) fn duplicate(fd: i32) -> io::Result<TcpStream> {
    use std::os::fd::BorrowedFd;

    if fd < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: lib passes the descriptor of a handle that it closes after this call, on this thread,
    // so it stays open while it is borrowed; -1 is ruled out above.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map(TcpStream::from)
}

/// A socket of libuv is bound to its completion port for good, so there is nothing to duplicate.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub(super) fn duplicate(_fd: i32) -> io::Result<TcpStream> {
    Err(io::ErrorKind::Unsupported.into())
}
