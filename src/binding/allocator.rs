//! The allocator of the process.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "a function of the C library")
)]

/// The function that makes it give free memory back; `None` where there is none.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn give_back() -> Option<fn()> {
    Some(|| {
        // SAFETY: any thread may call it at any time. It changes nothing that is in use.
        let _anything = unsafe { libc::malloc_trim(0) };
    })
}

/// What has it give memory back that is free; `None` where that is nothing that can be asked for.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() -> Option<fn()> {
    None
}
