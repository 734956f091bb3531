//! A signal from other threads to the event loop of an environment: `uv_async_t`.
#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::Env;

use super::handles::{Handles, called};
use super::{ASYNC, EventLoop, Handle};

/// Does not keep the loop alive. Must be closed, as its handle.
pub(in crate::binding) struct Signal {
    ringer: Ringer,
}

/// For other threads.
#[derive(Clone)]
pub(in crate::binding) struct Ringer(Arc<Mutex<Option<Open>>>);

/// Until the signal is closed.
struct Open(Handles<OnCall, 1>);

type OnCall = Box<dyn Fn(EventLoop)>;

// SAFETY: other threads only call `uv_async_send`, which libuv allows on any thread, and read the
// fields that it needs, which are never written after `start`.
unsafe impl Send for Open {}

impl Signal {
    /// Calls `on_call`, on the loop's thread, once for one ring or several. `None`: this process has
    /// no libuv.
    pub(in crate::binding) fn start(env: &Env, on_call: OnCall) -> Option<Self> {
        // SAFETY: the one function initialises the handle or returns an error. Its arguments are as
        // `Handles` says.
        let handles = unsafe {
            Handles::start(env, [ASYNC], on_call, |api, event_loop, [handle]| {
                (api.async_init)(event_loop, handle, on_signal) == 0
            })
        }?;
        Some(Self { ringer: Ringer(Arc::new(Mutex::new(Some(Open(handles))))) })
    }

    pub(in crate::binding) fn ringer(&self) -> Ringer {
        self.ringer.clone()
    }

    /// Rings have no effect from now on; the loop calls `on_closed` when the handle is given back.
    pub(in crate::binding) fn close(self, on_closed: Box<dyn FnOnce()>) {
        let Some(Open(handles)) = self.ringer.lock().take() else { return };
        handles.close(on_closed);
    }
}

impl Ringer {
    pub(in crate::binding) fn ring(&self) {
        if let Some(Open(handles)) = &*self.lock() {
            let shared = handles.get();
            let [handle] = shared.handles();
            // Fails only for a handle that is no signal. SAFETY: not closed, nor can it be before
            // the lock is free.
            let _rung = unsafe { (shared.api.async_send)(handle) };
        }
    }

    /// The loop takes the lock to close the signal, never when it calls: on a single CPU a ring
    /// lets the loop run at once.
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

extern "C" fn on_signal(handle: Handle) {
    // SAFETY: initialised for a `Signal`.
    unsafe { called::<OnCall, 1>(handle, |shared| (shared.own)(shared.event_loop())) };
}
