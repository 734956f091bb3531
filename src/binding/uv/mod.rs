//! libuv as Node exports it, on an environment's event loop: `watch.rs` watches time, turns and a
//! descriptor, `signal.rs` is a signal from other threads, `handles.rs` has what both share.
//!
//! The functions are looked up when first needed: a program without libuv, such as `cargo test`,
//! has none. Only functions since libuv 1.39 are used, never the layout of its structures.
#![expect(unsafe_code, reason = "a C library, declared by hand")]

mod handles;
pub(super) mod signal;
pub(super) mod watch;

use std::ffi::{CStr, c_int, c_void};
use std::io::PipeReader;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::time::Duration;

use crate::reactor::Descriptor;

/// `uv_loop_t*`.
type Loop = *mut c_void;
/// `uv_handle_t*` and all that begin like it.
type RawHandle = *mut c_void;
type Callback = extern "C" fn(RawHandle);
type PollCallback = extern "C" fn(RawHandle, c_int, c_int);

/// From `uv_handle_type` and `uv_poll_event`, part of libuv's ABI.
const ASYNC: c_int = 1;
const CHECK: c_int = 2;
const IDLE: c_int = 6;
const POLL: c_int = 8;
const TIMER: c_int = 13;
const READABLE: c_int = 1;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?,)*) => {
        struct Api {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            fn find() -> Option<Self> {
                // SAFETY: these are libuv's declarations of the functions of these names.
                unsafe { Some(Self { $($name: function(concat!("uv_", stringify!($name), "\0"))?,)* }) }
            }
        }
    };
}

functions! {
    handle_size: fn(c_int) -> usize,
    handle_set_data: fn(RawHandle, *mut c_void),
    handle_get_data: fn(RawHandle) -> *mut c_void,
    unref: fn(RawHandle),
    close: fn(RawHandle, Option<Callback>),
    async_init: fn(Loop, RawHandle, Callback) -> c_int,
    async_send: fn(RawHandle) -> c_int,
    check_init: fn(Loop, RawHandle) -> c_int,
    check_start: fn(RawHandle, Callback) -> c_int,
    idle_init: fn(Loop, RawHandle) -> c_int,
    idle_start: fn(RawHandle, Callback) -> c_int,
    idle_stop: fn(RawHandle) -> c_int,
    poll_init: fn(Loop, RawHandle, c_int) -> c_int,
    poll_start: fn(RawHandle, c_int, PollCallback) -> c_int,
    poll_stop: fn(RawHandle) -> c_int,
    timer_init: fn(Loop, RawHandle) -> c_int,
    timer_start: fn(RawHandle, Callback, u64, u64) -> c_int,
    timer_stop: fn(RawHandle) -> c_int,
    backend_timeout: fn(Loop) -> c_int,
    metrics_idle_time: fn(Loop) -> u64,
}

impl Api {
    /// `None` in a process without libuv.
    fn get() -> Option<&'static Self> {
        static API: OnceLock<Option<Api>> = OnceLock::new();
        API.get_or_init(Self::find).as_ref()
    }
}

/// # Safety
/// `F` is the type of the function of this name.
unsafe fn function<F: Copy>(name: &str) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>(), "a function pointer") };
    let found = symbol(CStr::from_bytes_with_nul(name.as_bytes()).ok()?)?;
    // SAFETY: not null, of the same size, and of that type, as the caller promises.
    Some(unsafe { std::mem::transmute_copy(&found) })
}

#[cfg(unix)]
fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name ends with a zero; looking it up changes nothing.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Elsewhere libuv is not used: no descriptor stands for all sockets.
#[cfg(not(unix))]
fn symbol(_name: &CStr) -> Option<NonNull<c_void>> {
    None
}

#[derive(Clone, Copy)]
pub(super) struct EventLoop {
    api: &'static Api,
    raw: Loop,
}

impl EventLoop {
    /// Whether the loop has work that it need not wait for, such as `setImmediate`. It learns of
    /// other handles' events only when it polls.
    pub(super) fn is_busy(self) -> bool {
        // SAFETY: the owner of this is called by the loop or has a handle of it.
        unsafe { (self.api.backend_timeout)(self.raw) == 0 }
    }
}

/// For another thread: how long a loop has waited. Dropped before the loop ends.
pub(super) struct IdleClock(EventLoop);

// SAFETY: the one function that is called takes a lock of the loop, and libuv allows it on any thread.
unsafe impl Send for IdleClock {}

impl IdleClock {
    /// Since its start. Node has all loops measure this, for `performance.eventLoopUtilization()`.
    pub(super) fn idle(&self) -> Duration {
        let EventLoop { api, raw } = self.0;
        // SAFETY: the loop lives: the environment's end waits for the thread that has this.
        Duration::from_nanos(unsafe { (api.metrics_idle_time)(raw) })
    }
}

/// Waits until the descriptor is readable or the bell rings, without a `timeout` for ever; whether one
/// does. An error counts as such.
#[cfg(unix)]
pub(super) fn wait_readable(
    descriptor: &Descriptor,
    bell: Option<&PipeReader>,
    timeout: Option<Duration>,
) -> bool {
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    let watched = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // The system passes over a negative number.
    let mut both = [watched(descriptor.as_raw_fd()), watched(bell.map_or(-1, |bell| bell.as_raw_fd()))];
    let millis = timeout.map_or(-1, |time| c_int::try_from(time.as_millis()).unwrap_or(c_int::MAX));
    // SAFETY: two structures, which live during the call.
    let is_readable = unsafe { libc::poll(both.as_mut_ptr(), 2, millis) != 0 };
    if let (Some(mut bell), true) = (bell, both[1].revents != 0) {
        let _rung = bell.read(&mut [0; 64]);
    }
    is_readable
}

#[cfg(not(unix))]
pub(super) fn wait_readable(
    descriptor: &Descriptor,
    _bell: Option<&PipeReader>,
    _timeout: Option<Duration>,
) -> bool {
    match *descriptor {}
}
