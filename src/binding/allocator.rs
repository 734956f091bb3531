//! The allocator of the process.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "a function of the C library")
)]

/// The function that makes the allocator give free memory back; `None` where there is none.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn give_back() -> Option<fn()> {
    Some(|| {
        // SAFETY: any thread may call the function at any time. It changes no memory in use.
        let _anything = unsafe { libc::malloc_trim(0) };
    })
}

/// A function that returns free memory to the system; `None` where the allocator has none.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() -> Option<fn()> {
    None
}
