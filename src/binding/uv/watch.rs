//! A watch on a descriptor: `uv_poll_t`, with a `uv_timer_t` and a `uv_idle_t` for work that is
//! due.
#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::ffi::c_int;
use std::time::Duration;

use napi::Env;

use super::handles::{Handles, called};
use super::{EventLoop, Handle, IDLE, POLL, READABLE, TIMER};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::binding) enum Reason {
    Readable,
    Time,
}

/// A watched descriptor, a timer and a call in the next turn, none of which keeps the loop alive.
///
/// Must be closed, as its handles.
pub(in crate::binding) struct Watch(Handles<OnCall, 3>);

type OnCall = Box<dyn Fn(Reason)>;

impl Watch {
    /// Calls `on_call`, on the loop's thread, whenever `descriptor` is readable or the time has
    /// come. The descriptor may be closed after `stop` or `close`. `None`: this process has no
    /// libuv, or it cannot watch this.
    pub(in crate::binding) fn start(env: &Env, descriptor: i32, on_call: OnCall) -> Option<Self> {
        // SAFETY: if the first function fails, the others, which cannot fail, are not called. Their
        // arguments are as `Handles` says.
        let handles = unsafe {
            Handles::start(env, [POLL, TIMER, IDLE], on_call, |api, event_loop, [poll, timer, idle]| {
                (api.poll_init)(event_loop, poll, descriptor) == 0
                    && (api.timer_init)(event_loop, timer) == 0
                    && (api.idle_init)(event_loop, idle) == 0
            })
        }?;
        let shared = handles.get();
        let [poll, ..] = shared.handles();
        // SAFETY: the handle is initialised and not closing.
        if unsafe { (shared.api.poll_start)(poll, READABLE, on_readable) } != 0 {
            handles.close(Box::new(|| {}));
            return None;
        }
        Some(Self(handles))
    }

    /// Calls once in the next turn. A timer of 0 ms would not do: when its callback starts it
    /// again, it runs again before the loop has looked at any descriptor (libuv before 1.48).
    pub(in crate::binding) fn call_next(&self) {
        let shared = self.0.get();
        let [.., idle] = shared.handles();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (shared.api.idle_start)(idle, on_idle) };
    }

    /// Calls after this time, instead of the time set before. Whole milliseconds, rounded up.
    pub(in crate::binding) fn start_timer(&self, after: Duration) {
        let millis = u64::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let shared = self.0.get();
        let [_, timer, _] = shared.handles();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (shared.api.timer_start)(timer, on_time, millis, 0) };
    }

    pub(in crate::binding) fn event_loop(&self) -> EventLoop {
        self.0.get().event_loop()
    }

    /// Calls no more; the descriptor may be closed.
    pub(in crate::binding) fn stop(&self) {
        let shared = self.0.get();
        let [poll, timer, idle] = shared.handles();
        // SAFETY: the handles are initialised and not closing.
        unsafe {
            (shared.api.poll_stop)(poll);
            (shared.api.timer_stop)(timer);
            (shared.api.idle_stop)(idle);
        }
    }

    /// The loop calls `on_closed` when the handles are given back.
    pub(in crate::binding) fn close(self, on_closed: Box<dyn FnOnce()>) {
        self.0.close(on_closed);
    }
}

extern "C" fn on_readable(handle: Handle, _status: c_int, _events: c_int) {
    // SAFETY: started by a `Watch`.
    unsafe { called::<OnCall, 3>(handle, |shared| (shared.own)(Reason::Readable)) };
}

extern "C" fn on_idle(handle: Handle) {
    // SAFETY: started by a `Watch`.
    unsafe {
        called::<OnCall, 3>(handle, |shared| {
            // The call may start the handle again, for the turn after this.
            (shared.api.idle_stop)(handle);
            (shared.own)(Reason::Time);
        });
    }
}

extern "C" fn on_time(handle: Handle) {
    // SAFETY: started by a `Watch`.
    unsafe { called::<OnCall, 3>(handle, |shared| (shared.own)(Reason::Time)) };
}
