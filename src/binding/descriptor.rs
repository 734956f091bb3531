#![cfg_attr(unix, expect(unsafe_code, reason = "a call of the system"))]

/// Whether the system has something to report there. If the descriptor has been closed or reused,
/// the answer means nothing and does no harm.
#[cfg(unix)]
pub(super) fn is_readable(descriptor: i32) -> bool {
    let mut look = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: the one structure is a live local; without a timeout it returns at once.
    unsafe { libc::poll(&raw mut look, 1, 0) == 1 && look.revents & libc::POLLIN != 0 }
}

/// Elsewhere a reactor has no descriptor.
#[cfg(not(unix))]
pub(super) fn is_readable(_descriptor: i32) -> bool {
    false
}
