//! libuv as Node exports it, on the event loop of an environment: a watch on a descriptor
//! (`watch.rs`), the signal from other threads (`signal.rs`), the count of its turns (`turns.rs`),
//! and what their handles share (`handles.rs`).
//!
//! The functions are looked up when they are first wanted: a program that embeds this crate without
//! libuv, such as `cargo test`, has none. None of this needs the layout of libuv's structures, only
//! functions since libuv 1.19.
#![expect(unsafe_code, reason = "a C library, declared by hand")]

mod handles;
pub(super) mod signal;
pub(super) mod turns;
pub(super) mod watch;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// `uv_loop_t*`.
type Loop = *mut c_void;
/// `uv_handle_t*` and all that begin like it.
type Handle = *mut c_void;
type Callback = extern "C" fn(Handle);
type PollCallback = extern "C" fn(Handle, c_int, c_int);

/// Of `uv_handle_type` and `uv_poll_event`: part of libuv's ABI.
const ASYNC: c_int = 1;
const CHECK: c_int = 2;
const IDLE: c_int = 6;
const POLL: c_int = 8;
const TIMER: c_int = 13;
const READABLE: c_int = 1;

struct Api {
    handle_size: unsafe extern "C" fn(c_int) -> usize,
    handle_set_data: unsafe extern "C" fn(Handle, *mut c_void),
    handle_get_data: unsafe extern "C" fn(Handle) -> *mut c_void,
    unref: unsafe extern "C" fn(Handle),
    close: unsafe extern "C" fn(Handle, Option<Callback>),
    async_init: unsafe extern "C" fn(Loop, Handle, Callback) -> c_int,
    async_send: unsafe extern "C" fn(Handle) -> c_int,
    check_init: unsafe extern "C" fn(Loop, Handle) -> c_int,
    check_start: unsafe extern "C" fn(Handle, Callback) -> c_int,
    idle_init: unsafe extern "C" fn(Loop, Handle) -> c_int,
    idle_start: unsafe extern "C" fn(Handle, Callback) -> c_int,
    idle_stop: unsafe extern "C" fn(Handle) -> c_int,
    poll_init: unsafe extern "C" fn(Loop, Handle, c_int) -> c_int,
    poll_start: unsafe extern "C" fn(Handle, c_int, PollCallback) -> c_int,
    poll_stop: unsafe extern "C" fn(Handle) -> c_int,
    timer_init: unsafe extern "C" fn(Loop, Handle) -> c_int,
    timer_start: unsafe extern "C" fn(Handle, Callback, u64, u64) -> c_int,
    timer_stop: unsafe extern "C" fn(Handle) -> c_int,
    backend_timeout: unsafe extern "C" fn(Loop) -> c_int,
}

impl Api {
    /// `None` in a process without libuv.
    fn get() -> Option<&'static Self> {
        static API: OnceLock<Option<Api>> = OnceLock::new();
        API.get_or_init(Self::find).as_ref()
    }

    fn find() -> Option<Self> {
        // SAFETY: libuv's declarations of the functions of these names, pointers spelled as
        // `void*`.
        unsafe {
            Some(Self {
                handle_size: function(c"uv_handle_size")?,
                handle_set_data: function(c"uv_handle_set_data")?,
                handle_get_data: function(c"uv_handle_get_data")?,
                unref: function(c"uv_unref")?,
                close: function(c"uv_close")?,
                async_init: function(c"uv_async_init")?,
                async_send: function(c"uv_async_send")?,
                check_init: function(c"uv_check_init")?,
                check_start: function(c"uv_check_start")?,
                idle_init: function(c"uv_idle_init")?,
                idle_start: function(c"uv_idle_start")?,
                idle_stop: function(c"uv_idle_stop")?,
                poll_init: function(c"uv_poll_init")?,
                poll_start: function(c"uv_poll_start")?,
                poll_stop: function(c"uv_poll_stop")?,
                timer_init: function(c"uv_timer_init")?,
                timer_start: function(c"uv_timer_start")?,
                timer_stop: function(c"uv_timer_stop")?,
                backend_timeout: function(c"uv_backend_timeout")?,
            })
        }
    }
}

/// # Safety
/// `F` is the type of the function of this name.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>(), "a function pointer") };
    let found = symbol(name)?;
    // SAFETY: not null, of the same size, and of that type, as the caller promises.
    Some(unsafe { std::mem::transmute_copy(&found) })
}

#[cfg(unix)]
fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name ends with a zero; looking it up changes nothing.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Elsewhere no descriptor stands for all sockets, so this is not called.
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
    /// Whether the loop has work that it need not wait for, such as `setImmediate`. Events of other
    /// handles are not known before it polls.
    pub(super) fn is_busy(self) -> bool {
        // SAFETY: a function that gets this is called by the loop or has a handle of it.
        unsafe { (self.api.backend_timeout)(self.raw) == 0 }
    }
}
