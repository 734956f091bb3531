#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "a function of the C library")
)]

/// Makes the allocator return free memory to the system; `None` where it cannot.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn give_back() -> Option<fn()> {
    Some(|| {
        // SAFETY: any thread may call it at any time. It changes no memory in use.
        let _anything = unsafe { libc::malloc_trim(0) };
    })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() -> Option<fn()> {
    None
}
