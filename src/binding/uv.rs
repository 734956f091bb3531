//! libuv as Node exports it: a watch on a descriptor and a timer, and a signal from other threads, on the event loop of an
//! environment.
//!
//! The functions are looked up when they are first wanted: a program that embeds us without libuv, as `cargo test`, has
//! none. None of this needs the layout of libuv's structures, only functions that libuv has had since 1.19.
#![expect(unsafe_code, reason = "a C library, declared by hand")]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use napi::Env;

/// `uv_loop_t*`.
type Loop = *mut c_void;
/// `uv_handle_t*` and all that begin like it.
type Handle = *mut c_void;
type Callback = extern "C" fn(Handle);
type PollCallback = extern "C" fn(Handle, c_int, c_int);

/// `UV_ASYNC`, `UV_POLL` and `UV_TIMER` of `uv_handle_type`, `UV_READABLE` of `uv_poll_event`: part of libuv's ABI.
const ASYNC: c_int = 1;
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
        // SAFETY: these are libuv's declarations of the functions of these names, pointers spelled as `void*`.
        unsafe {
            Some(Self {
                handle_size: function(c"uv_handle_size")?,
                handle_set_data: function(c"uv_handle_set_data")?,
                handle_get_data: function(c"uv_handle_get_data")?,
                unref: function(c"uv_unref")?,
                close: function(c"uv_close")?,
                async_init: function(c"uv_async_init")?,
                async_send: function(c"uv_async_send")?,
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

/// Elsewhere the system has no descriptor that stands for all sockets, so nobody asks.
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
    /// Whether it has something to do that it need not wait for, as `setImmediate`. What comes in on other handles is not known
    /// before it looks.
    pub(super) fn is_busy(self) -> bool {
        // SAFETY: whoever gets this is called by the loop, or has a handle of it.
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

/// A watched descriptor and a timer, neither of which keeps the loop alive.
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

impl Watch {
    /// Calls `on_call`, on the loop's thread, whenever `descriptor` is readable or the time of `start_timer` has come.
    /// The descriptor may be closed after `stop` or `close`. `None`: this process has no libuv, or it cannot watch this.
    pub(super) fn start(env: &Env, descriptor: i32, on_call: Box<dyn Fn(Reason)>) -> Option<Self> {
        let api = Api::get()?;
        let event_loop: Loop = env.get_uv_event_loop().ok()?.cast();
        // SAFETY: any type may be asked for.
        let memory = |kind| Memory::new(unsafe { (api.handle_size)(kind) });
        let (poll, timer) = (memory(POLL), memory(TIMER));
        let (on_closed, open) = (Cell::new(None), Cell::new(2));
        let shared = NonNull::from(Box::leak(Box::new(Shared {
            api,
            event_loop,
            poll,
            timer,
            on_call,
            on_closed,
            open,
        })));
        let watch = Self { shared };
        let (poll, timer) = (watch.get().poll.handle(), watch.get().timer.handle());
        // SAFETY: the loop is that of the thread that the environment runs on and outlives it, the memory is as large as these handles are and stays where it is until both are
        // closed; a handle that could not be initialised is not used.
        unsafe {
            if (api.poll_init)(event_loop, poll, descriptor) != 0 {
                drop(Box::from_raw(shared.as_ptr()));
                return None;
            }
            (api.timer_init)(event_loop, timer);
            for handle in [poll, timer] {
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

    /// Calls after so much time, instead of what was asked for before. Whole milliseconds, rounded up; 0 is the next turn
    /// of the loop.
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
        let Shared { api, poll, timer, .. } = self.get();
        // SAFETY: both handles are initialised and not closing.
        unsafe {
            (api.poll_stop)(poll.handle());
            (api.timer_stop)(timer.handle());
        }
    }

    /// Calls no more, and gives the handles back; `on_closed` is called by the loop when that is done.
    pub(super) fn close(self, on_closed: Box<dyn FnOnce()>) {
        let Shared { api, poll, timer, on_closed: later, .. } = self.get();
        later.set(Some(on_closed));
        // SAFETY: both handles are initialised, and this is the only call for them, for it takes the watch.
        unsafe {
            (api.close)(poll.handle(), Some(on_handle_closed));
            (api.close)(timer.handle(), Some(on_handle_closed));
        }
    }

    fn get(&self) -> &Shared {
        // SAFETY: it is freed when the loop has closed both handles, after `close` has taken the watch.
        unsafe { self.shared.as_ref() }
    }
}

extern "C" fn on_readable(handle: Handle, _status: c_int, _events: c_int) {
    called(handle, Reason::Readable);
}

extern "C" fn on_time(handle: Handle) {
    called(handle, Reason::Time);
}

fn called(handle: Handle, reason: Reason) {
    let Some(shared) = data_of::<Shared>(handle) else { return };
    // SAFETY: it is freed when the loop has closed the handle, and the loop does not do so while it calls.
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
    // SAFETY: it came from a Box, both handles are closed, and the watch is gone: nobody else refers to it.
    let shared = unsafe { Box::from_raw(shared.as_ptr()) };
    let _contained = catch_unwind(AssertUnwindSafe(|| {
        let on_closed = shared.on_closed.take();
        drop(shared);
        if let Some(on_closed) = on_closed {
            on_closed();
        }
    }));
}

/// What other threads can have the loop call. It does not keep the loop alive.
///
/// Must be closed: the loop refers to it until then, so dropping it frees nothing.
pub(super) struct Signal {
    ringer: Ringer,
}

/// The other threads' end of a [`Signal`].
#[derive(Clone)]
pub(super) struct Ringer(Arc<Mutex<Option<Open>>>);

/// What a signal's handle belongs to, until it is closed.
struct Open {
    shared: NonNull<Called>,
}

// SAFETY: other threads use it for `uv_async_send` alone, which libuv allows them, and for what that needs, which nobody changes.
unsafe impl Send for Open {}

/// What the loop's callback finds.
struct Called {
    api: &'static Api,
    event_loop: Loop,
    memory: Memory,
    on_call: Box<dyn Fn(EventLoop)>,
    on_closed: Cell<Option<Box<dyn FnOnce()>>>,
}

impl Signal {
    /// Calls `on_call`, on the loop's thread, some time after each ring; once for several. `None`: this process has no
    /// libuv.
    pub(super) fn start(env: &Env, on_call: Box<dyn Fn(EventLoop)>) -> Option<Self> {
        let api = Api::get()?;
        let event_loop: Loop = env.get_uv_event_loop().ok()?.cast();
        // SAFETY: any type may be asked for.
        let memory = Memory::new(unsafe { (api.handle_size)(ASYNC) });
        let called = Called { api, event_loop, memory, on_call, on_closed: Cell::new(None) };
        let shared = NonNull::from(Box::leak(Box::new(called)));
        // SAFETY: just made. The loop is that of the thread that the environment runs on and outlives the handle, whose memory is
        // as large as it should be and stays where it is until it is closed.
        unsafe {
            let handle = shared.as_ref().memory.handle();
            if (api.async_init)(event_loop, handle, on_signal) != 0 {
                drop(Box::from_raw(shared.as_ptr()));
                return None;
            }
            (api.handle_set_data)(handle, shared.as_ptr().cast());
            (api.unref)(handle);
        }
        Some(Self { ringer: Ringer(Arc::new(Mutex::new(Some(Open { shared })))) })
    }

    /// What rings it.
    pub(super) fn ringer(&self) -> Ringer {
        self.ringer.clone()
    }

    /// Calls no more; `on_closed` is called by the loop when the handle is given back.
    pub(super) fn close(self, on_closed: Box<dyn FnOnce()>) {
        let Some(Open { shared }) = self.ringer.lock().take() else { return };
        // SAFETY: it is freed when the handle is closed, which happens here only. Who rings from now on finds nothing.
        unsafe {
            let called = shared.as_ref();
            called.on_closed.set(Some(on_closed));
            (called.api.close)(called.memory.handle(), Some(on_signal_closed));
        }
    }
}

impl Ringer {
    /// Has the loop call, unless the signal is closed.
    pub(super) fn ring(&self) {
        if let Some(Open { shared }) = &*self.lock() {
            // SAFETY: not closed, nor can it be before the lock is free.
            unsafe {
                let called = shared.as_ref();
                // Fails only for a handle that is no signal.
                let _rung = (called.api.async_send)(called.memory.handle());
            }
        }
    }

    /// The loop takes it to close the signal, never when it calls: on a single CPU a ring lets the loop run at once.
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

extern "C" fn on_signal(handle: Handle) {
    let Some(called) = data_of::<Called>(handle) else { return };
    // SAFETY: it is freed when the loop has closed the handle, and the loop does not do so while it calls.
    let called = unsafe { called.as_ref() };
    let event_loop = EventLoop { api: called.api, raw: called.event_loop };
    // Unwinding into C would abort.
    let _contained = catch_unwind(AssertUnwindSafe(|| (called.on_call)(event_loop)));
}

extern "C" fn on_signal_closed(handle: Handle) {
    let Some(called) = data_of::<Called>(handle) else { return };
    // SAFETY: it came from a Box, and since `close` nobody but this handle refers to it.
    let called = unsafe { Box::from_raw(called.as_ptr()) };
    let _contained = catch_unwind(AssertUnwindSafe(|| {
        let on_closed = called.on_closed.take();
        drop(called);
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
