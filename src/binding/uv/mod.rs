//! libuv as Node exports it: a watch on a descriptor and a timer on the event loop of an
//! environment. The signal from other threads is in `signal.rs`, the count of its turns in
//! `turns.rs`.
//!
//! The functions are looked up when they are first wanted: a program that embeds us without libuv,
//! as `cargo test`, has none. None of this needs the layout of libuv's structures, only functions
//! that libuv has had since 1.19.
#![expect(unsafe_code, reason = "a C library, declared by hand")]

pub(super) mod signal;
pub(super) mod turns;

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::time::Duration;

use napi::Env;

/// `uv_loop_t*`.
type Loop = *mut c_void;
/// `uv_handle_t*` and all that begin like it.
type Handle = *mut c_void;
type Callback = extern "C" fn(Handle);
type PollCallback = extern "C" fn(Handle, c_int, c_int);

/// `UV_ASYNC`, `UV_CHECK`, `UV_IDLE`, `UV_POLL` and `UV_TIMER` of `uv_handle_type`, `UV_READABLE`
/// of `uv_poll_event`: part of libuv's ABI.
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
        // SAFETY: these are libuv's declarations of the functions of these names, pointers spelled
        // as `void*`.
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

/// The function of this name in the process.
///
/// # Safety
/// `F` is its type.
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

/// Elsewhere the system has no descriptor that stands for all sockets, so this is not called.
#[cfg(not(unix))]
fn symbol(_name: &CStr) -> Option<NonNull<c_void>> {
    None
}

/// The event loop of an environment.
#[derive(Clone, Copy)]
pub(super) struct EventLoop {
    api: &'static Api,
    raw: Loop,
}

impl EventLoop {
    /// Whether it has something to do that it need not wait for, as `setImmediate`. What comes in
    /// on other handles is not known before it looks.
    pub(super) fn is_busy(self) -> bool {
        // SAFETY: a function that gets this is called by the loop or has a handle of it.
        unsafe { (self.api.backend_timeout)(self.raw) == 0 }
    }
}

/// Why the loop calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The descriptor is readable.
    Readable,
    /// The time has come.
    Time,
}

/// A watched descriptor, a timer and a call in the next turn of the loop, none of which keeps the
/// loop alive.
///
/// Must be closed: the loop refers to it until then, so dropping it frees nothing.
pub(super) struct Watch {
    shared: NonNull<Shared>,
}

/// What the loop's callbacks find.
struct Shared {
    api: &'static Api,
    event_loop: Loop,
    poll: Memory,
    timer: Memory,
    idle: Memory,
    on_call: Box<dyn Fn(Reason)>,
    on_closed: Cell<Option<Box<dyn FnOnce()>>>,
    /// Handles that are not closed yet.
    open: Cell<u8>,
}

/// Memory for one handle, which must not move while it is open.
struct Memory(Box<[UnsafeCell<u128>]>);

impl Memory {
    /// Aligned to 16 bytes, more than any handle needs.
    fn new(bytes: usize) -> Self {
        Self((0..bytes.div_ceil(size_of::<u128>())).map(|_| UnsafeCell::new(0)).collect())
    }

    fn handle(&self) -> Handle {
        // Through UnsafeCell: libuv writes there.
        self.0.first().map_or(std::ptr::null_mut(), |first| UnsafeCell::raw_get(first).cast())
    }
}

impl Shared {
    fn handles(&self) -> [Handle; 3] {
        [self.poll.handle(), self.timer.handle(), self.idle.handle()]
    }
}

impl Watch {
    /// Calls `on_call`, on the loop's thread, whenever `descriptor` is readable or what was asked
    /// for has come. The descriptor may be closed after `stop` or `close`. `None`: this process has
    /// no libuv, or it cannot watch this.
    pub(super) fn start(env: &Env, descriptor: i32, on_call: Box<dyn Fn(Reason)>) -> Option<Self> {
        let api = Api::get()?;
        let event_loop: Loop = env.get_uv_event_loop().ok()?.cast();
        // SAFETY: any type may be asked for.
        let memory = |kind| Memory::new(unsafe { (api.handle_size)(kind) });
        let (poll, timer, idle) = (memory(POLL), memory(TIMER), memory(IDLE));
        let (on_closed, open) = (Cell::new(None), Cell::new(3));
        let shared = NonNull::from(Box::leak(Box::new(Shared {
            api,
            event_loop,
            poll,
            timer,
            idle,
            on_call,
            on_closed,
            open,
        })));
        let watch = Self { shared };
        let handles @ [poll, timer, idle] = watch.get().handles();
        // SAFETY: the loop is that of the thread that the environment runs on and outlives it, the
        // memory is as large as these handles are and stays where it is until all are closed; a
        // handle that could not be initialised is not used.
        unsafe {
            if (api.poll_init)(event_loop, poll, descriptor) != 0 {
                drop(Box::from_raw(shared.as_ptr()));
                return None;
            }
            (api.timer_init)(event_loop, timer);
            (api.idle_init)(event_loop, idle);
            for handle in handles {
                (api.handle_set_data)(handle, shared.as_ptr().cast());
                (api.unref)(handle);
            }
            if (api.poll_start)(poll, READABLE, on_readable) != 0 {
                watch.close(Box::new(|| {}));
                return None;
            }
        }
        Some(watch)
    }

    /// Calls in the next turn of the loop, once. A timer of 0 ms would not do: one that is started
    /// again by what it calls runs again before the loop has looked at any descriptor (libuv before
    /// 1.48).
    pub(super) fn call_next(&self) {
        let Shared { api, idle, .. } = self.get();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (api.idle_start)(idle.handle(), on_idle) };
    }

    /// Calls after this time, instead of what was asked for before. Whole milliseconds, rounded
    /// up.
    pub(super) fn start_timer(&self, after: Duration) {
        let millis = u64::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let Shared { api, timer, .. } = self.get();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (api.timer_start)(timer.handle(), on_time, millis, 0) };
    }

    /// The loop that watches.
    pub(super) fn event_loop(&self) -> EventLoop {
        let Shared { api, event_loop, .. } = self.get();
        EventLoop { api, raw: *event_loop }
    }

    /// Calls no more; the descriptor may be closed.
    pub(super) fn stop(&self) {
        let Shared { api, poll, timer, idle, .. } = self.get();
        // SAFETY: the handles are initialised and not closing.
        unsafe {
            (api.poll_stop)(poll.handle());
            (api.timer_stop)(timer.handle());
            (api.idle_stop)(idle.handle());
        }
    }

    /// Calls no more, and gives the handles back; `on_closed` is called by the loop when that is
    /// done.
    pub(super) fn close(self, on_closed: Box<dyn FnOnce()>) {
        let Shared { api, on_closed: later, .. } = self.get();
        later.set(Some(on_closed));
        for handle in self.get().handles() {
            // SAFETY: it is initialised, and this is the only call for it, for it takes the watch.
            unsafe { (api.close)(handle, Some(on_handle_closed)) };
        }
    }

    fn get(&self) -> &Shared {
        // SAFETY: it is freed when the loop has closed all handles, after `close` has taken the
        // watch.
        unsafe { self.shared.as_ref() }
    }
}

extern "C" fn on_readable(handle: Handle, _status: c_int, _events: c_int) {
    called(handle, Reason::Readable);
}

extern "C" fn on_idle(handle: Handle) {
    let Some(api) = Api::get() else { return };
    // SAFETY: the loop has just called it. What follows may start it again, for the turn after
    // this.
    unsafe { (api.idle_stop)(handle) };
    called(handle, Reason::Time);
}

extern "C" fn on_time(handle: Handle) {
    called(handle, Reason::Time);
}

fn called(handle: Handle, reason: Reason) {
    let Some(shared) = data_of::<Shared>(handle) else { return };
    // SAFETY: it is freed when the loop has closed the handle, and the loop does not do so while it
    // calls.
    let shared = unsafe { shared.as_ref() };
    // Unwinding into C would abort.
    let _contained = catch_unwind(AssertUnwindSafe(|| (shared.on_call)(reason)));
}

extern "C" fn on_handle_closed(handle: Handle) {
    let Some(shared) = data_of::<Shared>(handle) else { return };
    // SAFETY: still there, for this handle was not closed until now.
    let open = unsafe { &shared.as_ref().open };
    open.set(open.get() - 1);
    if open.get() != 0 {
        return;
    }
    // SAFETY: it came from a Box, all handles are closed, and the watch is gone: nobody else refers
    // to it.
    let shared = unsafe { Box::from_raw(shared.as_ptr()) };
    let _contained = catch_unwind(AssertUnwindSafe(|| {
        let on_closed = shared.on_closed.take();
        drop(shared);
        if let Some(on_closed) = on_closed {
            on_closed();
        }
    }));
}

/// What was left with the handle.
fn data_of<T>(handle: Handle) -> Option<NonNull<T>> {
    // SAFETY: libuv passes handles that it was given, and does so before their memory is freed.
    NonNull::new(unsafe { (Api::get()?.handle_get_data)(handle) }.cast())
}
