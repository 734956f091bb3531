//! The turns of an event loop: `uv_check_t` counts them, `uv_idle_t` calls at the beginning of one.
#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::cell::Cell;
use std::rc::Rc;

use napi::Env;

use super::handles::{Handles, called};
use super::{CHECK, Handle, IDLE};

/// As many as JavaScript keeps in a field without memory of its own.
const BITS: u32 = 30;

/// Counts a turn when the loop has read its sockets, before the callbacks of `setImmediate` and the
/// timers that are due: what a callback postpones runs under another number.
///
/// Does not keep the loop alive. Must be closed, as its handles.
pub(in crate::binding) struct Turns(Handles<Counter, 2>);

struct Counter {
    count: Rc<Cell<u32>>,
    on_next: Box<dyn Fn()>,
}

impl Turns {
    /// `None`: this process has no libuv.
    pub(in crate::binding) fn start(env: &Env, count: Rc<Cell<u32>>, on_next: Box<dyn Fn()>) -> Option<Self> {
        let counter = Counter { count, on_next };
        // SAFETY: neither function fails; their arguments are as `Handles` says.
        let handles = unsafe {
            Handles::start(env, [CHECK, IDLE], counter, |api, event_loop, [check, idle]| {
                (api.check_init)(event_loop, check) == 0 && (api.idle_init)(event_loop, idle) == 0
            })
        }?;
        let shared = handles.get();
        let [check, _] = shared.handles();
        // Before Node's own handle, which calls the callbacks of `setImmediate`: the last to be
        // started comes first. SAFETY: the handle is initialised and not closing.
        unsafe { (shared.api.check_start)(check, on_check) };
        Some(Self(handles))
    }

    /// Calls once, at the beginning of the next turn, before the loop reads any socket.
    pub(in crate::binding) fn call_next(&self) {
        let shared = self.0.get();
        let [_, idle] = shared.handles();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (shared.api.idle_start)(idle, on_idle) };
    }

    pub(in crate::binding) fn close(self, on_closed: Box<dyn FnOnce()>) {
        self.0.close(on_closed);
    }
}

extern "C" fn on_check(handle: Handle) {
    // SAFETY: started by `Turns`.
    unsafe {
        called::<Counter, 2>(handle, |shared| {
            let count = &shared.own.count;
            count.set((count.get() + 1) & ((1 << BITS) - 1));
        });
    }
}

extern "C" fn on_idle(handle: Handle) {
    // SAFETY: started by `Turns`.
    unsafe {
        called::<Counter, 2>(handle, |shared| {
            // The call may start the handle again, for the turn after this.
            (shared.api.idle_stop)(handle);
            (shared.own.on_next)();
        });
    }
}
