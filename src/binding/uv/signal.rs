//! A signal from other threads to the event loop of an environment: `uv_async_t`.
#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::Env;

use super::{ASYNC, Api, EventLoop, Handle, Loop, Memory, data_of};

/// What other threads can have the loop call. It does not keep the loop alive.
///
/// Must be closed: the loop refers to it until then, so dropping it frees nothing.
pub(in crate::binding) struct Signal {
    ringer: Ringer,
}

/// The other threads' end of a [`Signal`].
#[derive(Clone)]
pub(in crate::binding) struct Ringer(Arc<Mutex<Option<Open>>>);

/// What a signal's handle belongs to, until it is closed.
struct Open {
    shared: NonNull<Called>,
}

// SAFETY: other threads use it for `uv_async_send` alone, which libuv allows them, and for what
// that needs, which nobody changes.
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
    /// Calls `on_call`, on the loop's thread, some time after each ring; once for several. `None`:
    /// this process has no libuv.
    pub(in crate::binding) fn start(env: &Env, on_call: Box<dyn Fn(EventLoop)>) -> Option<Self> {
        let api = Api::get()?;
        let event_loop: Loop = env.get_uv_event_loop().ok()?.cast();
        // SAFETY: any type may be asked for.
        let memory = Memory::new(unsafe { (api.handle_size)(ASYNC) });
        let called = Called { api, event_loop, memory, on_call, on_closed: Cell::new(None) };
        let shared = NonNull::from(Box::leak(Box::new(called)));
        // SAFETY: just made. The loop is that of the thread that the environment runs on and
        // outlives the handle, whose memory is as large as it should be and stays where it is until
        // it is closed.
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
    pub(in crate::binding) fn ringer(&self) -> Ringer {
        self.ringer.clone()
    }

    /// Calls no more; `on_closed` is called by the loop when the handle is given back.
    pub(in crate::binding) fn close(self, on_closed: Box<dyn FnOnce()>) {
        let Some(Open { shared }) = self.ringer.lock().take() else { return };
        // SAFETY: it is freed when the handle is closed, which happens here only. What rings from
        // now on finds nothing.
        unsafe {
            let called = shared.as_ref();
            called.on_closed.set(Some(on_closed));
            (called.api.close)(called.memory.handle(), Some(on_signal_closed));
        }
    }
}

impl Ringer {
    /// Has the loop call, unless the signal is closed.
    pub(in crate::binding) fn ring(&self) {
        if let Some(Open { shared }) = &*self.lock() {
            // SAFETY: not closed, nor can it be before the lock is free.
            unsafe {
                let called = shared.as_ref();
                // Fails only for a handle that is no signal.
                let _rung = (called.api.async_send)(called.memory.handle());
            }
        }
    }

    /// The loop takes it to close the signal, never when it calls: on a single CPU a ring lets the
    /// loop run at once.
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

extern "C" fn on_signal(handle: Handle) {
    let Some(called) = data_of::<Called>(handle) else { return };
    // SAFETY: it is freed when the loop has closed the handle, and the loop does not do so while it
    // calls.
    let called = unsafe { called.as_ref() };
    let event_loop = EventLoop { api: called.api, raw: called.event_loop };
    // Unwinding into C would abort.
    let _contained = catch_unwind(AssertUnwindSafe(|| (called.on_call)(event_loop)));
}

extern "C" fn on_signal_closed(handle: Handle) {
    let Some(called) = data_of::<Called>(handle) else { return };
    // SAFETY: it came from a Box, and since `close` nothing but this handle refers to it.
    let called = unsafe { Box::from_raw(called.as_ptr()) };
    let _contained = catch_unwind(AssertUnwindSafe(|| {
        let on_closed = called.on_closed.take();
        drop(called);
        if let Some(on_closed) = on_closed {
            on_closed();
        }
    }));
}
