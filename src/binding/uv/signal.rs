//! A signal from other threads to the event loop of an environment: `uv_async_t`.
#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::Env;

use super::handles::{Handle, on_call};
use super::{ASYNC, EventLoop};

/// Does not keep the loop alive. Must be closed on the loop's thread, like its handle.
#[derive(Clone)]
pub(in crate::binding) struct Signal(Arc<Mutex<Option<Open>>>);

struct Open(Handle);

// SAFETY: other threads only call `uv_async_send`, which libuv allows on any thread, and read the
// fields that it needs, which are never written after `start`.
unsafe impl Send for Open {}

impl Signal {
    /// Calls `act` on the loop's thread, once for one or several rings. `None`: this process has no
    /// libuv.
    pub(in crate::binding) fn start(env: &Env, act: impl Fn(EventLoop) + 'static) -> Option<Self> {
        let act = move |open: &super::handles::Open| act(open.event_loop());
        // SAFETY: the function initialises the handle or returns an error.
        let handle = unsafe {
            Handle::start(env, ASYNC, act, |api, event_loop, raw| (api.async_init)(event_loop, raw, on_call))
        }?;
        Some(Self(Arc::new(Mutex::new(Some(Open(handle))))))
    }

    pub(in crate::binding) fn ring(&self) {
        if let Some(Open(handle)) = &*self.lock() {
            let (api, raw) = handle.parts();
            // Fails only for a handle that is no signal. SAFETY: not closed, and cannot be before
            // the lock is free.
            let _rung = unsafe { (api.async_send)(raw) };
        }
    }

    /// Later rings have no effect; `until_closed` is dropped once the loop has given the handle
    /// back.
    pub(in crate::binding) fn close(&self, until_closed: impl Any) {
        let open = self.lock().take();
        if let Some(Open(handle)) = open {
            handle.close(until_closed);
        }
    }

    /// The loop takes the lock only to close the signal, never when it calls: on a single CPU a
    /// ring lets the loop run at once.
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
