#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use napi::Env;

use super::{Api, EventLoop, Loop, RawHandle};

/// A handle of a loop; it does not keep the loop alive.
///
/// Must be closed: the loop refers to it until then, so dropping it frees nothing.
pub(super) struct Handle(NonNull<Open>);

pub(super) struct Open {
    api: &'static Api,
    event_loop: Loop,
    /// The loop's handle, which must not move. Aligned to 16 bytes, more than any handle needs.
    memory: Box<[UnsafeCell<u128>]>,
    on_call: Box<dyn Fn(&Self)>,
    until_closed: Cell<Option<Box<dyn Any>>>,
}

impl Handle {
    /// The loop calls `on_call` through [`on_call`] or [`on_poll`]. `None`: `init` did not return
    /// 0, or this process has no libuv.
    ///
    /// # Safety
    /// `init` initialises a handle of the type `kind`, or returns another number than 0.
    pub(super) unsafe fn start(
        env: &Env,
        kind: c_int,
        on_call: impl Fn(&Open) + 'static,
        init: impl FnOnce(&Api, Loop, RawHandle) -> c_int,
    ) -> Option<Self> {
        let api = Api::get()?;
        let event_loop: Loop = env.get_uv_event_loop().ok()?.cast();
        // SAFETY: any type can be asked for.
        let words = unsafe { (api.handle_size)(kind) }.div_ceil(size_of::<u128>());
        let memory = (0..words).map(|_| UnsafeCell::new(0)).collect();
        let on_call = Box::new(on_call);
        let open = Box::new(Open { api, event_loop, memory, on_call, until_closed: Cell::new(None) });
        // The loop belongs to the environment's thread and outlives the handle. The memory is large
        // enough and does not move until the handle is closed.
        if init(api, event_loop, open.raw()) != 0 {
            return None;
        }
        let handle = Self(NonNull::from(Box::leak(open)));
        let (api, raw) = handle.parts();
        // SAFETY: the handle is initialised.
        unsafe {
            (api.handle_set_data)(raw, handle.0.as_ptr().cast());
            (api.unref)(raw);
        }
        Some(handle)
    }

    fn open(&self) -> &Open {
        // SAFETY: freed only when the loop has closed the handle, after `close` has taken `self`.
        unsafe { self.0.as_ref() }
    }

    /// An initialised handle that is not closing, for a function of libuv's.
    pub(super) fn parts(&self) -> (&'static Api, RawHandle) {
        self.open().parts()
    }

    pub(super) fn event_loop(&self) -> EventLoop {
        self.open().event_loop()
    }

    /// `until_closed` is dropped once the loop has given the handle back.
    pub(super) fn close(self, until_closed: impl Any) {
        self.open().until_closed.set(Some(Box::new(until_closed)));
        let (api, raw) = self.parts();
        // SAFETY: the handle is initialised, and closed once, because this takes it.
        unsafe { (api.close)(raw, Some(on_closed)) };
    }
}

impl Open {
    fn raw(&self) -> RawHandle {
        // Through UnsafeCell: libuv writes there.
        self.memory.first().map_or(std::ptr::null_mut(), |first| UnsafeCell::raw_get(first).cast())
    }

    pub(super) fn parts(&self) -> (&'static Api, RawHandle) {
        (self.api, self.raw())
    }

    pub(super) fn event_loop(&self) -> EventLoop {
        EventLoop { api: self.api, raw: self.event_loop }
    }
}

pub(super) extern "C" fn on_call(handle: RawHandle) {
    let Some(open) = open_of(handle) else { return };
    // SAFETY: not freed while the loop calls for the handle.
    let open = unsafe { open.as_ref() };
    contained(|| (open.on_call)(open));
}

pub(super) extern "C" fn on_poll(handle: RawHandle, _status: c_int, _events: c_int) {
    on_call(handle);
}

extern "C" fn on_closed(handle: RawHandle) {
    let Some(open) = open_of(handle) else { return };
    // SAFETY: it came from a Box. The handle is closed and its owner consumed, so nothing else
    // refers to it.
    let open = unsafe { Box::from_raw(open.as_ptr()) };
    contained(|| drop(open));
}

/// Unwinding into C would abort.
fn contained(step: impl FnOnce()) {
    let _contained = catch_unwind(AssertUnwindSafe(step));
}

fn open_of(handle: RawHandle) -> Option<NonNull<Open>> {
    // SAFETY: libuv passes handles that it was given, before their memory is freed.
    NonNull::new(unsafe { (Api::get()?.handle_get_data)(handle) }.cast())
}
